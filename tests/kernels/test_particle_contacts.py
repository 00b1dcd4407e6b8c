"""Particles against particles: search, response, friction, invariance, and a towel that falls on itself."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.colliders import Plane
from pbd_gym.geometry.surfaces import crossings
from pbd_gym.materials.materials import ClothMaterial
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State
from pbd_gym.sim.upload import contacts as uploaded

RADIUS = 0.05


def step(
    scene: Scene, substeps: int = 1, dt: float = 0.01, lanes: int = 1, envs: int | None = None, **options: Any
) -> State:
    model = Model(scene, lanes if envs is None else envs, dtype="float64", lanes=lanes)
    solver = Solver(model, substeps, **options)
    state, control = solver.state(), solver.control()
    state.set_memory(0.0)  # an overlap is one that has come about
    solver.step(state, control, dt)
    return state


def pair(distance: float, velocities: Any, masses: Any = (1.0, 1.0), friction: float = 0.0) -> Scene:
    """Two balls of different bodies along x."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_particles([(0.0, 0.0, 0.0), (distance, 0.0, 0.0)], masses, velocities)
    for i in range(2):
        scene.add_particle_contacts([i], RADIUS, friction)
    return scene


def test_a_pair_stops_at_contact_and_keeps_its_momentum() -> None:
    """Guards the response: an inelastic collision, shared by inverse masses."""
    state = step(pair(0.11, [(1.0, 0.0, 0.0), (-2.0, 0.0, 0.0)], (3.0, 1.0)), substeps=4, dt=0.04)
    x, v = state.get_positions()[0], state.get_velocities()[0]
    assert_allclose(x[1] - x[0], [2 * RADIUS, 0.0, 0.0], atol=1e-12)
    assert_allclose(v, [[0.25, 0.0, 0.0]] * 2, atol=1e-12)


def test_balls_apart_are_left_alone() -> None:
    """Guards the candidates: what is near and does not touch keeps its bits."""
    state = step(pair(0.101, 0.0))
    assert_array_equal(state.get_positions()[0], [(0.0, 0.0, 0.0), (0.101, 0.0, 0.0)])


@pytest.mark.parametrize(("slip", "kept"), [(0.5, 0.0), (6.0, 4.0)])
def test_friction_is_coulombs(slip: float, kept: float) -> None:
    """Guards friction: an approach of 4 m/s and a coefficient of 1/2 stop a slip of 2 m/s, and no more."""
    scene = pair(0.1, [(4.0, 0.0, 0.0), (0.0, slip, 0.0)], (1.0, 1.0), 0.5)
    state = step(scene, dt=1e-6)
    v = state.get_velocities()[0]
    assert_allclose(v[1, 0] - v[0, 0], 0.0, atol=1e-3)
    assert_allclose(v[1, 1] - v[0, 1], kept, atol=1e-3)
    assert_allclose(v.sum(axis=0), [4.0, slip, 0.0], atol=1e-9)


def test_an_old_overlap_parts_slowly() -> None:
    """Guards against explosions: balls that have come into one another leave with five metres per second."""
    state = step(pair(0.04, 0.0), dt=0.01)
    v = state.get_velocities()[0]
    assert_allclose(v[1, 0] - v[0, 0], 5.0, rtol=1e-9)


def test_balls_in_one_place_part() -> None:
    """Guards the direction that does not exist."""
    scene = pair(0.0, 0.0)
    x = step(scene, substeps=100, dt=1.0).get_positions()[0]
    assert np.linalg.norm(x[1] - x[0]) >= 2 * RADIUS - 1e-9


def test_held_particles_are_infinitely_heavy() -> None:
    scene = pair(0.1, [(0.0, 0.0, 0.0), (-3.0, 0.0, 0.0)])
    scene.pin([0])
    state = step(scene, substeps=10, dt=0.1)
    assert_allclose(state.get_positions()[0], [(0.0, 0.0, 0.0), (0.1, 0.0, 0.0)], atol=1e-12)


def cloud(count: int, seed: int) -> Scene:
    """Balls in a box, some close together, in three bodies; body 0 has rest neighbours that must not collide."""
    rng = np.random.default_rng(seed)
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_particles(rng.uniform(-0.7, 0.7, (count, 3)), 1.0)
    for part, radius in zip(np.array_split(rng.permutation(count), 3), (0.05, 0.03, 0.04), strict=True):
        scene.add_particle_contacts(part, radius)
    return scene


def distances(points: np.ndarray) -> np.ndarray:
    """Distance of each point from each, shape (n, n)."""
    return np.asarray(np.linalg.norm(points[:, None] - points, axis=2))


def no_masks(patch: pytest.MonkeyPatch) -> None:
    """Let few members, too, be searched as more than ``SCANNED`` are: in a grid, where kernels compare owners."""
    patch.setattr(uploaded, "SCANNED", 0)


@pytest.mark.parametrize(("seed", "masks"), [(0, True), (1, True), (2, False), (3, False)])
def test_candidates_are_those_of_brute_force(seed: int, masks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards both searches: cells at the edge of the repeating grid, both signs, all lanes, no pair twice."""
    if not masks:
        no_masks(monkeypatch)
    count = 300
    scene = cloud(count, seed)
    model = Model(scene, 4, dtype="float64", lanes=4)
    solver = Solver(model, 1)
    state, control = solver.state(), solver.control()
    rng = np.random.default_rng(seed + 10)
    x = rng.uniform(-0.7, 0.7, (4, count, 3))
    state.set_positions(x)
    solver.step(state, control, 1e-9)
    table = model.data.particle_contacts
    assert (table.strangers.shape[0] > 0) == masks
    members, radius = table.members.numpy(), table.traits.numpy().reshape(-1, 4)[:, 0]
    body = np.zeros(count, dtype=int)
    for number, group in enumerate(scene.particle_contacts):
        body[group.indices] = number
    body = body[members]
    rest, sums = scene.positions[members], radius[:, None] + radius[None]
    apart = distances(rest) >= 1.5 * sums
    allowed = np.triu(apart | (body[:, None] != body[None]), 1)
    lists, lengths = state.contacts.near.numpy()[0], state.contacts.counts.numpy()[0, :, 0]
    for env in range(4):
        expected = np.argwhere((distances(x[env, members]) < sums + table.skin) & allowed)
        assert len(expected) > 50
        firsts, others = lists[env].reshape(-1, 2)[: lengths[env]].T
        rows, bits = np.nonzero(others[:, None] >> np.arange(16) & 1)
        found = np.column_stack([firsts[rows], 16 * (others[rows] >> 16) + bits])
        assert_array_equal(found[np.lexsort(found.T[::-1])], expected)
        # Sums of a member are in the order of its others.
        sides = np.stack([found, found[:, ::-1]], axis=1).reshape(-1, 2)
        sides = sides[np.argsort(sides[:, 0], kind="stable")]
        assert (np.diff(sides, axis=0)[np.diff(sides[:, 0]) == 0, 1] > 0).all()


@pytest.mark.parametrize("masks", [True, False])
def test_no_contact_is_lost_without_room(masks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards full lists: with next to no room for candidates no bit changes, and the crowd is reported."""
    if not masks:
        no_masks(monkeypatch)
    count = 40
    scene = cloud(count, 3)
    scene.positions *= 0.15
    roomy: list[np.ndarray] = []
    tight: list[np.ndarray] = []
    for room, found in ((count, roomy), (1, tight)):
        scene.contact_capacity = room
        model = Model(scene, 2, dtype="float64", lanes=4)
        solver = Solver(model, 5, iterations=2)
        state, control = solver.state(), solver.control()
        state.set_memory(0.0)
        for frame in range(4):
            solver.step(state, control, 0.01)
            found.append(state.get_positions())
            if frame == 0:
                assert (state.contacts.counts.numpy() < 0).any() == (room == 1)
                assert (state.get_contact_overflow() > 0).all() == (room == 1)
    assert np.abs(roomy[-1] - scene.positions).max() > 0.01
    assert_array_equal(tight, roomy)


def test_overflow_counts_contacts_beyond_the_capacity() -> None:
    """Guards what is reported: contacts of the environment itself, by brute force."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    x = np.random.default_rng(0).uniform(0.0, 0.1, (20, 3))
    scene.add_particles(x, 1.0)
    for i in range(20):
        scene.add_particle_contacts([i], RADIUS)
    assert step(scene).get_contact_overflow().tolist() == [0]
    scene.contact_capacity = 2
    touching = (np.linalg.norm(x[:, None] - x[None], axis=2) < 2 * RADIUS).sum(axis=1) - 1
    state = step(scene, lanes=4, envs=3)
    assert state.get_contact_overflow().tolist() == [touching.max() - 2] * 3


@pytest.mark.parametrize("lanes", [4, 16])
def test_a_crushed_neighbour_changes_no_bit(lanes: int) -> None:
    """Guards shared lists: one environment has all its particles in a point, more candidates than there is room for."""
    scene = cloud(150, 4)
    scene.contact_capacity = 40
    rng = np.random.default_rng(5)
    calm = 0.5 * rng.uniform(-0.7, 0.7, (lanes, 150, 3))
    crushed = calm.copy()
    crushed[1] *= 1e-3

    def run(x: np.ndarray, lanes: int) -> tuple[np.ndarray, np.ndarray]:
        model = Model(scene, len(x), lanes=lanes)
        solver = Solver(model, 4)
        state, control = solver.state(), solver.control()
        state.set_positions(x)
        state.set_memory(0.0)
        overflow = np.zeros(len(x), dtype=np.int32)
        for _ in range(10):
            solver.step(state, control, 1 / 200)
            overflow = np.maximum(overflow, state.get_contact_overflow())
        return state.get_positions(), overflow

    found, overflow = run(crushed, lanes)
    expected, none = run(calm, lanes)
    others = np.arange(lanes) != 1
    assert np.abs(expected - calm).max() > 0.01
    assert_array_equal(found[others], expected[others])
    assert_array_equal(found[1], run(crushed[1:2], 1)[0][0])
    assert overflow[1] > 100 and not overflow[others].any() and not none.any()


def towel(n: int = 12) -> Scene:
    scene = Scene(contact_radius=0.01)
    cloth = scene.add_cloth(n, n, (0.4, 0.4), ClothMaterial(0.2, 1e-5, 1e-4, None), (0.0, 0.45, 0.0), lines=False)
    scene.add_collider(Plane(friction=0.5))
    scene.add_particle_contacts(cloth.indices.ravel(), 0.45 * 0.4 / (n - 1), 0.3)
    return scene


def ruffled(scene: Scene, envs: int) -> np.ndarray:
    noise = np.random.default_rng(1).normal(size=(envs, *scene.positions.shape))
    return scene.positions + 0.003 * noise


def test_a_towel_falls_on_itself_without_passing_through() -> None:
    """Guards what contacts are for: no thread pierces a triangle, in any environment; without contacts some do."""
    pierced = []
    for colliding in (True, False):
        scene = towel()
        if not colliding:
            scene.particle_contacts.clear()
        model = Model(scene, 4, lanes=4)
        solver = Solver(model, 20, damping=0.5)
        state, control = solver.state(), solver.control()
        state.set_positions(ruffled(scene, 4))
        for _ in range(120):
            solver.step(state, control, 1 / 60)
        assert state.get_contact_overflow().max() == 0
        pairs = np.concatenate([batch for batch in scene.constraints["distance"].indices])
        x = state.get_positions()
        assert np.abs(x).max() < 1.0 and x[..., 1].min() > 0.0095
        pierced.append([crossings(x[env], scene.triangles, pairs) for env in range(4)])
    assert pierced[0] == [0, 0, 0, 0]
    assert sum(pierced[1]) > 10


def test_lanes_and_saved_states_change_no_bit() -> None:
    """Guards shared lists: an environment does not notice its neighbours, nor when its lists were made."""
    scene = towel(8)
    start = ruffled(scene, 16)

    def run(lanes: int, chosen: slice) -> np.ndarray:
        x = start[chosen]
        model = Model(scene, len(x), lanes=lanes)
        solver = Solver(model, 10, iterations=2)
        state, control = solver.state(), solver.control()
        state.set_positions(x)
        for frame in range(40):
            if frame == 25 and lanes == 4:
                saved, state = state.save(), solver.state()
                state.load(saved)
            solver.step(state, control, 1 / 60)
        return state.get_positions()

    wide = run(16, slice(0, 16))
    assert_array_equal(wide[:1], run(1, slice(0, 1)))
    assert_array_equal(wide[8:11], run(4, slice(8, 11)))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (([5], RADIUS), "particles"),
        (([0, 0], RADIUS), "once"),
        (([0], 0.0), "radius"),
        (([0], np.nan), "radius"),
        (([0], RADIUS, -1.0), "friction"),
    ],
)
def test_wrong_arguments_are_named(arguments: Any, name: str) -> None:
    scene = Scene()
    scene.add_particles([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)], 1.0)
    with pytest.raises(ValueError, match=name):
        scene.add_particle_contacts(*arguments)
    assert not scene.has_particle_contacts
