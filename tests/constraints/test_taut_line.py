"""Lines on which something heavy hangs: light particles between a hook and a weight, or between two weights."""

from __future__ import annotations

import numpy as np
import pytest

from pbd_gym import Model, Scene, Solver
from pbd_gym.geometry.tetmeshes import ball
from pbd_gym.materials.materials import RopeMaterial

from .helpers import NO_GRAVITY

LENGTH, RADIUS, DENSITY = 0.42, 0.04, 2e4
"""Of the rope and the ball [m], and the mass per volume of the ball, about 5 kg [kg/m^3]."""
HOOK = np.array([0.0, 0.56, 0.0])


def hung(count: int, angle: float, rigid: bool) -> tuple[Scene, np.ndarray]:
    """Return a cord that hangs from a hook, and a ball on it, pulled back by an angle [degrees]."""
    scene = Scene()
    down = np.array([np.sin(np.radians(angle)), -np.cos(np.radians(angle)), 0.0])
    points = HOOK + np.linspace(0.0, LENGTH, count)[:, None] * down
    rope = scene.add_rope(points, RopeMaterial(stretch_compliance=0.0), lines=True)
    scene.pin(rope[:1])
    if rigid:
        body = scene.add_rigid_body(ball(RADIUS, 3), DENSITY, 0.02, position=HOOK + (LENGTH + RADIUS) * down)
        scene.add_joint(body, int(rope[-1]), points[-1])
    else:
        scene.mass[rope[-1]] = 5.0
        scene.inv_mass[rope[-1]] = 0.2
    return scene, rope


@pytest.mark.parametrize(("dtype", "rigid"), [("float32", True), ("float64", False)])
@pytest.mark.parametrize(("count", "angle"), [(18, 0.0), (18, 75.0), (40, 0.0), (40, 75.0)])
def test_a_heavy_ball_on_a_cord_keeps_its_length(count: int, angle: float, dtype: str, rigid: bool) -> None:
    """Guards the rounds for taut lines: h^2 w f / length is 13 or 66, and from 1/3 a line solved for once explodes.

    The cord stays within 1 %, and the energy does not grow: in three swings, nor at rest.
    """
    scene, rope = hung(count, angle, rigid)
    solver = Solver(Model(scene, dtype=dtype), substeps=4)
    state, control = solver.state(), solver.control()
    free, highest = scene.inv_mass > 0.0, np.inf
    for k in range(200):
        solver.step(state, control, 0.01)
        positions, velocities = state.get_positions()[0], state.get_velocities()[0]
        length = np.linalg.norm(np.diff(positions[rope], axis=0), axis=1).sum()
        assert abs(length / LENGTH - 1.0) < 0.01
        energy = scene.mass * (0.5 * (velocities**2).sum(axis=1) + 9.81 * (positions[:, 1] - HOOK[1]))
        if k == 0:
            highest = energy[free].sum()
        assert energy[free].sum() < highest + 1e-3 * abs(highest)
    swing = np.degrees(np.arctan2(positions[rope[-1], 0], HOOK[1] - positions[rope[-1], 1]))
    assert abs(swing) < max(angle, 0.1)


def test_two_weights_on_a_thread_keep_their_momentum() -> None:
    """Guards that forces of taut lines act between particles, whatever the rounds have done with them."""
    scene = Scene(gravity=NO_GRAVITY)
    line = scene.add_particles(np.linspace(-0.2, 0.2, 20)[:, None] * [1.0, 0.0, 0.0], 1e-3)
    scene.mass[line[[0, -1]]] = 3.0, 5.0
    scene.inv_mass[line[[0, -1]]] = 1.0 / 3.0, 0.2
    scene.add_constraints("line", [line])
    solver = Solver(Model(scene, dtype="float64"), substeps=4)
    state, control = solver.state(), solver.control()
    velocities = np.random.default_rng(0).normal(0.0, 0.1, (20, 3)) + 10.0 * scene.positions[:, [1, 0, 2]]
    state.set_velocities(velocities)
    for _ in range(100):
        solver.step(state, control, 0.01)
    after = state.get_velocities()[0]
    np.testing.assert_allclose(scene.mass @ after, scene.mass @ velocities, rtol=0, atol=1e-11)
    apart = state.get_positions()[0, line[-1]] - state.get_positions()[0, line[0]]
    assert abs(np.linalg.norm(apart) / 0.4 - 1.0) < 0.01
    assert np.linalg.norm(after[line[-1]] - after[line[0]]) > 2.0  # of 4 m/s: they still turn about each other


def test_slack_lines_beside_taut_ones_keep_their_bits() -> None:
    """Guards lanes: a line that is slack moves as it does among others of its kind."""
    scene = Scene()
    rope = scene.add_rope(np.linspace(0.0, LENGTH, 18)[:, None] * [0.8, -0.6, 0.0], lines=True)
    scene.pin(rope[:1])
    found = []
    for pull in (9.81, 500.0):  # the tension at the hook is h^2 w f / length = 0.04 or 2.3
        solver = Solver(Model(scene, 4, lanes=4), substeps=4)
        state, control = solver.state(), solver.control()
        state.set_parameters(gravity=[(0.0, -g, 0.0) for g in (9.81, pull, 9.81, pull)])
        for _ in range(30):
            solver.step(state, control, 0.01)
        found.append(state.get_positions())
    np.testing.assert_array_equal(found[0][[0, 2]], found[1][[0, 2]])
    assert np.abs(found[0][1] - found[1][1]).max() > 0.01
