"""Restitution between particles, and between particles and rigid bodies: Newton's law, momentum, energy, and rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym import Model, Plane, Scene, Solver, geometry

RADIUS, MASSES, SPEED = 0.01, np.array([0.1, 0.3]), 1.0


def solver(scene: Scene, block_dim: int = 1) -> Solver:
    return Solver(Model(scene, 1, "cpu", "float64", block_dim=block_dim), substeps=5, quiet=True)


class Impact:
    """A ball that hits another off its centre, without gravity.

    Args:
        ones, others: restitution of the first and of the second.
        h: substep [s].
        friction: Coulomb coefficient.
        block_dim: threads of a group.
    """

    def __init__(self, ones: float, others: float, h: float, friction: float = 0.0, block_dim: int = 1) -> None:
        scene = Scene(gravity=(0.0, 0.0, 0.0))
        pair = scene.add_particles([[-0.003, 0.1, 0.0], [0.05, 0.108, 0.0]], MASSES)
        for particle, restitution in zip(pair, (ones, others), strict=True):
            scene.add_particle_contacts([particle], RADIUS, friction, restitution)
        solve = solver(scene, block_dim)
        state, control = solve.state(), solve.control()
        self.before = np.zeros((2, 3))
        self.before[0, 0] = SPEED
        state.set_velocities(self.before)
        self.starts = state.get_positions()[0]
        for _ in range(round(0.08 / SPEED / (5 * h))):
            solve.step(state, control, 5 * h)
        self.positions, self.after = state.get_positions()[0], state.get_velocities()[0]

    def ratio(self) -> float:
        """Return the normal speed afterwards over that before; the normal is that of the impulse without friction."""
        impulse = self.after[1] - self.before[1]
        return float((self.after[1] - self.after[0]) @ impulse / ((self.before[0] - self.before[1]) @ impulse))

    def energy(self) -> float:
        """Return what is left of the kinetic energy, as a share."""
        return float((MASSES @ (self.after**2).sum(axis=1)) / (MASSES @ (self.before**2).sum(axis=1)))

    def spin(self, positions: np.ndarray, velocities: np.ndarray) -> np.ndarray:
        """Return the angular momentum [kg m^2/s]."""
        spin: np.ndarray = MASSES @ np.cross(positions, velocities)
        return spin


@pytest.mark.parametrize("h", [0.00025, 0.001, 0.004])
@pytest.mark.parametrize(("ones", "others"), [(0.9, 0.3), (1.0, 1.0), (0.2, 0.0)])
def test_balls_part_at_the_mean_restitution(ones: float, others: float, h: float) -> None:
    """Guards Newton's law whatever the substep, and what no contact may change."""
    impact = Impact(ones, others, h)
    assert impact.ratio() == pytest.approx((ones + others) / 2, abs=1e-3)
    assert_allclose(MASSES @ impact.after, MASSES @ impact.before, atol=1e-12)
    spin = impact.spin(impact.starts, impact.before)
    # They are moved apart within a substep.
    assert_allclose(impact.spin(impact.positions, impact.after), spin, atol=8.0 * h * np.abs(spin).max())
    assert impact.energy() < 1.0 + 1e-12
    rough = Impact(ones, others, h, friction=0.5)
    assert_allclose(MASSES @ rough.after, MASSES @ rough.before, atol=1e-12)
    assert rough.energy() < impact.energy()


def test_blocks_bounce_alike() -> None:
    """Guards both ways in which contacts are worked out."""
    assert_array_equal(Impact(0.9, 0.3, 0.001, 0.2).after, Impact(0.9, 0.3, 0.001, 0.2, block_dim=32).after)
    assert_array_equal(Struck(0.8, 3, 0.3).after, Struck(0.8, 3, 0.3, block_dim=32).after)


@pytest.mark.parametrize("h", [0.00025, 0.001, 0.004])
def test_a_dropped_ball_returns_to_the_square_of_it(h: float) -> None:
    """Guards gravity's share in an impact: a ball rises to e^2 of its height over a held one, and gains nothing."""
    for restitution in (0.5, 1.0):
        scene = Scene()
        pair = scene.add_particles([[0.0, 0.0, 0.0], [0.0, 0.12, 0.0]], 0.1)
        scene.pin(pair[:1])
        for particle in pair:
            scene.add_particle_contacts([particle], RADIUS, 0.0, restitution)
        solve = solver(scene)
        state, control = solve.state(), solve.control()
        heights, energies = [], []
        for _ in range(round(0.4 / (5 * h))):
            solve.step(state, control, 5 * h)
            heights.append(state.get_positions()[0, 1, 1] - 0.02)
            energies.append(0.5 * state.get_velocities()[0, 1, 1] ** 2 + 9.81 * heights[-1])
        assert max(energies) < 9.81 * 0.1
        top = max(heights[round(0.143 / (5 * h)) :])  # after the first impact
        assert top / 0.1 == pytest.approx(restitution**2, abs=0.02 + 10.0 * h)


@pytest.mark.parametrize("h", [0.00025, 0.001])
def test_a_column_of_elastic_balls_rests(h: float) -> None:
    """Guards the threshold and the way out of overlaps: such a column went up by metres, with 28 times its energy."""
    ends = []
    for restitution in (0.0, 1.0):
        scene = Scene(contact_radius=RADIUS)
        scene.add_collider(Plane())
        column = scene.add_particles([[0.0, RADIUS * (1 + 2 * k), 0.0] for k in range(4)], 0.1)
        for particle in column:
            scene.add_particle_contacts([particle], RADIUS, 0.3, restitution)
        solve = solver(scene)
        state, control = solve.state(), solve.control()
        for _ in range(round(0.5 / (5 * h))):
            solve.step(state, control, 5 * h)
        ends.append(state.get_positions()[0])
    assert_array_equal(ends[1], ends[0])
    assert_allclose(ends[0][:, 1], scene.positions[:, 1], atol=2e-4)


def test_a_ball_bounces_off_a_rigid_block() -> None:
    """Guards the mass that a body has along the normal: Newton's law, momentum of both, and energy."""
    for restitution in (0.5, 1.0):
        scene = Scene(gravity=(0.0, 0.0, 0.0))
        block = scene.add_rigid_body(geometry.box((2, 2, 2), (0.1, 0.1, 0.1)), 200.0, 0.0125, restitution=restitution)
        (ball,) = scene.add_particles([[0.12, 0.0, 0.01]], 0.1)
        scene.add_particle_contacts([ball], 0.02, 0.0, restitution)
        solve = solver(scene)
        state, control = solve.state(), solve.control()
        velocities = state.get_velocities()
        velocities[0, ball, 0] = -SPEED
        state.set_velocities(velocities)
        for _ in range(40):
            solve.step(state, control, 0.0025)
        after, motion = state.get_velocities()[0, ball], state.get_rigid_velocities()[0, 0]
        point = motion[:3] + np.cross(motion[3:], [0.05, 0.0, 0.01])
        assert after[0] - point[0] == pytest.approx(restitution * SPEED, rel=0.03)
        assert_allclose(0.1 * after + block.mass * motion[:3], [-0.1 * SPEED, 0.0, 0.0], atol=1e-9)
        energy = 0.1 * after @ after + block.mass * motion[:3] @ motion[:3] + motion[3:] @ block.inertia @ motion[3:]
        assert energy < 0.1 * SPEED**2 * (1.0 + 1e-6)


class Struck:
    """A rigid block that flies onto balls, without gravity; or a ball onto a corner between samples of the block.

    Args:
        restitution: of all.
        balls: how many of four balls below the corners of the block there are; 0 for the one that flies.
        friction: Coulomb coefficient of all.
        block_dim: threads of a group.
    """

    def __init__(self, restitution: float, balls: int, friction: float = 0.0, block_dim: int = 1) -> None:
        scene = Scene(gravity=(0.0, 0.0, 0.0))
        block = scene.add_rigid_body(
            geometry.box((2, 2, 2), (0.1, 0.1, 0.1)), 200.0, 0.0125, restitution=restitution, friction=friction
        )
        corners = [(x, -0.08, z) for x in (-0.03, 0.03) for z in (-0.03, 0.03)]
        self.places = np.array(corners[:balls] if balls else [(0.01, 0.08, 0.03)])
        others = scene.add_particles(self.places, 0.1)
        scene.add_particle_contacts(others, 0.02, friction, restitution)
        solve = solver(scene, block_dim)
        state, control = solve.state(), solve.control()
        before = state.get_velocities()[0]
        before[block.indices if balls else others, 1] = -SPEED
        state.set_velocities(before[None])
        for _ in range(8):
            solve.step(state, control, 0.005)
        after, motion = state.get_velocities()[0], state.get_rigid_velocities()[0, 0]
        points = motion[:3] + np.cross(motion[3:], self.places)
        self.parts = np.abs(after[others, 1] - points[:, 1])
        self.momenta = scene.mass @ before, scene.mass @ after
        self.energy = float(scene.mass @ (after**2).sum(axis=1) / (scene.mass @ (before**2).sum(axis=1)))
        self.after = after


@pytest.mark.parametrize(("restitution", "balls"), [(1.0, 4), (0.5, 4), (1.0, 3)])
def test_a_block_that_strikes_several_balls_at_once(restitution: float, balls: int) -> None:
    """Guards impulses that fit together: shares of the block's mass for each of its samples gave a fraction of them."""
    struck = Struck(restitution, balls)
    assert_allclose(struck.parts, restitution * SPEED, atol=0.005)
    assert_allclose(*struck.momenta, atol=1e-12)
    assert struck.energy < 1.0 + 1e-9


def test_friction_in_an_impact_gains_no_energy() -> None:
    """Guards Newton's law off the centre, which alone gains 1.5 % here."""
    for friction in (0.2, 1.0):
        struck = Struck(1.0, 0, friction)
        assert 0.95 < struck.energy < 1.0 + 1e-9
        assert_allclose(*struck.momenta, atol=1e-12)


def test_a_ball_that_strikes_two_at_once() -> None:
    """Guards the break of billiards: the ball comes back, and both others go off along the lines between them."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    balls = scene.add_particles([[0.0, 0.0, -0.021], [0.0, 0.0, 0.021], [-0.06, 0.0, 0.0]], 0.1)
    for ball in balls:
        scene.add_particle_contacts([ball], 0.02, 0.0, 1.0)
    solve = solver(scene)
    state, control = solve.state(), solve.control()
    velocities = np.zeros((3, 3))
    velocities[2, 0] = SPEED
    state.set_velocities(velocities)
    for _ in range(32):
        solve.step(state, control, 0.00125)
    after = state.get_velocities()[0]
    # Along the lines between them, whose cosine with the way it came is c: v = -u (1 - 2 c^2) / (1 + 2 c^2).
    cosine2 = 1.0 - (0.021 / 0.04) ** 2
    assert after[2, 0] == pytest.approx(SPEED * (1.0 - 2.0 * cosine2) / (1.0 + 2.0 * cosine2), abs=0.005)
    assert (after**2).sum() == pytest.approx(SPEED**2, rel=1e-4)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, np.nan, "a", None])
def test_a_wrong_restitution_is_named(wrong: Any) -> None:
    """Guards the argument."""
    scene = Scene()
    pair = scene.add_particles([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], 0.1)
    with pytest.raises((TypeError, ValueError), match="restitution"):
        scene.add_particle_contacts(pair, RADIUS, restitution=wrong)
    assert not scene.has_particle_contacts
