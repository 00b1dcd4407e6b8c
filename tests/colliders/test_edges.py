"""Ropes round edges and rods slide and hold as belts do: Euler and Eytelwein's law, from both sides."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from pbd_gym import Box, Capsule, Model, RopeMaterial, Scene, Solver

MARGINS = (0.9, 1.1)
"""Pulls, over those that friction just holds."""


def slid_off_a_table(particles: int, substeps: int) -> np.ndarray:
    """Return how far the end on the table of a rope goes in 0.75 s [m], for both margins, without friction last.

    Half of 0.4 m hangs over the edge. Coefficients of friction are such that the rope just holds at a margin of 1: then
    ``1 = mu exp(mu pi / 2)``.
    """
    radius, length = 0.002, 0.4
    scene = Scene(contact_radius=radius)
    scene.add_collider(Box((-1.0, -0.05, 0.0), (1.0, 0.05, 1.0), friction=1.0))
    ways = np.linspace(-length / 2, length / 2, particles)
    path = [(way, radius, 0.0) if way <= 0.0 else (radius, -way, 0.0) for way in ways]
    rope = scene.add_rope(path, RopeMaterial(0.04, 1e-7, None))
    solver = Solver(Model(scene, num_envs=3, device="cpu", lanes=1), substeps=substeps)
    state, control = solver.state(), solver.control()
    friction = [brentq(lambda mu, m=m: mu * np.exp(mu * np.pi / 2) - 1 / m, 0.0, 2.0) for m in MARGINS]
    state.set_parameters(friction=[*friction, 0.0])
    for _ in range(45):
        solver.step(state, control, 1 / 60)
    return np.linalg.norm(state.get_positions()[:, rope[0]] - path[0], axis=1)


@pytest.mark.parametrize(("particles", "substeps"), [(41, 20), (81, 40), (161, 20)])
def test_a_rope_slides_over_the_edge_of_a_table(particles: int, substeps: int) -> None:
    """Guards chords through an edge: they pulled straight into the faces and stuck, the more, the more particles."""
    held, slid, free = slid_off_a_table(particles, substeps)
    assert held < 0.002
    assert slid > 0.02
    assert free > 0.2


@pytest.mark.parametrize(("turns", "h"), [(0.5, 1 / 1200), (1.5, 1 / 1200), (2.0, 1 / 2400)])
def test_a_capstan_holds_and_slips(turns: float, h: float) -> None:
    """Guards friction in the system of a line: after it, what had wound itself round crept whatever pulled."""
    friction, radius, reach, pitch, arm, spacing = 0.3, 0.05, 0.055, 0.012, 0.1, 0.01
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_collider(Capsule((0.0, 0.0, -1.0), (0.0, 0.0, 1.0), radius, friction=friction))
    angle = 2 * np.pi * turns
    arc = np.hypot(reach * angle, pitch * turns)
    ways = np.linspace(-arm, arc + arm, round((arc + 2 * arm) / spacing) + 1)
    on = np.clip(ways, 0.0, arc) / arc * angle
    spread = np.stack([reach * np.cos(on), reach * np.sin(on), pitch * on / (2 * np.pi)], axis=1)
    along = np.stack([-np.sin(on) * reach, np.cos(on) * reach, np.full_like(on, pitch / (2 * np.pi))], axis=1)
    along *= angle / arc
    rope = scene.add_rope(spread + along * (ways - np.clip(ways, 0.0, arc))[:, None], RopeMaterial(1.0, 0.0, None))
    scene.constraints["line"].values["rest_length"][0][:-1] = ways[1] - ways[0]  # along the rod, not of chords
    cases = [(pull, margin) for pull in (1.0, 5.0, 30.0) for margin in MARGINS]
    solver = Solver(
        Model(scene, num_envs=len(cases), dtype="float64", device="cpu", lanes=1), substeps=round(1 / 60 / h)
    )
    state, control = solver.state(), solver.control()
    forces = np.zeros((len(cases), len(scene.positions), 3))
    for env, (pull, margin) in enumerate(cases):
        forces[env, rope[-1]] = pull * along[-1]
        forces[env, rope[0]] = -pull / (margin * np.exp(friction * angle)) * along[0]
    control.set_forces(forces)
    for _ in range(40):
        solver.step(state, control, 1 / 60)
    slid = (state.get_positions()[:, rope[-1]] - scene.positions[rope[-1]]) @ along[-1]
    held, slipped = slid[0::2], slid[1::2]
    assert np.abs(held).max() < 1e-4
    assert (slipped > 5e-4).all()
    assert slipped[2] > 0.02
