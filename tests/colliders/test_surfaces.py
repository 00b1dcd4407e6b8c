"""Static and kinetic friction, and restitution."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.colliders import Box, Plane, Sphere
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from tests.colliders.helpers import RADIUS, advance

GRAVITY = 9.81
ANGLE = float(np.radians(30.0))
NORMAL = np.array([np.sin(ANGLE), np.cos(ANGLE), 0.0])
DOWNHILL = np.array([np.cos(ANGLE), -np.sin(ANGLE), 0.0])
EXACT = json.loads((Path(__file__).parents[1] / "data/analytic.json").read_text())["A10_contact"]


def slide(speed: float, **surface: Any) -> tuple[float, float]:
    """Return how far a particle comes down a slope of 30 degrees in one second, and how fast it then is."""
    scene = Scene(contact_radius=RADIUS)
    scene.add_particles([NORMAL * RADIUS], 0.3, speed * DOWNHILL)
    scene.add_collider(Plane(tuple(NORMAL), **surface))
    x, v = advance(scene, 1.0, 500)
    return float((x[0] - NORMAL * RADIUS) @ DOWNHILL), float(v[0] @ DOWNHILL)


@pytest.mark.parametrize("friction", EXACT["mu"])
def test_acceleration_on_a_slope_is_that_of_the_file(friction: float) -> None:
    """Guards kinetic friction against the closed form a = g (sin - mu cos)."""
    assert EXACT["theta_deg"] == 30.0
    _, speed = slide(0.0, friction=friction)
    assert_allclose(speed, EXACT["slide_acc"][f"{friction:g}"], rtol=0, atol=1e-9)


def test_static_friction_holds_what_rests_and_not_what_slides() -> None:
    """Guards both coefficients: mu_s > tan(30) > mu_k holds at rest, and lets go on what has started."""
    surface = {"friction": 0.5, "static_friction": 0.6}
    assert EXACT["stick_if_mu_ge"] < 0.6
    travelled, _ = slide(0.0, **surface)
    assert abs(travelled) < 1e-11
    _, speed = slide(0.3, **surface)
    assert_allclose(speed - 0.3, EXACT["slide_acc"]["0.5"], rtol=0, atol=1e-9)
    # One that slides up the slope comes to rest there and stays.
    stop = 0.3**2 / (2 * GRAVITY * (np.sin(ANGLE) + 0.5 * np.cos(ANGLE)))
    travelled, speed = slide(-0.3, **surface)
    assert abs(speed) < 1e-9
    assert_allclose(-travelled, stop, rtol=0, atol=0.3 * 0.002)


def bounces(shape: Any, restitution: float, h: float, time: float, dtype: str = "float64") -> tuple[Any, Any]:
    """Drop a particle by 1 m; return heights over its place of rest at the end of each substep, and speeds."""
    scene = Scene(contact_radius=RADIUS)
    scene.add_particles([[0.0, 1.0 + RADIUS, 0.0]], 0.3)
    scene.add_collider(shape(restitution))
    solver = Solver(Model(scene, dtype=dtype), substeps=1)  # type: ignore[arg-type]
    state, control = solver.state(), solver.control()
    heights, speeds = [], []
    for _ in range(round(time / h)):
        solver.step(state, control, h)
        heights.append(state.get_positions()[0, 0, 1] - RADIUS)
        speeds.append(state.get_velocities()[0, 0, 1])
    return np.array(heights), np.array(speeds)


SHAPES = {
    "plane": lambda e: Plane(restitution=e),
    "box": lambda e: Box((0.2, -0.1, 0.3), (0.5, 0.1, 0.6), restitution=e),
    "sphere": lambda e: Sphere((0.0, -0.5, 0.0), 0.5, restitution=e),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("h", [0.002, 0.0005])
def test_bounce_heights_are_those_of_the_file(name: str, h: float) -> None:
    """Guards restitution: heights e^(2 n) h0 of five bounces in a row.

    The speed at impact is taken at the start of the substep, up to 2 g h short of v (a substep of fall, and one of
    where in it the impact is), and the way up starts at the surface, with v h / 2 of it lost in symplectic Euler. So a
    bounce to v^2 / (2 g) loses up to (2 + 1/2) v h, and the next ones lose their share e^2 of what those before lost.
    """
    heights, _ = bounces(SHAPES[name], EXACT["e"], h, EXACT["total_time"])
    tops = heights[1:-1][(heights[1:-1] > heights[:-2]) & (heights[1:-1] >= heights[2:])]
    loss = 0.0
    for n, exact in enumerate(EXACT["bounce_heights"][1:]):
        loss = EXACT["e"] ** 2 * loss + 2.5 * np.sqrt(2 * GRAVITY * exact) * h
        assert exact - loss - 5 * GRAVITY * h**2 < tops[n] <= exact + 1e-12, f"bounce {n + 1}"
    first = np.argmax(heights < 1e-9)
    assert_allclose((first + 1) * h, EXACT["first_impact_t"], rtol=0, atol=2 * h)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("restitution", [0.0, 0.4, 0.9, 1.0])
def test_energy_does_not_grow_and_rest_stays(restitution: float, dtype: str) -> None:
    """Guards against bounces that feed: not one substep gains energy; and what has come to rest does not tremble."""
    h, eps = 0.002, float(np.finfo(dtype).eps)
    heights, speeds = bounces(SHAPES["box"], restitution, h, 4.0, dtype)
    # Of symplectic Euler, v^2/2 + g y - g h v/2 is what is kept in free fall.
    energy = speeds**2 / 2 + GRAVITY * heights - GRAVITY * h * speeds / 2
    assert (np.diff(energy) < 1e-12 + 40 * eps * 10 / h).all()
    if restitution <= 0.4:
        assert_allclose(speeds[-200:], 0.0, atol=16 * eps / h)
        assert_allclose(heights[-200:], 0.0, atol=4 * eps)
    if restitution == 1.0:
        assert heights[-500:].max() > 0.9


def test_oblique_bounce_keeps_the_slip_without_friction() -> None:
    """Guards that only the normal speed is turned round, on a slanted plane."""
    scene = Scene(gravity=(0, 0, 0), contact_radius=RADIUS)
    scene.add_particles([0.3 * NORMAL], 0.3, [3.0 * DOWNHILL - 2.0 * NORMAL + [0, 0, 1.0]])
    scene.add_collider(Plane(tuple(NORMAL), friction=0.0, restitution=0.6))
    _, v = advance(scene, 0.5, 100)
    assert_allclose(v[0], 3.0 * DOWNHILL + 1.2 * NORMAL + [0, 0, 1.0], rtol=0, atol=1e-11)


def test_corner_turns_both_speeds_round() -> None:
    """Guards several contacts at once."""
    scene = Scene(gravity=(0, 0, 0), contact_radius=RADIUS)
    scene.add_particles([[0.5, 0.5, 0.0]], 0.3, [[-2.0, -2.0, 0.3]])
    scene.add_collider(Plane((1, 0, 0), friction=0.0, restitution=0.5))
    scene.add_collider(Plane((0, 1, 0), friction=0.0, restitution=0.8))
    _, v = advance(scene, 0.5, 100)
    assert_allclose(v[0], [1.0, 1.6, 0.3], rtol=0, atol=1e-11)


def test_a_moving_wall_bats_a_particle() -> None:
    """Guards speeds relative to the wall: (1 + e) w + e u after a wall at speed w meets a particle at speed u."""
    scene = Scene(gravity=(0, 0, 0), contact_radius=RADIUS)
    scene.add_particles([[0.3, 0.0, 0.0]], 0.3, [[-1.0, 0.0, 0.0]])
    number = scene.add_collider(Box((0, 0, 0), (0.1, 1.0, 1.0), restitution=0.5), moving=True)
    solver = Solver(Model(scene, dtype="float64"), substeps=100)
    state, control = solver.state(), solver.control()
    control.move_collider(number, [2.0 * 0.2, 0, 0])
    solver.step(state, control, 0.2)
    assert_allclose(state.get_velocities()[0, 0], [1.5 * 2.0 + 0.5 * 1.0, 0, 0], rtol=0, atol=1e-10)


def test_restitution_of_one_collider_is_not_that_of_another() -> None:
    """Guards the row that is read: of two particles only the one on the lively floor bounces."""
    scene = Scene(contact_radius=RADIUS)
    scene.add_particles([[0.0, 0.5, 0.0], [3.0, 0.5, 0.0]], 0.3)
    scene.add_collider(Box((0, -0.1, 0), (1.0, 0.1, 1.0)))
    scene.add_collider(Box((3, -0.1, 0), (1.0, 0.1, 1.0), restitution=0.8))
    x, v = advance(scene, 0.45, 225)
    assert abs(v[0, 1]) < 1e-12 and x[1, 1] > 0.1
