"""Tests of what is said when ropes, cloth and bodies go through colliders that are thin."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

from pbd_gym import Box, Capsule, Cylinder, Fabric, Model, Plane, Scene, SoftMaterial, Solver, Sphere
from pbd_gym.colliders.solid import Solid, matrix_of
from pbd_gym.geometry import ball
from pbd_gym.sim.watches.meetings import segments_met, triangles_met

STEP = 1.0 / 60.0
RADIUS, CONTACT = 0.004, 0.003
ROD = Cylinder((0.0, 0.0, -0.3), (0.0, 0.0, 0.3), RADIUS)
UPRIGHT = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]
"""Turns a cloth so that its plane is that of y and z."""


def flight(scene: Scene, speed: float, seconds: float, substeps: int | None = None) -> tuple[np.ndarray, int, str]:
    """Let everything fly along x, and return where it is then, the number of substeps and what was said of passages."""
    solver = Solver(Model(scene), substeps)
    state, control = solver.state(), solver.control()
    for body in scene.rigid_bodies:
        state.set_rigid_velocity(body, linear=(speed, 0.0, 0.0))
    if not scene.rigid_bodies:
        state.set_velocities(np.broadcast_to(np.array([speed, 0.0, 0.0]), state.get_positions().shape))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(round(seconds / STEP)):
            solver.step(state, control, STEP)
    said = [str(one.message) for one in caught if "gone through" in str(one.message)]
    assert len(said) <= 1
    return state.get_positions()[0], solver.substeps, said[0] if said else ""


def scene_of(kind: str, collider: Solid, count: int = 21) -> Scene:
    """Return a scene without gravity in which a body of 0.2 m is 3 cm before a collider, not quite centred."""
    scene = Scene(gravity=(0.0, 0.0, 0.0), contact_radius=CONTACT)
    scene.add_collider(collider)
    if kind == "rope":
        scene.add_rope(np.linspace((-0.03, -0.097, 0.0), (-0.03, 0.103, 0.0), count))
    elif kind == "cloth":
        size, place = (0.2, 0.2), (-0.03, 0.103, 0.004)
        scene.add_cloth(count, count, size, Fabric.preset("cotton"), position=place, rotation=UPRIGHT)
    elif kind == "soft":
        scene.add_soft_body(ball(0.05, count), SoftMaterial(), position=(-0.06, 0.003, 0.002))
    else:
        scene.add_rigid_body(ball(0.03, count), 1000.0, position=(-0.04, 0.003, 0.0))
    return scene


def test_meetings_of_segments_and_triangles() -> None:
    """Guards the law: two segments, and a point and a triangle, meet inside and at their borders, not beside them."""
    u, v = np.array([2.0, 0.0, 0.0]), np.array([0.0, 2.0, 0.0])
    for place, met in (((0.5, 0.5), 1), ((0.0, 0.0), 1), ((1.0, 1.0), 1), ((1.2, 0.5), 0), ((0.5, -0.2), 0)):
        start, end = ([u[None], v[None], 2.0 * np.array([[place[0], -place[1], z]])] for z in (-0.5, 0.1))
        assert segments_met(start, end).tolist() == [met]
        assert segments_met(start, start).tolist() == [0]
    for place, met in (((0.2, 0.3), 1), ((0.5, 0.5), 1), ((0.0, 0.7), 1), ((0.6, 0.6), 0), ((-0.1, 0.3), 0)):
        start, end = ([u[None], v[None], 2.0 * np.array([[*place, z]])] for z in (-0.5, 0.1))
        assert triangles_met(start, end).tolist() == [met]


@pytest.mark.parametrize(
    "shape",
    [
        Box((0.1, 0.2, 0.3), (0.4, 0.02, 0.05), matrix_of((0.1, 0.5, -0.2, 0.8)).tolist()),
        Box((0.0, 0.0, 0.0), (0.1, 0.1, 0.1)),
        Capsule((0.0, 0.1, 0.2), (0.3, -0.1, 0.5), 0.01),
        Cylinder((0.0, 0.1, 0.2), (0.3, -0.1, 0.5), 0.01),
        Cylinder((0.0, 0.0, 0.0), (0.0, 0.01, 0.0), 0.2),
        Sphere((1.0, 2.0, 3.0), 0.1),
    ],
)
def test_spines_are_deep_inside(shape: Any) -> None:
    """Guards spines: every point of one is as deep as the shape is thick, also where the shape has moved."""
    for placed in (shape, shape.moved((0.3, 0.1, -0.2), matrix_of((0.3, -0.4, 0.1, 0.6)))):
        points = np.linspace(*placed.spine, 9)
        depth = -placed.signed_distance(points)[0]
        np.testing.assert_allclose(depth, shape.half_thickness, rtol=1e-6)
    assert Plane().spine is None


def test_a_fast_rope_through_a_rod_is_said() -> None:
    """Guards silence: a rope at 30 m/s went through a rod of 8 mm. With the substeps named it does not."""
    scene, substeps = scene_of("rope", ROD), 20
    for passes in (True, False):
        x, _, said = flight(scene, 30.0, 0.05, substeps)
        assert (x[:, 0].mean() > 0.5) == passes
        assert bool(said) == passes
        if passes:
            assert "the body of particles 0 to 20 has gone through collider 0 in environment 0: at 30 m/s" in said
            substeps = int(re.findall("substeps=([0-9]+)", said)[0])
    assert substeps < 250


@pytest.mark.parametrize(
    "collider", [ROD, Capsule((0.0, 0.0, 0.0), (0.3, 0.0, 0.0), RADIUS), Sphere((0.0, 0.0, 0.0), RADIUS)]
)
def test_coarse_cloth_is_said_to_have_gaps(collider: Solid) -> None:
    """Guards silence: rods, their ends, and balls of 8 mm went through cloth with 18 mm between particles at 3 m/s."""
    for count, passes in ((12, True), (31, False)):
        x, _, said = flight(scene_of("cloth", collider, count), 3.0, 0.05)
        assert (x[:, 0].min() > 2.0 * RADIUS) == passes
        assert bool(said) == passes
        if passes:
            assert "8 mm fit between particles" in said
            assert "10.5 mm leave no gap" in said


@pytest.mark.parametrize(("kind", "substeps"), [("soft", None), ("rigid", 20)])
def test_bodies_through_a_rod_are_said(kind: str, substeps: int | None) -> None:
    """Guards silence: a soft ball and a rigid one went through a rod of 8 mm at 30 m/s."""
    x, _, said = flight(scene_of(kind, ROD, 3), 30.0, 0.05, substeps)
    assert x[:, 0].min() > 0.1
    assert said


def test_a_rod_that_moves_through_cloth_is_said() -> None:
    """Guards moving colliders: a rod swept through cloth at rest, and not one that a pose puts behind it."""
    scene = scene_of("cloth", Plane(offset=-1.0), 12)
    rod = scene.add_collider(Capsule((-0.06, 0.0, -0.3), (-0.06, 0.0, 0.3), RADIUS), moving=True)
    solver = Solver(Model(scene, num_envs=2))
    for moved in (False, True):
        state, control = solver.state(), solver.control()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if moved:
                control.move_collider(rod, (0.06, 0.0, 0.0))
            else:
                state.set_pose(rod, (0.0, 0.0, 0.0))
            for _ in range(2):
                solver.step(state, control, STEP)
        assert any("has gone through collider 1" in str(one.message) for one in caught) == moved


def test_what_wraps_a_rod_or_leaves_it_has_not_gone_through() -> None:
    """Guards against cries of wolf: a rope whose ends swing round a rod at 10 m/s, and cloth that slides off one."""
    scene = Scene(gravity=(0.0, 0.0, 0.0), contact_radius=CONTACT)
    scene.add_collider(ROD)
    scene.add_rope(np.linspace((-0.03, -0.1, 0.0), (-0.03, 0.1, 0.0), 21))
    x, _, said = flight(scene, 10.0, 0.08, 100)
    assert abs(x[10, 0]) < 0.01
    assert not said
    scene = Scene(contact_radius=CONTACT)
    scene.add_collider(Cylinder((0.0, 0.0, -0.02), (0.0, 0.0, 0.3), 0.01, friction=0.0))
    scene.add_cloth(20, 20, (0.2, 0.2), Fabric.preset("cotton"), position=(-0.15, 0.02, -0.1))
    x, _, said = flight(scene, 0.0, 0.6)
    assert x[:, 1].max() < -0.1
    assert not said
