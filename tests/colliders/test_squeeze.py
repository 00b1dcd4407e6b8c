"""Friction of particles between two colliders: by Coulomb they go with the rougher one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import Box, Model, Plane, Scene, Solver

RADIUS = 0.0025
SPEED, STEPS, STEP = 0.1, 30, 1 / 30


def share(plate: float, table: float, h: float, press: float, table_is: str = "rests", units: float = 1.0) -> float:
    """Return how much of a plate's way particles go that it presses on a table."""
    scene = Scene(contact_radius=RADIUS * units)
    low = Box((0, -0.05 * units, 0), (0.5 * units, 0.05 * units, 0.5 * units), friction=table)
    if table_is == "rests":
        scene.add_collider(Plane(friction=table))
    elif table_is == "comes first":
        scene.add_collider(low, moving=True)
    scene.add_particles(units * np.array([(0, RADIUS, 0), (0.0, RADIUS, 0.02), (0.02, RADIUS, 0)]), mass=5e-4)
    height = (2 * RADIUS - press + 0.01) * units
    upper = Box((0, height, 0), (0.3 * units, 0.01 * units, 0.3 * units), friction=plate)
    number = scene.add_collider(upper, moving=True)
    if table_is == "comes last":
        scene.add_collider(low, moving=True)
    solver = Solver(Model(scene, device="cpu"), substeps=round(STEP / h))
    state, control = solver.state(), solver.control()
    control.move_collider(number, displacement=(SPEED * STEP, 0, 0))
    before = state.get_positions()[0, :, 0]
    for _ in range(STEPS):
        solver.step(state, control, STEP)
    return float((state.get_positions()[0, :, 0] - before).mean() / (SPEED * STEP * STEPS))


@pytest.mark.parametrize("press", [0.002, 0.0001])
@pytest.mark.parametrize("h", [0.00025, 0.001, 0.004])
@pytest.mark.parametrize(("plate", "table"), [(1.0, 0.3), (0.5, 0.45), (2.0, 0.0), (0.3, 1.0), (0.45, 0.5)])
def test_the_rougher_of_two_solids_takes_a_particle_along(plate: float, table: float, h: float, press: float) -> None:
    """Guards two contacts at once: not the last one wins, but the one with more friction, whatever the substep."""
    assert_allclose(share(plate, table, h, press), float(plate > table), atol=0.02)


@pytest.mark.parametrize("table_is", ["comes first", "comes last"])
@pytest.mark.parametrize(("plate", "table"), [(1.0, 0.3), (0.3, 1.0), (0.0, 0.1)])
def test_the_order_of_colliders_does_not_matter(plate: float, table: float, table_is: str) -> None:
    """Guards two moving colliders, in either order, and in a scene that is ten times as large."""
    for units in (1.0, 10.0):
        assert_allclose(share(plate, table, 0.001, 0.001, table_is, units), float(plate > table), atol=0.02)


def test_smooth_plates_hold_nothing() -> None:
    """Guards the limit of no friction: what slides between two smooth plates goes on as it was."""
    scene = Scene(contact_radius=RADIUS)
    scene.add_collider(Plane(friction=0.0))
    scene.add_particles([(0, RADIUS, 0)], 1e-3, [(0.2, 0.0, 0.0)])
    scene.add_collider(Box((0, 2 * RADIUS + 0.009, 0), (0.3, 0.01, 0.3), friction=0.0), moving=True)
    solver = Solver(Model(scene, device="cpu"), substeps=20)
    state = solver.state()
    solver.step(state, solver.control(), 0.02)
    assert_allclose(state.get_velocities()[0], [[0.2, 0.0, 0.0]], atol=1e-3)
