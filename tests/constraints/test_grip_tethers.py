"""Tethers to what is held or pinned, and the force at a grip."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym import Fabric, Model, Scene, Solver, State
from pbd_gym.constraints.tether import geodesics
from pbd_gym.geometry.garments import tshirt
from pbd_gym.kernels.native import constant
from pbd_gym.kernels.solve.tethers import PULLED
from pbd_gym.materials.materials import ClothMaterial, RopeMaterial
from pbd_gym.scene.tethered_body import TetheredBody, spread_out

from .helpers import EPS, NO_GRAVITY

GATHERING = constant("GATHERING")

H = 10.0
"""Step [s], so long that tethers bring back at once what is too far."""
ROWS, COLUMNS = 4, 5
COUNT = ROWS * COLUMNS


def loose_sheet() -> tuple[Scene, np.ndarray]:
    """Return a rope, and a sheet of particles that nothing but tethers holds together; and the sheet's pattern [m]."""
    scene = Scene(gravity=NO_GRAVITY, grip_count=2)
    scene.add_rope([[0.0, 1.0, 0.1 * k] for k in range(3)], lines=False)
    places = np.array([(0.1 * column, 0.1 * row) for row in range(ROWS) for column in range(COLUMNS)])
    sheet = scene.add_particles(np.column_stack([places, np.zeros(COUNT)]), np.linspace(0.1, 0.2, COUNT))
    near = np.linalg.norm(places[:, None] - places[None], axis=2) < 0.11
    scene.add_grip_tethers(sheet, sheet[np.argwhere(np.triu(near, 1))], places)
    return scene, places


def tethered(x: np.ndarray, places: np.ndarray, anchors: list[int], size: float) -> np.ndarray:
    """Return the positions of the sheet after tethers to particles of it have acted, those to the first one first.

    They act twice where two anchors are pulled apart.
    """
    ways = size * np.linalg.norm(places[:, None] - places[None], axis=2)
    x = x.copy()
    worst = max([1.0, *(np.linalg.norm(x[a] - x[b]) / ways[a, b] for a in anchors for b in anchors if a < b)])
    for a in anchors * (2 if worst > PULLED else 1):
        for i in set(range(COUNT)) - set(anchors):
            distance = np.linalg.norm(x[i] - x[a])
            x[i] = x[a] + (x[i] - x[a]) * min(1.0, worst * ways[a, i] / distance)
    return x


@pytest.mark.parametrize(("lanes", "dtype"), [(1, "float32"), (4, "float64"), (16, "float32")])
def test_within_the_step_nothing_is_farther_than_along_the_cloth(lanes: int, dtype: str) -> None:
    """Guards lengths, sizes, pins, and grips that close anywhere, in each environment for itself, step after step."""
    scene, places = loose_sheet()
    envs = 5
    solver = Solver(Model(scene, envs, dtype=dtype, lanes=lanes), substeps=1)
    state, control = solver.state(), solver.control()
    sizes = np.array([1.0, 0.8, 1.2, 1.0, 1.0])
    state.set_parameters(size=sizes)
    pinned = np.zeros((envs, scene.particle_count), dtype=bool)
    pinned[3, 3 + 7] = True
    rng = np.random.default_rng(1)
    # What each step holds: nothing, something, another thing, what is not tethered, both ends of one edge.
    for step, held in enumerate(([-1, -1], [3, -1], [22, 3], [-1, 8], [1, 9], [9, 10])):
        chosen = np.array([held, [-1, 12], held[::-1], held, [-1, -1]])
        if step == 2:
            state.set_pinned(pinned)  # room for more anchors while it runs
        state.hold(chosen)
        before = scene.positions + rng.normal(scale=0.2, size=(envs, scene.particle_count, 3))
        state.set_positions(before)
        state.set_velocities(0.0)
        solver.step(state, control, H)
        after = state.get_positions()
        for env in range(envs):
            anchors = [int(p) - 3 for p in chosen[env] if p >= 3]
            if step >= 2 and env == 3:
                anchors += [7] if 7 not in anchors else []
            wanted = tethered(before[env, 3:].astype(dtype), places, anchors, sizes[env])
            assert_allclose(after[env, 3:], wanted, rtol=0, atol=200 * EPS[dtype])


def test_a_sheared_sheet_is_not_jerked_when_it_is_grasped() -> None:
    """Guards a towel that lies sheared by three degrees: the hands that take it bring its diagonals back slowly.

    When they did so at once, it slid by a sixteenth of its side.
    """
    scene, places = loose_sheet()
    solver = Solver(Model(scene, 1), substeps=1)
    state, control = solver.state(), solver.control()
    sheared = scene.positions.copy()
    sheared[3:, 0] += 0.05 * places[:, 1]
    state.set_positions(sheared)
    state.hold([3, 3 + COLUMNS - 1])
    solver.step(state, control, 0.002)
    speeds = np.linalg.norm(state.get_velocities()[0, 3:], axis=1)
    assert 0.9 * GATHERING < speeds.max() < 2.0 * GATHERING  # two hands
    for _ in range(200):
        solver.step(state, control, 0.002)
    x = state.get_positions()[0, 3:]
    assert np.linalg.norm(x[-1] - x[0]) <= np.linalg.norm(places[-1]) * (1.0 + 1e-5)


def test_what_was_caught_is_not_thrown() -> None:
    """Guards against a towel caught on a rod: once free it does not make up for 0.5 m in one substep."""
    scene, _ = loose_sheet()
    solver = Solver(Model(scene, 5, lanes=1), substeps=1)
    state, control = solver.state(), solver.control()
    state.hold([22, -1])
    caught = scene.positions.copy()
    caught[3] += [-0.5, 0.0, 0.0]
    state.set_positions(caught)
    for _ in range(100):
        solver.step(state, control, 0.002)
        assert np.linalg.norm(state.get_velocities()[0, 3]) == pytest.approx(GATHERING, rel=0.02)
    assert np.linalg.norm(state.get_positions()[0, 3] - caught[3]) == pytest.approx(0.2 * GATHERING, rel=0.02)


def test_two_hands_that_pull_apart_tear_nothing_and_say_so() -> None:
    """Guards what happens where tethers cannot hold: it stretches evenly, lies still, and the force is its stiffness'.

    A rope of ten segments of 1e3 N/m, pulled to 1.2 times its length by its ends, pulls with 1e3 x 0.02 N.
    """
    scene = Scene(gravity=NO_GRAVITY, grip_count=2)
    rope = scene.add_rope(
        [[0.1 * k, 0.0, 0.0] for k in range(11)], RopeMaterial(0.05, 1e-3, None), lines=True, tethers=True
    )
    solver = Solver(Model(scene, 2), substeps=20, damping=2.0, grip_forces=True)
    state, control = solver.state(), solver.control()
    state.hold(rope[[0, -1]])
    control.move([[[-0.005, 0.0, 0.0], [0.005, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]])
    for _ in range(20):
        solver.step(state, control, 1 / 30)
    control.move(0.0)
    for _ in range(30):
        solver.step(state, control, 1 / 30)
    sides = np.linalg.norm(np.diff(state.get_positions(), axis=1), axis=2)
    assert_allclose(sides[0], 0.12, rtol=1e-3)
    assert np.abs(state.get_velocities()).max() < 1e-3
    assert_allclose(state.get_grip_forces()[0], [[20.0, 0.0, 0.0], [-20.0, 0.0, 0.0]], rtol=0.01, atol=0.01)
    assert_allclose(state.get_grip_forces()[1], 0.0, atol=1e-3)


def test_a_towel_between_two_hands_stretches_evenly() -> None:
    """Guards tethers against threads that give way: corners pulled to 1.5 times their distance, and where they are not.

    Threads alone make it 29 to 129 % at the edge between the hands, most beside them.
    """
    scene = Scene(gravity=NO_GRAVITY, grip_count=2)
    cloth = scene.add_cloth(16, 16, (0.4, 0.4), Fabric.preset("towel"), lines=True, tethers=True)
    edge, corners = cloth.indices[0], cloth.corners[:2]
    solver = Solver(Model(scene, 2), substeps=32, damping=1.0)
    state, control = solver.state(), solver.control()
    state.hold(corners)
    control.move([[[-0.004, 0.0, 0.0], [0.004, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]])
    for step in range(45):
        if step == 25:
            control.move(0.0)
        solver.step(state, control, 1 / 30)
    x = state.get_positions()
    strain = np.linalg.norm(np.diff(x[0, edge], axis=0), axis=1) / (0.4 / 15) - 1.0
    assert strain.min() > 0.48
    assert strain.max() < 0.56
    for anchor in corners:
        ways = np.linalg.norm(scene.positions - scene.positions[anchor], axis=1)
        assert (np.linalg.norm(x[0] - x[0, anchor], axis=1) <= 1.04 * 1.5 * ways).all()
    assert_allclose(x[1], scene.positions, atol=1e-6)


def hanging_towel(num_envs: int, **options: Any) -> tuple[Scene, Solver, State]:
    """Return a towel that hangs by two corners, at rest; in the last environment nothing is held."""
    scene = Scene(grip_count=2)
    cloth = scene.add_cloth(8, 8, (0.4, 0.4), ClothMaterial(0.3, 1e-4, 1e-3, 1e-2), tethers=True, lines=False)
    solver = Solver(Model(scene, num_envs), substeps=20, damping=4.0, grip_forces=True, **options)
    state = solver.state()
    held = np.tile(cloth.corners[:2], (num_envs, 1))
    held[-1] = -1
    state.hold(held)
    for _ in range(120):
        solver.step(state, solver.control(), 1 / 30)
    return scene, solver, state


@pytest.mark.parametrize("options", [{}, {"iterations": 2, "method": "jacobi"}], ids=["gauss-seidel", "jacobi"])
def test_a_towel_at_rest_reports_its_weight(options: dict[str, Any]) -> None:
    """Guards the sums: what constraints and tethers pull with, and the weight of the corners themselves."""
    scene, solver, state = hanging_towel(2, **options)
    forces = state.get_grip_forces()
    assert_allclose(forces[0].sum(axis=0), [0.0, -9.81 * scene.mass.sum(), 0.0], atol=0.01 * 9.81 * scene.mass.sum())
    assert_allclose(forces[0, 0] * [-1.0, 1.0, 1.0], forces[0, 1], atol=0.01)
    assert_array_equal(forces[1], 0.0)
    plain = Solver(solver.model, substeps=20)
    plain.step(state, plain.control(), 1 / 30)
    with pytest.raises(RuntimeError, match="grip_forces=True"):
        state.get_grip_forces()


def test_ways_of_a_garment_follow_its_surface() -> None:
    """Guards the table against Dijkstra's algorithm, and against ways that are too short: those through the air."""
    mesh = tshirt(spacing=0.06)
    scene = Scene(grip_count=1)
    shirt = scene.add_garment(mesh, tethers=True, lines=False)
    (body,) = scene.tethered_bodies
    assert body.ways is not None
    for source in (0, len(shirt.indices) // 2):
        wanted, _ = geodesics(body.count, body.edges, body.lengths, [source])
        assert_allclose(body.ways[source], wanted, rtol=1e-6, atol=1e-30)
        assert (body.lengths_from(source) >= np.linalg.norm(mesh.positions - mesh.positions[source], axis=1)).all()
        edges, lengths = mesh.edges(), np.linalg.norm(np.diff(mesh.positions[mesh.edges()], axis=1)[:, 0], axis=1)
        assert (wanted <= geodesics(body.count, edges, lengths, [source])[0] + 1e-9).all()


def test_of_many_pins_the_farthest_apart_are_chosen() -> None:
    chain = np.arange(30)
    places = np.stack([0.1 * chain, np.zeros(30)], axis=1)
    body = TetheredBody(2, np.zeros((30, 3)), np.stack([chain[:-1], chain[1:]], 1), np.full(29, 0.1), places)
    pinned = np.zeros(40, dtype=bool)
    pinned[[0, 5, 35]] = True  # the first and the last are not of this body
    assert spread_out((body,), pinned, 8).tolist() == [5]
    pinned[2:25] = True
    assert spread_out((body,), pinned, 3).tolist() == [2, 13, 24]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"particles": [0, 2]}, "follow one another"),
        ({"particles": [0, 1, 9]}, "particles 0 to 5"),
        ({"particles": [0, 1, 2, 3], "edges": [[0, 1], [2, 3]]}, "cut: it falls into 2 pieces"),
        ({"particles": [0, 1], "edges": [[0, 2]]}, "two of its own particles"),
        ({"particles": [0, 1], "edges": [[0, 1]], "pattern": [[0.0, 0.0]]}, "pattern"),
        ({"particles": [0, 1], "edges": [[0, 1]], "slack": -0.1}, "slack"),
        ({"particles": [0, 1, 2]}, "need edges"),
        ({"particles": [4, 5], "edges": [[4, 5]]}, "particles 5 and on have tethers already"),
    ],
)
def test_bad_bodies_are_refused(call: dict[str, Any], message: str) -> None:
    scene = Scene()
    scene.add_particles([[0.1 * k, 0.0, 0.0] for k in range(6)], 1.0)
    scene.tethered_bodies.append(TetheredBody(5, np.zeros((1, 3)), np.zeros((0, 2), dtype=int), np.zeros(0)))
    with pytest.raises(ValueError, match=message):
        scene.add_grip_tethers(**call)
    assert len(scene.tethered_bodies) == 1


def test_a_table_that_would_not_fit_is_refused() -> None:
    count = 10_000
    chain = np.stack([np.arange(count - 1), np.arange(1, count)], axis=1)
    with pytest.raises(
        ValueError, match=r"10,000 particles would need a table of 381 MiB.*256 MiB \(8,192 particles\)"
    ):
        TetheredBody(0, np.zeros((count, 3)), chain, np.ones(count - 1))


def test_forces_are_not_extrapolated() -> None:
    with pytest.raises(ValueError, match="grip_forces cannot be summed with chebyshev"):
        Solver(Model(hanging_towel_scene()), substeps=10, chebyshev=0.5, grip_forces=True)


def hanging_towel_scene() -> Scene:
    scene = Scene(grip_count=1)
    scene.add_cloth(2, 2, tethers=True, lines=False)
    return scene
