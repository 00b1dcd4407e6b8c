"""What passes is said: bodies and ropes in cloth are counted, and speeds that substeps cannot hold are warned of."""

from __future__ import annotations

import itertools
import re
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym import Box, Fabric, Model, Plane, RopeMaterial, Scene, SoftMaterial, Solver
from pbd_gym.geometry import ball, box
from pbd_gym.geometry.grids import LYING
from pbd_gym.geometry.surfaces import crossings
from pbd_gym.sim.watches.passing import PassingWatch
from pbd_gym.sim.watches.speeds import SpeedWatch

STEP = 1 / 60


def pinned_cloth(scene: Scene, count: int = 12) -> Any:
    cloth = scene.add_cloth(
        count, count, (0.4, 0.4), Fabric.preset("cotton"), (0.0, 0.0, -0.2), LYING, lines=True, tethers=True
    )
    scene.pin(cloth.corners)
    scene.add_surface_contacts(cloth.triangles, 0.004, 0.3)
    return cloth


def sheet_and_others() -> tuple[Scene, Any, np.ndarray, np.ndarray, np.ndarray]:
    """Return a scene without gravity: a cloth that lies, and a rope, a soft body and a second rope above it."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    cloth = scene.add_cloth(8, 8, (0.3, 0.3), position=(0.0, 0.0, -0.15), rotation=LYING)
    scene.add_surface_contacts(cloth.triangles, 0.004)
    rope = np.asarray(scene.add_rope([(0.01 * k - 0.06, 0.1, 0.003) for k in range(12)]))
    scene.add_particle_contacts(rope, 0.005)
    solid = scene.add_soft_body(box((3, 3, 3), (0.05, 0.05, 0.05)), SoftMaterial(1000.0, 1e4, 0.4), (0.05, 0.1, 0.06))
    scene.add_particle_contacts(solid.indices, 0.008)
    across = np.asarray(scene.add_rope([(0.002, 0.2, 0.01 * k - 0.06) for k in range(12)]))
    scene.add_particle_contacts(across, 0.005)
    return scene, cloth, rope, solid.indices, across


@pytest.mark.parametrize(("lanes", "schedule"), [(1, "block"), (4, "block"), (4, "colors")])
def test_ropes_and_bodies_in_cloth_are_counted(lanes: int, schedule: Any) -> None:
    """Guards the report: as many edges as brute force finds, in each lane its own, and none if none is through."""
    scene, cloth, rope, solid, _ = sheet_and_others()
    model = Model(scene, 3, dtype="float64", lanes=lanes)
    solver = Solver(model, 1, schedule=schedule)
    state = solver.state()
    x = np.repeat(scene.positions[None], 3, axis=0)
    x[1, rope] = x[1, rope] @ np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]) + [0.1, 0.002, 0.01]
    x[2, solid] -= [0.0, 0.1, 0.0]
    x += np.random.default_rng(0).uniform(-1e-4, 1e-4, x.shape)
    state.set_positions(x)
    solver.step(state, solver.control(), 1e-7)
    now = state.get_positions()
    edges = []
    for members, reach in ((rope, 0.015), (solid, 0.024)):
        pairs = np.array(list(itertools.combinations(members.tolist(), 2)))
        gaps = np.linalg.norm(scene.positions[pairs[:, 0]] - scene.positions[pairs[:, 1]], axis=1)
        edges.append(pairs[gaps < reach])
    every = np.concatenate(edges)
    expected = [sum(crossings(p, cloth.triangles, edge[None]) > 0 for edge in every) for p in now]
    assert expected[0] == 0
    assert expected[1] >= 1
    assert expected[2] >= 10
    assert_array_equal(state.get_piercings(), expected)


@pytest.mark.parametrize("schedule", ["block", "colors"])
def test_what_passes_within_a_step_is_counted(schedule: Any) -> None:
    """Guards what is gone when one looks: particles through a sheet at rest or moving, a rope through another, each in
    its lane, and nothing of what flies past, goes with it or stays.
    """
    scene, cloth, rope, solid, across = sheet_and_others()
    model = Model(scene, 6, dtype="float64", lanes=4)
    solver = Solver(model, 1, schedule=schedule, passages=True, piercings=False, threads=2, quiet=True)
    state, control = solver.state(), solver.control()
    sheet = cloth.indices.ravel()
    v = np.zeros((6, scene.particle_count, 3))
    v[0, solid, 1] = v[1, rope, 1] = -200.0  # 3.3 m in a step
    v[2, across, 1] = -7.0
    v[3, sheet, 1] = 200.0
    v[4, :, 1] = -200.0
    v[5, solid] = (200.0, -50.0, 0.0)
    state.set_velocities(v)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        solver.step(state, control, STEP)
    found = state.get_passages()
    above = len(solid) + len(rope) + len(across)
    assert found.tolist() == [len(solid), len(rope), 1, above, 0, 0]
    solver.step(state, control, STEP)
    assert state.get_passages().tolist()[:2] == [0, 0]
    other = Solver(model, 1, schedule=schedule, piercings=False, quiet=True)
    other.step(state, control, STEP)
    with pytest.raises(RuntimeError, match="passages=True"):
        state.get_passages()


def test_a_ball_on_cloth_is_carried_or_said() -> None:
    """Guards silence: whatever speed and substeps, a ball that is below the cloth in the end was warned of.

    With the number of substeps that the warning asks for it is carried.
    """
    scene = Scene()
    cloth = pinned_cloth(scene)
    radius, mass = 0.06, 0.25
    density = mass / (4 / 3 * np.pi * radius**3)
    body = scene.add_rigid_body(ball(radius, 4), density, 0.014, radius=0.008, position=(0.0, radius + 0.02, 0.0))
    model = Model(scene)

    def drop(speed: float, substeps: int) -> tuple[bool, int, list[str]]:
        solver = Solver(model, substeps)
        state, control = solver.state(), solver.control()
        v = state.get_velocities()
        v[0, body.indices] = (0.0, -speed, 0.0)
        state.set_velocities(v)
        pierced = 0
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(12):
                solver.step(state, control, STEP)
                pierced += int(state.get_piercings()[0])
        texts = [str(w.message) for w in said if "softer than" not in str(w.message)]
        assert sum("edges go through surfaces in environment 0" in text for text in texts) == (pierced > 0)
        x = state.get_positions()[0]
        carried = x[body.indices, 1].mean() > x[cloth.indices, 1].min() - 0.02
        return carried, pierced, [text for text in texts if "edges go through" not in text]

    assert drop(1.0, 40) == (True, 0, [])
    passed = 0
    assert Solver(model).far < 8.5  # what has fallen for a second is out of the scene
    for speed, substeps in ((5.0, 6), (10.0, 10), (2.5, 4)):
        carried, _, said = drop(speed, substeps)
        passed += not carried
        assert carried or said
        for text in said:
            assert "m/s in environment 0" in text
            wanted = int(text.split("substeps=")[1].split()[0])
            assert substeps < wanted < 10 * substeps
            assert drop(speed, wanted) == (True, 0, [])
    assert passed > 0


class FakeState:
    """Positions and velocities as a state has them, of one lane."""

    def __init__(self, model: Any, positions: np.ndarray, velocities: np.ndarray) -> None:
        self.model = model
        weights = np.broadcast_to(model.scene.inv_mass, positions.shape[:2])
        self.positions_scalar, self.velocities_scalar, self.inv_mass_scalar = (
            type("Array", (), {"numpy": lambda _, a=a: a[..., None]})() for a in (positions, velocities, weights)
        )


def test_speeds_that_are_no_danger_are_not_warned_of() -> None:
    """Guards against cries of wolf: what falls together, flies apart or past, or is far away yet."""
    scene = Scene()
    cloth = pinned_cloth(scene, 8)
    rope = np.asarray(scene.add_rope([(0.01 * k, 0.05, 0.0) for k in range(8)]))
    scene.add_particle_contacts(rope, 0.005)
    model = Model(scene)
    x, still = scene.positions[None].copy(), np.zeros((1, scene.particle_count, 3))

    def look(at: np.ndarray, v: np.ndarray) -> None:
        watch = SpeedWatch(model)
        watch.look(FakeState(model, at, v), STEP, 10)

    falls = still.copy()
    falls[:] = (0.0, -20.0, 0.0)
    look(x, falls)
    for way, shift in (((0.0, 30.0, 0.0), 0.0), ((0.0, -30.0, 0.0), 2.0), ((30.0, 0.0, 0.0), 0.1)):
        v, at = still.copy(), x.copy()
        v[0, rope] = way
        at[0, rope, 1] += shift
        look(at, v)
    v = still.copy()
    v[0, rope] = (0.0, -30.0, 0.0)
    with pytest.warns(RuntimeWarning, match=r"bodies meet at 30 m/s in environment 0, which is 50 mm in a substep of"):
        look(x, v)
    v[0, cloth.indices.ravel()] = (0.0, -30.0, 0.0)
    look(x, v)


@pytest.mark.parametrize(("speed", "density", "pinned", "length"), [(5.0, 0.05, True, 0.4), (2.0, 1.25, False, 1.6)])
def test_a_rope_holds_what_its_mass_holds(speed: float, density: float, pinned: bool, length: float) -> None:
    """Guards the number that is named for ropes across each other: a spring of m / h^2 gives way by 1.2 contacts."""
    radius, spacing, own = 0.006, 0.01, 0.05
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    across = np.array([(0.01 * k - 0.2, 0.0, 0.0) for k in range(41)])
    count = round(length / spacing) + 1
    above = np.array([(0.003, 0.03, spacing * k - 0.5 * length) for k in range(count)])
    first, second = (
        np.asarray(scene.add_rope(p, RopeMaterial(density=d))) for p, d in ((across, own), (above, density))
    )
    for rope in (first, second):
        scene.add_particle_contacts(rope, radius)
    if pinned:
        scene.pin(first[[0, -1]])
    v = np.zeros((1, scene.particle_count, 3))
    v[0, second] = (0.0, -speed, 0.0)
    x = scene.positions[None].copy()
    with pytest.warns(RuntimeWarning, match="bodies meet") as said:
        SpeedWatch(Model(scene)).look(FakeState(Model(scene), x, v), STEP, 6)
    wanted = int(str(said[0].message).split("substeps=")[1].split()[0])
    # What of the second comes is as long as the first; its mass or, where nothing is held, the reduced one is stopped.
    mine, comes = own * 0.4, density * 0.4
    touched = min(own * 4.0 * radius, density * 4.0 * radius)
    stopped = comes if pinned else mine * comes / (mine + comes)
    least = 1.1 * STEP * speed * np.sqrt(stopped / touched) / (1.2 * 2.0 * radius)
    assert least - 0.01 <= wanted <= least + 1.01
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SpeedWatch(Model(scene)).look(FakeState(Model(scene), x, v), STEP, wanted)


PASSED = "gone through|are inside"


def said_of_passing(scene: Scene, substeps: int, seconds: float) -> tuple[np.ndarray, list[str]]:
    """Step a scene, and return where everything is then, and what was said of passages."""
    solver = Solver(Model(scene), substeps, compensate=False, double=False)
    state, control = solver.state(), solver.control()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(round(seconds / STEP)):
            solver.step(state, control, STEP)
    return state.get_positions()[0], [str(w.message) for w in said if re.search(PASSED, str(w.message))]


def test_ropes_of_springs_pass_in_no_silence() -> None:
    """Guards silence: 20 g on a rope of springs over another hold with 100 substeps; with 20 not, and it is said."""
    scene, turn, count = Scene(), 0.00816, 41
    lying = np.asarray(scene.add_rope(np.linspace((-0.15, 0, 0), (0.15, 0, 0), count), RopeMaterial(0.05), lines=False))
    along = np.linspace(-0.14, 0.14, count)
    arc = np.clip(along / turn, -0.5 * np.pi, 0.5 * np.pi)
    hook = np.c_[np.full(count, 5e-4), turn * np.cos(arc) - np.abs(along - turn * arc), turn * np.sin(arc)]
    hung = np.asarray(scene.add_rope(hook, RopeMaterial(0.05), lines=False))
    for rope in (lying, hung):
        scene.add_particle_contacts(rope, 0.004, 0.3)
    scene.pin(lying[[0, -1]])
    for end in (hung[0], hung[-1]):
        scene.mass[end] += 0.01
        scene.inv_mass[end] = 1.0 / scene.mass[end]
    for substeps, holds in ((100, True), (20, False)):
        x, said = said_of_passing(scene, substeps, 0.4)
        assert (x[hung, 1].max() > x[lying, 1].min()) == holds
        assert len(said) == (not holds)
    assert "the rope of particles 0 to 40 and the rope of particles 41 to 81 have gone through each other" in said[0]


def test_a_ball_in_foam_is_said() -> None:
    """Guards silence: a ball of steel lies on foam with 20 substeps, and passes into it with 2, which is said."""
    scene = Scene()
    foam = scene.add_soft_body(box((4, 4, 4), (0.16, 0.16, 0.16)), SoftMaterial(300.0, 1e4, 0.45), (0.0, 0.1, 0.0))
    scene.add_particle_contacts(foam.indices, 0.02, 0.5)
    scene.pin(foam.indices[scene.positions[foam.indices, 1] < 0.03])
    steel = scene.add_rigid_body(ball(0.035, 6), 7800.0, 0.014, position=(0.0, 0.236, 0.0))
    for substeps, holds in ((20, True), (2, False)):
        x, said = said_of_passing(scene, substeps, 0.4)
        assert (x[steel.indices, 1].min() > 0.1) == holds
        assert len(said) == (not holds)
    assert "particles of the rigid body of particles 125 to" in said[0]
    assert "are inside the body of particles 0 to 124 in environment 0" in said[0]


@pytest.mark.parametrize("density", [500.0, 5000.0])
def test_a_box_that_presses_cloth_flat_is_said(density: float) -> None:
    """Guards what lies under rigid bodies: a block of 5 kg sank into a towel on the ground in silence."""
    scene = Scene()
    scene.add_collider(Plane(friction=0.5))
    towel = scene.add_cloth(16, 16, (0.3, 0.3), position=(0.0, 0.005, -0.15), rotation=LYING)
    scene.add_surface_contacts(towel.triangles, 0.004, 0.5)
    block = scene.add_rigid_body(box((2, 2, 2), (0.1,) * 3), density, position=(0.0, 0.062, 0.0))
    solver = Solver(Model(scene), substeps=12)
    state, control = solver.state(), solver.control()
    said = []
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(60):
            solver.step(state, control, STEP)
        said = [str(each.message) for each in found if "are inside the rigid body" in str(each.message)]
    bottom = float(state.get_rigid_poses()[0, block.index, 1]) - 0.05
    carried = bottom > 0.005
    assert carried == (density < 1000.0)
    assert len(said) == (0 if carried else 1)
    if said:
        assert said[0].startswith("16 particles of the cloth of particles 0 to 255 are inside the rigid body of part")


def test_a_body_through_a_wall_is_said() -> None:
    """Guards silence: a ball flew through a wall of 20 mm. With the substeps named it stops, and so does a slow one."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_collider(Box((0.0, 0.0, 0.0), (0.01, 0.3, 0.3)))
    flying = scene.add_rigid_body(ball(0.03, 3), 1000.0, position=(-0.3, 0.0, 0.0))
    model = Model(scene, num_envs=2)
    substeps = 7
    for fast in (True, False):
        solver = Solver(model, substeps)
        state, control = solver.state(), solver.control()
        state.set_rigid_velocity(flying, linear=[[5.0, 0.0, 0.0], [30.0, 0.0, 0.0]])
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(10):
                solver.step(state, control, STEP)
        where = state.get_rigid_poses()[:, 0, 0]
        assert (where < 0.0).tolist() == [True, not fast]
        assert len(said) == fast
        if fast:
            assert "has gone into collider 0 in environment 1, at" in str(said[0].message)
            substeps = int(re.findall("substeps=([0-9]+)", str(said[0].message))[0])


def test_bends_and_near_misses_are_no_passages() -> None:
    """Guards against cries of wolf: a rope that folds flat within a step, and one that flies past another."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    ropes = [np.asarray(scene.add_rope([(0.01 * k, 0.1 * n, 0.0) for k in range(12)])) for n in range(2)]
    for rope in ropes:
        scene.add_particle_contacts(rope, 0.004)
    model, still = Model(scene), np.zeros((1, scene.particle_count, 3))
    turned = scene.positions[ropes[1]] @ np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    fold = scene.positions[ropes[0]].copy()
    fold[6:] = fold[5::-1] + np.array([0.005, 1e-3, 0.0])

    def said(first: np.ndarray, then: np.ndarray) -> bool:
        watch = PassingWatch(model)
        watch.begin(FakeState(model, first, still))
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            watch.look(FakeState(model, then, still), STEP, 10)
        return bool(found)

    start = scene.positions[None].copy()
    start[0, ropes[1]] = turned + np.array([0.053, 0.0, -0.05])
    past, through = start.copy(), start.copy()
    past[0, ropes[1]] += [0.2, -0.2, 0.0]
    through[0, ropes[1]] -= [0.0, 0.2, 0.0]
    folded = start.copy()
    folded[0, ropes[0]] = fold
    assert [said(start, x) for x in (start, past, folded, through)] == [False, False, False, True]


@pytest.mark.parametrize(("share", "said"), [(0.30, "leave gaps through which strands slip"), (0.49, "")])
def test_ropes_that_slip_between_particles_are_said_to(share: float, said: str) -> None:
    """Guards the reason: strands that cross halfway between particles touch nothing below 0.354 of their distance."""
    scene = Scene(gravity=(0.0, 0.0, 0.0), grip_count=1)
    gap, places = 0.01, np.arange(-10, 11) - 0.5
    for height, along in ((0.0, [1.0, 0.0, 0.0]), (0.02, [0.0, 0.0, 1.0])):
        rope = scene.add_rope(gap * places[:, None] * along + np.array([0.0, height, 0.0]), RopeMaterial(0.05))
        scene.add_particle_contacts(rope, share * gap)
    scene.pin([0, 20])
    solver = Solver(Model(scene), 20)
    state = solver.state()
    velocities = np.zeros((1, 42, 3))
    velocities[0, 21:, 1] = -0.5
    state.set_velocities(velocities)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(6):
            solver.step(state, solver.control(), STEP)
    found = [str(one.message) for one in caught if "gone through" in str(one.message)]
    assert [said in one for one in found] == [True] * bool(said), found
