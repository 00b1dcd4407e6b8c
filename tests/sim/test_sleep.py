"""Environments of cloth at rest sleep: they keep their places to the bit, until something can move them."""

from collections.abc import Callable

import numpy as np
import pytest
import warp as wp
from numpy.testing import assert_array_equal

from pbd_gym.colliders import Plane, Sphere
from pbd_gym.materials.materials import ClothMaterial
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.control import Control
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State

DT, SETTLING, ENVS = 0.05, 70, 8
FAR = (5.0, 0.0, 5.0)  # where a collider that moves keeps its environment awake, and touches nothing


def towel() -> Scene:
    """A towel that stands on the ground, and a ball far away."""
    scene = Scene(grip_count=1)
    soft = ClothMaterial(0.3, bend_compliance=None)
    cloth = scene.add_cloth(8, 7, (0.4, 0.36), soft, position=(0.0, 0.4, 0.0))
    scene.add_air_drag(cloth.triangles)
    scene.add_surface_contacts(cloth.triangles, 0.006, 0.4)
    scene.add_collider(Plane(friction=0.5))
    scene.add_collider(Sphere(FAR, 0.05), moving=True)
    return scene


class Batch:
    """A batch of towels that collapse, each in its own way."""

    def __init__(self, rows: np.ndarray, lanes: int, block_dim: int | None = None) -> None:
        self.model = Model(towel(), len(rows), lanes=lanes, block_dim=block_dim)
        self.solver = Solver(self.model, substeps=8, threads=1, quiet=True, sleep=True)
        self.state: State = self.solver.state()
        self.control: Control = self.solver.control()
        self.rows = rows
        rng = np.random.default_rng(1)
        places = np.tile(self.model.scene.positions, (ENVS, 1, 1))
        places += rng.uniform(-0.004, 0.004, places.shape)
        self.state.set_positions(places[rows])

    def twitch(self, which: list[int]) -> None:
        """Let the far ball move in some environments, by their rows of the table."""
        self.control.move_collider(1, np.isin(self.rows, which)[:, None] * np.array((0.0, 1e-3, 0.0)))

    def step(self, steps: int = 1) -> None:
        for _ in range(steps):
            self.solver.step(self.state, self.control, DT)


@pytest.fixture(scope="module")
def slept() -> Batch:
    """Towels of which the last never sleeps."""
    batch = Batch(np.arange(ENVS), 4)
    batch.twitch([ENVS - 1])
    batch.step(SETTLING)
    return batch


def test_a_heap_at_rest_stays_to_the_bit_and_has_no_velocity(slept: Batch) -> None:
    assert_array_equal(slept.state.get_asleep(), np.arange(ENVS) < ENVS - 1)
    before = slept.state.get_positions()
    slept.step(4)
    assert_array_equal(slept.state.get_positions()[:-1], before[:-1])
    assert_array_equal(slept.state.get_velocities()[:-1], 0.0)
    assert (slept.state.get_positions()[-1] != before[-1]).any() or (slept.state.get_velocities()[-1] != 0.0).any()


def test_nothing_sleeps_before_it_has_been_at_rest_for_a_fifth_of_a_second() -> None:
    batch = Batch(np.arange(ENVS), 4)
    speeds = []
    for _ in range(SETTLING):
        before = batch.state.get_positions()
        batch.step()
        speeds.append(np.linalg.norm(batch.state.get_positions() - before, axis=-1).max(1) / DT)
        asleep = batch.state.get_asleep()
        if asleep.any():
            assert (np.array(speeds[-5:-1])[:, asleep] <= 0.0501).all()
            assert len(speeds) > 4
    assert asleep.all()


def _positions(batch: Batch) -> None:
    moved = batch.state.get_positions()
    moved[2, 5, 1] += 1e-4
    batch.state.set_positions(moved)


def _velocities(batch: Batch) -> None:
    speeds = batch.state.get_velocities()
    speeds[2, 5, 1] = 1e-3
    batch.state.set_velocities(speeds)


def _pins(batch: Batch) -> None:
    pinned = batch.state.get_pinned()
    pinned[2, 5] = True
    batch.state.set_pinned(pinned)


def _gravity(batch: Batch) -> None:
    gravity = batch.state.get_parameters()["gravity"]
    gravity[2, 0] += 1.0
    batch.state.set_parameters(gravity=gravity)


def _pose(batch: Batch) -> None:
    origin = batch.state.get_poses()[:, 0, :3]
    origin[2, 1] += 0.5
    batch.state.set_pose(1, origin)


def _hand(batch: Batch) -> None:
    batch.state.hold(np.where(np.arange(ENVS) == 2, 5, -1)[:, None])


def _ball(batch: Batch) -> None:
    batch.twitch([2, ENVS - 1])


def _force(batch: Batch) -> None:
    forces = np.zeros((ENVS, batch.model.particle_count, 3))
    forces[2, 5, 1] = 1e-4
    batch.control.set_forces(forces)


def _wind(batch: Batch) -> None:
    batch.control.set_wind(np.where(np.arange(ENVS)[:, None] == 2, (1.0, 0.0, 0.0), 0.0))


WAYS = [_positions, _velocities, _pins, _gravity, _pose, _hand, _ball, _force, _wind]


@pytest.mark.parametrize("stir", WAYS, ids=[way.__name__[1:] for way in WAYS])
def test_whatever_may_move_it_wakes_it_and_no_other(slept: Batch, stir: Callable[[Batch], None]) -> None:
    saved = slept.state.save()
    stir(slept)
    slept.step()
    assert_array_equal(slept.state.get_asleep(), ~np.isin(np.arange(ENVS), [2, ENVS - 1]))
    slept.control.clear_forces()
    slept.control.set_wind(0.0)
    slept.state.set_pinned(None)
    slept.twitch([ENVS - 1])
    slept.state.load(saved)
    slept.step()
    assert_array_equal(slept.state.get_asleep(), np.arange(ENVS) < ENVS - 1)


def test_it_moves_as_one_that_never_slept(slept: Batch) -> None:
    saved = slept.state.save()
    found = []
    for awake in ([ENVS - 1], list(range(ENVS))):
        slept.state.load(saved)
        slept.twitch(awake)
        slept.step(6)
        slept.state.hold(np.full((ENVS, 1), 0))
        slept.control.move(np.array((0.01, 0.01, 0.0)))
        slept.step(10)
        found.append(slept.state.get_positions())
        slept.control.move(np.zeros(3))
    slept.state.load(saved)
    slept.twitch([ENVS - 1])
    off = np.linalg.norm(found[0] - found[1], axis=-1)
    assert np.linalg.norm(found[0] - saved["positions"], axis=-1).max() > 0.1
    assert np.median(off) < 0.002 and np.sqrt((off**2).mean()) < 0.01


def test_waking_gives_no_energy(slept: Batch) -> None:
    saved = slept.state.save()
    height = slept.state.get_positions()[..., 1].mean(1)
    slept.twitch(list(range(ENVS)))
    for _ in range(10):
        slept.step()
        speeds = np.linalg.norm(slept.state.get_velocities(), axis=-1)
        assert np.sqrt((speeds**2).mean(1)).max() < 0.02
        assert (slept.state.get_positions()[..., 1].mean(1) < height + 2e-5).all()
    slept.twitch([ENVS - 1])
    slept.state.load(saved)


def test_sleep_does_not_depend_on_others() -> None:
    """Whoever shares its lanes, and in blocks of a GPU: the same bits, asleep and awake, before and after."""
    found = []
    blocks = 32 if hasattr(wp.config, "enable_cpu_blocks") else 1
    every = np.arange(ENVS)
    for rows, lanes, block_dim in ((every, 4, None), (every[::-1], 4, None), (every, 1, None), (every, 1, blocks)):
        batch = Batch(rows, lanes, block_dim)
        batch.twitch([1, 6])
        order = np.argsort(rows)
        asleep, states = [], []
        for turn in range(4):
            batch.step(8)
            batch.state.hold(np.where((rows == turn) | (rows == 5), 3, -1)[:, None])
            batch.control.move(np.array((0.0, 0.002, 0.0)))
            batch.step(1)
            batch.state.hold(np.full((ENVS, 1), -1))
            saved = batch.state.save()
            kept = [saved[name].reshape(ENVS, -1)[order] for name in ("positions", "velocities", "memory")]
            states.append(np.concatenate(kept, axis=1))
            asleep.append(batch.state.get_asleep()[order])
        found.append((np.array(states), np.array(asleep)))
    for states, asleep in found[1:]:
        assert_array_equal(asleep, found[0][1])
        assert_array_equal(states, found[0][0])
    assert found[0][1].any(axis=1).sum() >= 2 and not found[0][1].all(axis=1).any()


def test_a_reset_wakes(slept: Batch) -> None:
    saved = slept.state.save()
    slept.state.reset()
    slept.step()
    assert not slept.state.get_asleep().any()
    slept.state.load(saved)
    slept.step()
    assert slept.state.get_asleep().sum() == ENVS - 1
