"""Moments of meshes against closed forms, and samples that have them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import Scene, geometry
from pbd_gym.geometry.grids import grid
from pbd_gym.geometry.moments import Moments, narrowest_width, shell_moments, solid_moments
from pbd_gym.geometry.samples import depths, surface_samples
from pbd_gym.geometry.trimeshes import TriMesh


def surface_of(mesh: geometry.TetMesh) -> TriMesh:
    """Return the surface of a solid, whose vertices may include unused ones."""
    used, flat = np.unique(mesh.triangles, return_inverse=True)
    return TriMesh(mesh.positions[used], flat.reshape(-1, 3).astype(np.int32))


def cylinder(radius: float, height: float, segments: int) -> TriMesh:
    """Return a cylinder that stands on its foot."""
    return geometry.revolution([(0, 0), (radius, 0), (radius, height), (0, height)], segments)


def test_box() -> None:
    """Guards volume, centre and inertia of a solid, wherever it is and however it is turned."""
    sides = np.array([0.3, 0.2, 0.1])
    found = solid_moments(surface_of(geometry.box((2, 1, 3), (0.3, 0.2, 0.1))))
    assert_allclose(found.volume, sides.prod(), rtol=1e-12)
    wanted = sides.prod() / 12.0 * (np.diag((sides**2).sum() - sides**2))
    assert_allclose(found.inertia, wanted, rtol=0, atol=1e-16)
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    turn *= np.linalg.det(turn)
    mesh = surface_of(geometry.box((1, 1, 1), (0.3, 0.2, 0.1)))
    moved = solid_moments(TriMesh(mesh.positions @ turn.T + (1.0, 2.0, 3.0), mesh.triangles))
    assert_allclose(moved.inertia, turn @ wanted @ turn.T, rtol=0, atol=1e-13)
    assert_allclose(moved.center, turn @ mesh.positions.mean(axis=0) + (1.0, 2.0, 3.0), rtol=0, atol=1e-12)


def test_ball_and_cylinder_converge() -> None:
    """Guards curved bodies: finer meshes come to the closed forms with the square of their edges."""
    errors = []
    for fineness in (8, 16):
        ball = solid_moments(surface_of(geometry.ball(0.1, fineness)))
        rod = solid_moments(cylinder(0.1, 0.3, 3 * fineness))
        volume, disc = 4.0 / 3.0 * np.pi * 0.1**3, np.pi * 0.1**2 * 0.3
        wanted = [0.4 * volume * 0.01, disc * 0.005, disc * (0.01 / 4.0 + 0.09 / 12.0)]
        got = [ball.inertia[0, 0], rod.inertia[1, 1], rod.inertia[0, 0]]
        errors.append(1.0 - np.array(got) / wanted)
    assert (errors[1] < 0.03).all()
    assert_allclose(errors[0] / errors[1], 4.0, rtol=0.1)


def test_shell() -> None:
    """Guards shells: a cylinder without foot and lid, all of whose mass is at its radius."""
    segments, radius, height = 200, 0.1, 0.3
    found = shell_moments(geometry.revolution([(radius, 0.0), (radius, height)], segments), 0.002)
    assert_allclose(found.volume, 2.0 * np.pi * radius * height * 0.002, rtol=1e-3)
    assert_allclose(found.inertia[1, 1], found.volume * radius**2, rtol=1e-3)
    assert_allclose(found.center, (0.0, 0.5 * height, 0.0), rtol=0, atol=1e-12)


BODIES = {
    "box": (geometry.box((1, 1, 1), (0.2, 0.1, 0.1)), {"spacing": 0.04, "radius": 0.005, "contacts": False}),
    "ball": (geometry.ball(0.1, 4), {"spacing": 0.04}),
    "cylinder": (cylinder(0.05, 0.2, 24), {"spacing": 0.025, "radius": 0.01}),
    "cup": (geometry.revolution([(0, 0), (0.04, 0), (0.05, 0.1)], 24), {"spacing": 0.012, "thickness": 0.01}),
}


@pytest.mark.parametrize("name", BODIES)
def test_particles_have_the_moments_of_their_mesh(name: str) -> None:
    """Guards the masses of samples: mass, centre of mass and inertia tensor, in a scene where the body is turned."""
    mesh, numbers = BODIES[name]
    turn = np.array([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    scene = Scene()
    scene.add_particles([(0.0, 0.0, 0.0)], 1.0)
    body = scene.add_rigid_body(mesh, 700.0, **numbers, position=(1.0, 2.0, 3.0), rotation=turn)
    mass, x = scene.mass[body.indices], scene.positions[body.indices]
    whole = surface_of(mesh) if isinstance(mesh, geometry.TetMesh) else mesh
    wanted = shell_moments(whole, 0.01) if name == "cup" else solid_moments(whole)
    assert (mass > 0.0).all()
    assert_allclose(mass.sum(), 700.0 * wanted.volume, rtol=1e-12)
    assert_allclose(body.volumes * 700.0, mass, rtol=1e-12)
    center = mass @ x / mass.sum()
    assert_allclose(center, turn @ wanted.center + (1.0, 2.0, 3.0), rtol=0, atol=1e-9)
    second = np.einsum("k,ki,kj->ij", mass, x - center, x - center)
    inertia = Moments(1.0, center, second).inertia
    assert_allclose(inertia, body.inertia, rtol=0, atol=1e-7 * np.linalg.norm(body.inertia))
    assert_allclose(body.inertia, 700.0 * turn @ wanted.inertia @ turn.T, rtol=1e-9, atol=1e-15)
    assert body.inertia_error < 1e-7


def test_samples_touch_the_surface_from_within() -> None:
    """Guards balls: each touches the mesh and none sticks out; those in corners touch three faces."""
    mesh = surface_of(geometry.box((1, 1, 1), (0.2, 0.1, 0.1)))
    found = surface_samples(mesh, 0.04, 0.01)
    assert_allclose(depths(mesh, found), 0.01, rtol=0, atol=1e-12)
    inset = mesh.positions * (1.0 - 0.02 / np.array([0.2, 0.1, 0.1]))
    middle = 0.5 * (mesh.positions.min(axis=0) + mesh.positions.max(axis=0))
    inset = middle + (mesh.positions - middle) * (1.0 - 0.02 / np.array([0.2, 0.1, 0.1]))
    gaps = np.linalg.norm(found[:, None] - inset, axis=2)
    assert_allclose(gaps.min(axis=0), 0.0, rtol=0, atol=1e-12)
    apart = np.linalg.norm(found[:, None] - found, axis=2) + np.eye(len(found))
    assert apart.min() > 0.6 * 0.04


def two_boxes(first: float, second: float, apart: float) -> TriMesh:
    """Return the surface of two cubes with these sides, of which a negative one faces inwards."""
    boxes = [geometry.box((1, 1, 1), (abs(side),) * 3) for side in (first, second)]
    triangles = [box.triangles[:, :: -1 if side < 0.0 else 1] for box, side in zip(boxes, (first, second), strict=True)]
    positions = np.concatenate([boxes[0].positions, boxes[1].positions + apart])
    return TriMesh(positions, np.concatenate([triangles[0], triangles[1] + len(boxes[0].positions)]))


def test_a_part_that_faces_inwards_in_another_is_a_cavity() -> None:
    """Guards what is no mistake: a hollow cube has the mass of what is left."""
    body = Scene().add_rigid_body(two_boxes(0.2, -0.1, 0.0), 1000.0, 0.03)
    assert_allclose(body.mass, 1000.0 * (0.2**3 - 0.1**3), rtol=1e-9)


BAD = {
    "gaps": (geometry.ball(0.1), {"radius": 0.01}, "more than 2.5 radii"),
    "open": (geometry.revolution([(0, 0), (0.04, 0), (0.05, 0.1)]), {}, "closed mesh, or a thickness.* 24 edges"),
    "density": (geometry.ball(0.1), {"density": 0.0}, "density"),
    "spacing": (geometry.ball(0.1), {"spacing": -1.0}, "spacing"),
    "too many": (geometry.ball(0.1), {"spacing": 1e-3}, "more than 4096"),
    "too thin": (geometry.box((1, 1, 1), (0.2, 0.02, 0.2)), {"radius": 0.018}, "too thin near"),
    "nested": (two_boxes(0.2, 0.1, 0.0), {}, "lies in another"),
    "overlapping": (two_boxes(0.2, 0.2, 0.05), {}, "lies in another"),
    "inside out": (two_boxes(0.2, -0.1, 0.4), {}, "is inside out and in no other part"),
    "too few": (geometry.ball(0.1), {"spacing": 0.2, "radius": 0.08}, "2 samples.* too few|1 samples.* too few"),
    "radius of a shell": (geometry.ball(0.1), {"radius": 0.01, "thickness": 0.01}, "half its thickness"),
    "rotation": (geometry.ball(0.1), {"rotation": np.ones((3, 3))}, "keep lengths"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_bodies_are_named(name: str) -> None:
    """Guards checks of what a body is made of: one clear error, and a scene without a trace of it."""
    mesh, numbers, message = BAD[name]
    scene = Scene()
    with pytest.raises(ValueError, match=message):
        scene.add_rigid_body(mesh, **{"density": 500.0, "spacing": 0.04, **numbers})
    assert scene.particle_count == 0 and not scene.rigid_bodies
    with pytest.raises(TypeError, match="mesh"):
        scene.add_rigid_body(np.zeros((3, 3)), 500.0, 0.1)  # type: ignore[arg-type]


def test_bad_joints_are_named() -> None:
    """Guards checks of joints."""
    scene, other = Scene(), Scene()
    mesh = geometry.box((1, 1, 1), (0.2, 0.1, 0.1))
    body, stranger = (s.add_rigid_body(mesh, 500.0, 0.04) for s in (scene, other))
    loose = scene.add_particles([(1.0, 0.0, 0.0)], 1.0)
    calls = [
        ((body, body, (0, 0, 0)), {}, "itself"),
        ((body, stranger, (0, 0, 0)), {}, "of this scene"),
        ((body, int(body.indices[0]), (0, 0, 0)), {}, "belongs to a rigid body"),
        ((body, int(loose[0]), (0, 0, 0)), {"axis": (0, 0, 1)}, "no orientation"),
        ((body, None, (0, 0, 0)), {"axis": (0, 0, 0)}, "axis"),
        ((body, 99999, (0, 0, 0)), {}, "second"),
    ]
    for arguments, options, message in calls:
        with pytest.raises(ValueError, match=message):
            scene.add_joint(*arguments, **options)
    assert not scene.joints and not scene.apart


def test_usual_samples_fit() -> None:
    """Without a spacing there are some 150 balls, more where the mesh is thin, and moments are those of the mesh."""
    for mesh, least, most in ((geometry.ball(0.1, 3), 80, 250), (geometry.box((1, 1, 1), (0.2, 0.02, 0.1)), 60, 1000)):
        body = Scene().add_rigid_body(mesh, 500.0)
        assert least < len(body.samples) < most
        assert body.inertia_error < 0.01
    shell = Scene().add_rigid_body(cylinder(0.05, 0.1, 24), 500.0, thickness=0.01)
    assert shell.radius == 0.005
    with pytest.raises(ValueError, match="too thin"):
        Scene().add_rigid_body(geometry.box((1, 1, 1), (1.0, 1e-3, 1.0)), 500.0)


def test_width_of_a_surface() -> None:
    """Guards what thickness a sheet may have: its width counts, however it is turned, and that of each piece."""
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    towel, strip = grid(5, 5, 0.4, 0.4), grid(3, 20, 1.0, 0.05)
    assert_allclose(narrowest_width(towel.positions @ turn, towel.triangles), 0.4, rtol=1e-12)
    both = np.concatenate([towel.positions + 1.0, strip.positions @ turn])
    triangles = np.concatenate([towel.triangles, strip.triangles + len(towel.positions)])
    assert_allclose(narrowest_width(both, triangles), 0.05, rtol=1e-12)
    shirt = geometry.tshirt(spacing=0.05, gap=0.002)
    assert 0.4 < narrowest_width(shirt.positions, shirt.triangles) < 0.9
    around = np.arange(40)
    angle, upper = around * (2.0 * np.pi / 40), 40 + around
    circle = 0.1 * np.stack([np.cos(angle), np.sin(angle), np.zeros(40)], axis=1)
    ahead = (around + 1) % 40
    ring = np.concatenate([np.stack([around, ahead, upper], axis=1), np.stack([ahead, 40 + ahead, upper], axis=1)])
    for height, least, most in [(0.01, 0.02, 0.03), (1.0, 0.2, 0.3)]:
        tube = np.concatenate([circle, circle + np.array([0.0, 0.0, height])])
        assert least < narrowest_width(tube, ring) < most
    assert narrowest_width(np.zeros((3, 3)), np.array([[0, 1, 2]])) == 0.0
