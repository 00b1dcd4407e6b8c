"""What overlaps where it is put is not thrown, whatever it is, and parts; nothing else changes by that."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym import Model, Scene, Solver, State
from tests.overlap_scan import Pairs, gains

KINDS = ("cloth", "cloth, springs", "rope", "soft", "particles", "rigid")
RADIUS = 0.01


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return Pairs(KINDS, 24)


@pytest.mark.parametrize("h", [0.001, 0.004])
def test_bodies_in_bodies_get_no_energy(pairs: Pairs, h: float) -> None:
    """Guards contacts of particles: 2 to 20 times what lifts a body by the contact radius without room for overlaps."""
    found = gains(pairs, h)
    assert len(found) == 24
    assert max(share for _, share in found) < 0.01, sorted(found, key=lambda each: -each[1])[:3]


class Balls:
    """Balls that overlap in pairs along x, by depths of each environment, without gravity.

    Args:
        depths: [m].
        dtype: of the model.
        block_dim: threads of a group.
    """

    def __init__(self, depths: list[float], dtype: str = "float64", block_dim: int = 1) -> None:
        scene = Scene(gravity=(0.0, 0.0, 0.0))
        self.pair = scene.add_particles([[0.0, 0.0, 0.0], [2.0 * RADIUS, 0.0, 0.0]], 0.1)
        for particle in self.pair:
            scene.add_particle_contacts([particle], RADIUS)
        model = Model(scene, len(depths), "cpu", dtype, block_dim=block_dim)  # type: ignore[arg-type]
        self.solver = Solver(model, substeps=10)
        self.state, self.control = self.solver.state(), self.solver.control()
        positions = self.state.get_positions()
        positions[:, 1, 0] -= depths
        self.state.set_positions(positions)

    def apart(self) -> np.ndarray:
        """Return how far the balls of each environment are apart [m]."""
        return np.diff(self.state.get_positions()[..., 0].astype(np.float64), axis=1)[:, 0]

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            self.solver.step(self.state, self.control, 0.01)


def test_balls_part_slowly_and_stay() -> None:
    """Guards the speed: 1.5 mm a second, with which they go on once they are free of each other; others rest."""
    depths = [0.002, 0.001, 0.0]
    balls = Balls(depths)
    for n in range(1, 29):
        balls.step(5)
        wanted = 2.0 * RADIUS - np.array(depths[:2]) + 0.05 * 0.0015 * n
        assert_allclose(balls.apart()[:2], wanted, atol=1e-4)
        assert np.abs(balls.state.get_velocities()).max() < 2e-3
    assert balls.apart()[0] > 2.0 * RADIUS
    assert_array_equal(balls.state.get_velocities()[2], 0.0)


def test_what_comes_on_is_stopped_in_an_overlap() -> None:
    """Guards the approach: balls that overlap and come on at 1 m/s stop where they are."""
    balls = Balls([0.004])
    velocities = np.zeros((1, 2, 3))
    velocities[0, :, 0] = 0.5, -0.5
    balls.state.set_velocities(velocities)
    balls.step()
    assert_allclose(balls.apart(), 2.0 * RADIUS - 0.004, atol=1e-4)
    assert np.abs(balls.state.get_velocities()).max() < 4e-3


def test_an_overlap_that_parts_is_saved_with_the_state() -> None:
    """Guards states: what is loaded goes on to the same bits, and environments that nobody touched stay alike."""
    balls, other = Balls([0.004, 0.0, 0.002], "float32"), Balls([0.0, 0.0, 0.0], "float32")
    balls.step(3)
    saved = balls.state.save()
    assert saved["memory"].max() > 1e-3
    other.state.load(saved)
    for each in (balls, other):
        each.step(3)
    assert_array_equal(other.state.get_positions(), balls.state.get_positions())
    moved = balls.state.get_positions()
    moved[0, 1, 0] -= 0.002
    balls.state.set_positions(moved)
    memory = balls.state.get_memory()
    assert (memory[0] == -1.0).all()
    assert_array_equal(memory[1:], other.state.get_memory()[1:])


def _bits(state: State) -> tuple[np.ndarray, ...]:
    return state.get_positions(), state.get_velocities(), state.get_memory()


def test_blocks_of_threads_leave_the_same_room() -> None:
    """Guards both ways in which contacts are worked out."""
    one, many = Balls([0.004, 0.002], "float32"), Balls([0.004, 0.002], "float32", block_dim=32)
    for each in (one, many):
        each.step(3)
    for a, b in zip(_bits(one.state), _bits(many.state), strict=True):
        assert_array_equal(a, b)
