"""Ropes round edges and rods slide and hold as belts do: Euler and Eytelwein's law, from both sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from pbd_gym import Box, Capsule, Cylinder, Fabric, Model, RopeMaterial, Scene, Solver, Sphere

MARGINS = (0.9, 1.1)
"""Pulls, over those that friction just holds."""
FRICTION = 0.3
LYING = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]


def slid_off_a_table(particles: int, substeps: int | None, lines: bool) -> np.ndarray:
    """Return how far the end on the table of a rope goes in 0.75 s [m], for both margins, without friction last.

    Half of 0.4 m hangs over the edge. Coefficients of friction are such that the rope just holds at a margin of 1: then
    ``1 = mu exp(mu pi / 2)``.
    """
    radius, length = 0.002, 0.4
    scene = Scene(contact_radius=radius)
    scene.add_collider(Box((-1.0, -0.05, 0.0), (1.0, 0.05, 1.0), friction=1.0))
    ways = np.linspace(-length / 2, length / 2, particles)
    path = [(way, radius, 0.0) if way <= 0.0 else (radius, -way, 0.0) for way in ways]
    rope = scene.add_rope(path, RopeMaterial(0.04, 1e-7, None), lines=lines)
    solver = Solver(Model(scene, num_envs=3, device="cpu", lanes=1), substeps=substeps, quiet=True)
    state, control = solver.state(), solver.control()
    friction = [brentq(lambda mu, m=m: mu * np.exp(mu * np.pi / 2) - 1 / m, 0.0, 2.0) for m in MARGINS]
    state.set_parameters(friction=[*friction, 0.0])
    for _ in range(45):
        solver.step(state, control, 1 / 60)
    return np.linalg.norm(state.get_positions()[:, rope[0]] - path[0], axis=1)


@pytest.mark.parametrize(
    ("particles", "substeps", "lines"), [(41, 20, True), (81, 40, True), (161, 20, True), (21, None, False)]
)
def test_a_rope_slides_over_the_edge_of_a_table(particles: int, substeps: int | None, lines: bool) -> None:
    """Guards chords through an edge: they pulled straight into the faces and stuck, the more, the more particles.

    Without lines a rope stuck where it was coarse.
    """
    held, slid, free = slid_off_a_table(particles, substeps, lines)
    assert held < 0.002
    assert slid > 0.02
    assert free > 0.2


class Wound(NamedTuple):
    """A rope that begins and ends straight, and goes round something in between, by the length along it."""

    places: np.ndarray
    along: np.ndarray
    """Unit vectors along it, shape (n, 3)."""
    spacing: float
    turn: float
    """Angle by which it bends [rad]."""


def about_a_rod(turns: float, reach: float, spacing: float, arm: float = 0.1, pitch: float = 0.012) -> Wound:
    """Return a helix about the z axis with straight ends."""
    angle = 2 * np.pi * turns
    arc = np.hypot(reach * angle, pitch * turns)
    ways = np.linspace(-arm, arc + arm, round((arc + 2 * arm) / spacing) + 1)
    on = np.clip(ways, 0.0, arc) / arc * angle
    spread = np.stack([reach * np.cos(on), reach * np.sin(on), pitch * on / (2 * np.pi)], axis=1)
    along = np.stack([-np.sin(on) * reach, np.cos(on) * reach, np.full_like(on, pitch / (2 * np.pi))], axis=1)
    along *= angle / arc
    return Wound(spread + along * (ways - np.clip(ways, 0.0, arc))[:, None], along, ways[1] - ways[0], angle)


def about_a_beam(corners: int, half: float, radius: float, spacing: float, arm: float = 0.1) -> Wound:
    """Return a line about some corners of a square beam along z, its edges as round as a radius."""
    arc, ahead, places, ways_there = np.pi / 2 * radius, np.array([0.0, 1.0]), [], []
    length = corners * arc + (corners - 1) * 2 * half
    ways = np.linspace(-arm, length + arm, round((length + 2 * arm) / spacing) + 1)
    for way in ways:
        corner = int(np.clip(way // (arc + 2 * half), 0, corners - 1))
        since = way - corner * (arc + 2 * half)
        turns = np.pi / 2 * corner + np.clip(since, 0.0, arc) / radius
        turned = [np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]]) for t in (np.pi / 2 * corner, turns)]
        ways_there.append(turned[1] @ ahead)
        places.append(
            turned[0] @ [half, half] + turned[1] @ [radius, 0.0] + (since - np.clip(since, 0.0, arc)) * ways_there[-1]
        )
    flat = np.zeros((len(ways), 1))
    return Wound(np.append(places, flat, 1), np.append(ways_there, flat, 1), ways[1] - ways[0], np.pi / 2 * corners)


def slips(
    wound: list[Wound], colliders: list[Any], pulls: Sequence[float], mass: float, h: float, steps: int
) -> np.ndarray:
    """Return how far the ends that are pulled harder have gone [m], shape (len(wound), len(pulls), 2): both margins.

    Args:
        wound: ropes, each about the collider of the same number.
        colliders: with friction 0.3.
        pulls: at the end of each rope [N].
        mass: of the ropes [kg/m].
        h: substep [s].
        steps: control steps of 1/60 s.
    """
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    ropes = []
    for one, collider in zip(wound, colliders, strict=True):
        scene.add_collider(collider)
        ropes.append(scene.add_rope(one.places, RopeMaterial(mass, 0.0, None)))
        # Along the surface, not of chords.
        scene.constraints["line"].values["rest_length"][-1][:-1] = one.spacing
    cases = [(pull, margin) for pull in pulls for margin in MARGINS]
    model = Model(scene, num_envs=len(cases), dtype="float64", device="cpu", lanes=1)
    solver = Solver(model, substeps=round(1 / 60 / h), quiet=True)
    state, control = solver.state(), solver.control()
    forces = np.zeros((len(cases), len(scene.positions), 3))
    for rope, one in zip(ropes, wound, strict=True):
        for env, (pull, margin) in enumerate(cases):
            forces[env, rope[-1]] = pull * one.along[-1]
            forces[env, rope[0]] = -pull / (margin * np.exp(FRICTION * one.turn)) * one.along[0]
    control.set_forces(forces)
    for _ in range(steps):
        solver.step(state, control, 1 / 60)
    gone = state.get_positions() - scene.positions
    far = [gone[:, rope[-1]] @ one.along[-1] for rope, one in zip(ropes, wound, strict=True)]
    return np.reshape(far, (len(wound), len(pulls), 2))


@pytest.mark.parametrize(("turns", "h"), [(0.5, 1 / 600), (1.5, 1 / 600), (2.0, 1 / 2400)])
def test_a_capstan_holds_and_slips(turns: float, h: float) -> None:
    """Guards friction in the system of a line: after it, what had wound itself round crept whatever pulled.

    30 N at the longer substeps shake a rope to pieces whose pulls do not act where they lead to.
    """
    rod = Capsule((0.0, 0.0, -1.0), (0.0, 0.0, 1.0), 0.05, friction=FRICTION)
    far = slips([about_a_rod(turns, 0.055, 0.01)], [rod], (1.0, 5.0, 30.0), 1.0, h, 30)[0]
    held, slipped = far[:, 0], far[:, 1]
    assert np.abs(held).max() < 1e-4
    assert (slipped > 5e-4).all()
    assert slipped[1] > 0.002


def test_taut_light_ropes_hold_and_slip_about_all_shapes() -> None:
    """Guards lines so taut that their particles would shake (h^2 f / (m l) = 0.3 to 1.1), on shapes that are turned."""
    turn = Rotation.random(random_state=3)
    axes = turn.as_matrix()
    wound = [
        about_a_rod(1.0, 0.055, 0.01),
        about_a_rod(0.25, 0.055, 0.01, pitch=1e-9),
        about_a_beam(2, 0.05, 0.005, 0.01),
    ]
    wound.append(about_a_rod(1.0, 0.008, 0.01))
    wound = [
        one._replace(places=one.places @ axes.T + [0.4 * k, 0.0, 0.0], along=one.along @ axes.T)
        for k, one in enumerate(wound)
    ]
    centers = np.array([[0.4 * k, 0.0, 0.0] for k in range(4)])
    low, high = centers - 0.07 * axes[:, 2], centers + 0.09 * axes[:, 2]
    shapes = [
        Cylinder(tuple(low[0]), tuple(high[0]), 0.05, friction=FRICTION),
        Sphere(tuple(centers[1]), 0.05, friction=FRICTION),
        Box(tuple(centers[2]), (0.05, 0.05, 0.09), rotation=axes, friction=FRICTION),
        Capsule(tuple(low[3]), tuple(high[3]), 0.003, friction=FRICTION),
    ]
    far = slips(wound, shapes, (0.5, 2.0), 0.05, 1 / 1200, 15)
    assert np.abs(far[:, :, 0]).max() < 2e-4
    assert far[:, :, 1].min() > 0.01


def test_a_rope_that_goes_with_a_rod_that_turns() -> None:
    """Guards slip relative to the surface: a belt goes with it up to exp(mu angle), and slips beyond, either way."""
    wound = about_a_rod(0.5, 0.055, 0.01, pitch=1e-9)
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    rod = scene.add_collider(Capsule((0.0, 0.0, -1.0), (0.0, 0.0, 1.0), 0.05, friction=FRICTION), moving=True)
    rope = scene.add_rope(wound.places, RopeMaterial(1.0, 0.0, None))
    scene.constraints["line"].values["rest_length"][0][:-1] = wound.spacing
    grip = np.exp(FRICTION * np.pi)
    pulls = [(1.0, 1.0), (1.0, 0.9 * grip), (1.0, 1.1 * grip), (0.9 * grip, 1.0), (1.1 * grip, 1.0)]  # start, end
    solver = Solver(Model(scene, num_envs=5, dtype="float64", device="cpu", lanes=1), substeps=20)
    state, control = solver.state(), solver.control()
    forces = np.zeros((5, len(scene.positions), 3))
    for env, (first, last) in enumerate(pulls):
        forces[env, rope[0]], forces[env, rope[-1]] = -first * wound.along[0], last * wound.along[-1]
    control.set_forces(forces)
    control.move_collider(rod, rotation=(0.0, 0.0, -1.0 / 60))  # towards the start, at 50 mm/s
    for _ in range(30):
        solver.step(state, control, 1 / 60)
    even, held, lost, pushed, faster = state.get_velocities()[:, rope[-1]] @ wound.along[-1]
    assert even == pytest.approx(-0.05, rel=0.01) and pushed == pytest.approx(-0.05, rel=0.01)
    assert held == pytest.approx(-0.05, rel=0.01)
    assert lost > 0.01 and faster < -0.06


def test_a_rod_feels_what_a_rope_about_it_pulls_by() -> None:
    """Guards tension in wrenches, by the rope's momentum: while the rope sticks, slips, and slips without friction."""
    scene = Scene()
    center = np.array([0.3, 0.0, 0.0])
    scene.add_collider(Capsule((0.3, 0.0, -1.0), (0.3, 0.0, 1.0), 0.05, friction=1.0))
    wound = about_a_rod(0.5, 0.055, 0.01, pitch=1e-9)
    rope = scene.add_rope(wound.places + center, RopeMaterial(0.5, 0.0, None))
    scene.inv_mass[rope[-1]] = 1 / 0.2
    solver = Solver(Model(scene, num_envs=3, dtype="float64", device="cpu", lanes=1), substeps=20, wrenches=True)
    state, control = solver.state(), solver.control()
    state.set_parameters(friction=[0.8, 0.2, 0.0])
    mass = 1 / scene.inv_mass[:, None]
    for _ in range(8):
        before = state.get_velocities()
        solver.step(state, control, 1 / 60)
    lost = mass * ((state.get_velocities() - before) * 60 + [0.0, 9.81, 0.0])
    arms = state.get_positions() - center
    right = np.append(lost.sum(axis=1), np.cross(arms, lost).sum(axis=1), axis=1)
    assert np.abs(np.diff(right[:, 1])).min() > 0.1  # three different forces
    np.testing.assert_allclose(state.get_wrenches()[:, 0], -right, atol=0.01 * np.abs(right[:, 1]).max())


def laid(along: np.ndarray, straight: float, arc: float, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Return where lengths along a strip are that goes round an arc after a straight part: heights and depths [m]."""
    turn = np.clip(along - straight, 0.0, arc) / radius
    beyond = along - straight - np.clip(along - straight, 0.0, arc)
    return radius * np.cos(turn) - beyond * np.sin(turn), radius * np.sin(turn) + beyond * np.cos(turn)


def test_cloth_slides_off_a_table_as_a_rope_does() -> None:
    """Guards threads that go round an edge: chords stuck to it at 1.2 times what friction holds."""
    radius, length = 0.0025, 0.4
    scene = Scene(contact_radius=radius)
    scene.add_collider(Box((0.0, -0.05, -1.0), (1.0, 0.05, 1.0), friction=1.0))
    scene.add_cloth(33, 9, (0.1, length), Fabric.preset("towel"), rotation=LYING)
    along = scene.positions[:, 2] - scene.positions[:, 2].min()
    scene.positions[:, 1], scene.positions[:, 2] = laid(along, length / 2, radius * np.pi / 2, radius)
    solver = Solver(Model(scene, num_envs=2, device="cpu", lanes=1), substeps=20, quiet=True)
    state, control = solver.state(), solver.control()
    friction = [brentq(lambda mu, m=m: mu * np.exp(mu * np.pi / 2) - 1 / m, 0.0, 2.0) for m in (0.8, 1.2)]
    state.set_parameters(friction=friction)
    for _ in range(45):
        solver.step(state, control, 1 / 60)
    far = np.flatnonzero(along < 1e-6)
    held, slid = np.linalg.norm(state.get_positions()[:, far] - scene.positions[far], axis=2).mean(axis=1)
    assert held < 0.004
    assert slid > 0.2


def test_cloth_that_tips_over_an_edge_is_not_thrown() -> None:
    """Guards bends between normals that are nearly parallel: an axis found far from the edge threw towels by 0.2 m."""
    scene = Scene(contact_radius=0.0025)
    scene.add_collider(Box((0.0, -0.05, -1.0), (1.0, 0.05, 1.0), friction=1.0))
    scene.add_cloth(24, 24, (0.4, 0.4), Fabric.preset("towel"), position=(0.0, 0.003, 0.14), rotation=LYING)
    solver = Solver(Model(scene, num_envs=2, device="cpu", lanes=1), substeps=20, quiet=True)
    state, control = solver.state(), solver.control()
    state.set_parameters(friction=[0.0, 0.2])
    energies = []
    for _ in range(60):
        solver.step(state, control, 1 / 60)
        heights, speeds = state.get_positions()[:, :, 1], state.get_velocities()
        energies.append((9.81 * heights + 0.5 * (speeds**2).sum(axis=2)) @ scene.mass)
    assert np.diff(energies, axis=0).max() < 2.0 * 9.81 * scene.mass.sum() * 0.0025  # folds give back some
    assert state.get_positions()[:, :, 1].max() < -0.1


def test_cloth_about_a_rod_holds_and_slips() -> None:
    """Guards threads that go round a rod: as chords they slipped off at 0.8 of what it holds."""
    radius, arm = 0.0525, 0.1
    scene = Scene(gravity=(0.0, 0.0, 0.0), contact_radius=0.0025)
    scene.add_collider(Capsule((-1.0, 0.0, 0.0), (1.0, 0.0, 0.0), 0.05, friction=FRICTION))
    arc = np.pi * radius
    scene.add_cloth(33, 4, (0.1, arc + 2 * arm), Fabric.preset("towel"), rotation=LYING)
    along = scene.positions[:, 2] - scene.positions[:, 2].min()
    scene.positions[:, 2], scene.positions[:, 1] = laid(along, arm, arc, radius)
    solver = Solver(Model(scene, num_envs=2, device="cpu", lanes=1), substeps=20, quiet=True)
    state, control = solver.state(), solver.control()
    forces = np.zeros((2, len(along), 3))
    first, last = np.flatnonzero(along < 1e-6), np.flatnonzero(along > along.max() - 1e-6)
    forces[:, last, 1] = -5.0 / len(last)
    forces[:, first, 1] = -5.0 / (np.array(MARGINS)[:, None] * np.exp(FRICTION * np.pi) * len(first))
    control.set_forces(forces)
    for _ in range(30):
        solver.step(state, control, 1 / 60)
    held, slid = np.linalg.norm(state.get_positions()[:, last] - scene.positions[last], axis=2).mean(axis=1)
    assert held < 0.012  # a hundredth is strain
    assert slid > 1.0
    # A step follows from the state alone, not from what overlapped in the last substep before it.
    saved, found = state.save(), []
    for overlapped in (0.0, 2.0):
        state.load(saved)
        state.support.fill_(overlapped)
        solver.step(state, control, 1 / 60)
        found.append(state.get_positions())
    assert_array_equal(*found)
