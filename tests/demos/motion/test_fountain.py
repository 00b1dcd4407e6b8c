"""The particle system: parabolas, rates, lifetimes, cones and bounces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.colliders import Plane, Sphere
from pbd_gym.demos.motion.emitters import BALL, Emitter, FountainDemo, FountainOptions, Particles

GRAVITY = np.array([0.0, -9.81, 0.0])
UP = {
    "position": (0.1, 0.2, 0.3),
    "direction": (0.0, 2.0, 0.0),
    "speed": 5.0,
    "spread": 0.0,
    "rate": 7.0,
    "lifetime": 9.0,
}


@pytest.mark.parametrize("dt", [0.02, 0.013])
def test_particles_leave_on_time_and_fly_parabolas(dt: float) -> None:
    """The k-th of a nozzle leaves at k / rate and is where free flight takes it, whatever the step."""
    particles = Particles([Emitter(**UP)], gravity=tuple(GRAVITY))
    for _ in range(50):
        particles.step(dt)
    left = np.arange(1, int(7.0 * particles.time) + 1) / 7.0
    flown = particles.time - left
    expected = np.array([0.1, 0.2, 0.3]) + flown[:, None] * [0.0, 5.0, 0.0] + 0.5 * flown[:, None] ** 2 * GRAVITY
    assert_allclose(particles.positions, expected, atol=1e-12)
    assert_allclose(particles.velocities, [0.0, 5.0, 0.0] + flown[:, None] * GRAVITY, atol=1e-12)
    assert_allclose(particles.ages, flown, atol=1e-12)


def test_count_settles_at_rate_times_lifetime() -> None:
    particles = Particles([Emitter(**UP | {"rate": 100.0, "lifetime": 0.75})] * 2)
    for _ in range(200):
        particles.step(0.01)
        assert (particles.ages < 0.75).all()
    assert abs(len(particles.ages) - 150) <= 2


def test_jet_fills_its_cone_evenly() -> None:
    emitter = Emitter(**UP | {"direction": (1.0, 1.0, 0.5), "spread": 0.5})
    way = emitter.directions(40_000, np.random.default_rng(0))
    axis = np.array([1.0, 1.0, 0.5]) / 1.5
    cosine = way @ axis
    assert_allclose(np.linalg.norm(way, axis=1), 1.0)
    assert cosine.min() >= np.cos(0.5) - 1e-12
    # Evenly over the cap: the cosine is uniform, and the mean direction is the axis.
    assert_allclose(cosine.mean(), 0.5 * (1 + np.cos(0.5)), atol=4 * (1 - np.cos(0.5)) / np.sqrt(12 * 40_000))
    assert_allclose(np.cross(way.mean(axis=0), axis), 0.0, atol=0.01)


def test_bounce_height_and_friction() -> None:
    """Dropped on the floor: a bounce has restitution^2 of the height, and costs the slide friction times impulse."""
    particles = Particles([], [Plane(friction=0.4, restitution=0.6)], tuple(GRAVITY), radius=0.0)
    particles.positions, particles.velocities = np.array([[0.0, 1.0, 0.0]]), np.array([[3.0, 0.0, 0.0]])
    particles.ages, particles.lifetimes = np.zeros(1), np.full(1, 99.0)
    height, speed = [], []
    for _ in range(12_000):
        particles.step(1e-4)
        height.append(particles.positions[0, 1])
        speed.append(particles.velocities[0, 0])
    first = int(np.argmin(height[:6000]))
    assert_allclose(max(height[first:]), 0.36, atol=2e-3)
    assert_allclose(speed[first + 1], 3.0 - 0.4 * 1.6 * np.sqrt(2 * 9.81), atol=5e-3)


def test_nothing_stays_inside_a_solid() -> None:
    demo = FountainDemo(FountainOptions(rate=300.0, speed=4.0, spread=30.0))
    for _ in range(60):
        demo.step()
        outside = np.linalg.norm(demo.particles.positions - np.array(BALL.center), axis=1)
        assert (outside > BALL.radius + demo.particles.radius - 1e-9).all()
        assert (demo.particles.positions[:, 1] > demo.particles.radius - 0.01).all()  # the ball may push into the floor


def test_signed_distances_of_sphere_and_plane() -> None:
    """New beside those of the other solids: slope one, zero on the surface, outward normals."""
    points = np.random.default_rng(1).normal(size=(50, 3))
    for solid in (Sphere((0.1, 0.2, 0.3), 0.7), Plane((1.0, 2.0, -2.0), 0.4)):
        distance, normal = solid.signed_distance(points)
        assert_allclose(np.linalg.norm(normal, axis=1), 1.0)
        assert_allclose(solid.signed_distance(points - distance[:, None] * normal)[0], 0.0, atol=1e-12)
        assert_allclose(solid.signed_distance(points + 0.1 * normal)[0], distance + 0.1)
    assert_allclose(Sphere((0.0, 0.0, 0.0), 1.0).signed_distance(np.zeros((1, 3)))[1], [[0.0, 1.0, 0.0]])


def test_hand_moves_a_nozzle() -> None:
    demo = FountainDemo(FountainOptions(rate=400.0, spread=0.0))
    demo.hold(1)
    demo.move(np.array([0.0, 0.05, -0.06]))
    demo.step()
    youngest = demo.particles.positions[demo.particles.ages < 0.01]
    assert_allclose(np.linalg.norm(youngest - demo.positions()[1], axis=1).min(), 0.0, atol=0.05)
    demo.try_change("emitters", 3)
    assert len(demo.positions()) == 3


@pytest.mark.parametrize("change", [{"rate": -1.0}, {"lifetime": 0.0}, {"spread": 4.0}, {"direction": (0.0, 0.0, 0.0)}])
def test_bad_emitters_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="an emitter needs"):
        Emitter(**UP | change)


def test_bad_particles_are_refused() -> None:
    with pytest.raises(ValueError, match="radius"):
        Particles([], [], radius=-1.0)
