"""What every collider shape must keep, by its name: distances, contacts, sweeping, pictures, files, refusals."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import pbd_gym.colliders
from pbd_gym.colliders import SHAPES
from pbd_gym.export import Trajectory
from pbd_gym.rendering import Camera, Renderer
from pbd_gym.rendering.batched import Rasterizer
from pbd_gym.rendering.pictures.scenes import scene_frame
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from tests.colliders.helpers import RADIUS, advance
from tests.colliders.samples import CLOSED, MIDDLE, NAMES, SAMPLES, class_of, name_of


def scene_with(shape: Any, points: Any = ((0.0, 5.0, 0.0),), velocities: Any = None) -> Scene:
    scene = Scene(gravity=(0, 0, 0), contact_radius=RADIUS)
    scene.add_particles(points, 1.0, np.zeros(3) if velocities is None else velocities)
    scene.add_collider(shape)
    return scene


def around(seed: int, count: int = 400, reach: float = 0.45) -> np.ndarray:
    """Points all about the samples [m], shape (count, 3)."""
    return MIDDLE + np.random.default_rng(seed).uniform(-reach, reach, (count, 3))


def test_every_shape_has_a_sample() -> None:
    missing = set(NAMES) - set(SAMPLES)
    assert not missing, f"add a sample of {', '.join(sorted(missing))} to tests/colliders/samples.py"
    assert not set(SAMPLES) - set(NAMES)


@pytest.mark.parametrize("module", SHAPES, ids=name_of)
def test_every_shape_is_exported(module: Any) -> None:
    """Guards what follows from the one list of shapes: the names that users import."""
    shape = class_of(module)
    assert getattr(pbd_gym.colliders, shape.__name__) is shape
    assert shape.__name__ in pbd_gym.colliders.__all__
    assert type(SAMPLES[name_of(module)].shape) is shape


@pytest.mark.parametrize("name", NAMES)
def test_distance_has_slope_one_along_the_normal(name: str) -> None:
    """Guards the reference in NumPy: no two points differ by more than their distance, and normals lead outward."""
    shape, points = SAMPLES[name].shape, around(1)
    near = points + 1e-3 * np.random.default_rng(2).normal(size=points.shape)
    (distance, normal), (other, _) = shape.signed_distance(points), shape.signed_distance(near)
    assert 20 < (distance < 0).sum() < 380
    assert_allclose(np.linalg.norm(normal, axis=1), 1.0, rtol=1e-9)
    assert (np.abs(distance - other) <= np.linalg.norm(points - near, axis=1) + 1e-12).all()
    foot = points - distance[:, None] * normal
    assert_allclose(shape.signed_distance(foot)[0], 0.0, atol=1e-9)
    outside = (distance > 0) & SAMPLES[name].convex  # or something else may be nearer
    assert_allclose(shape.signed_distance((points + 0.1 * normal)[outside])[0], distance[outside] + 0.1, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_contacts_push_to_the_contact_radius(name: str, dtype: str) -> None:
    """Guards the kernel against the reference: what is too near is pushed to the radius, the rest keeps its bits."""
    sample, points = SAMPLES[name], around(3).astype(dtype).astype(np.float64)
    distance, _ = sample.shape.signed_distance(points)
    points = points[distance > -0.02]  # deep inside several sides may be equally near
    distance, _ = sample.shape.signed_distance(points)
    x, _ = advance(scene_with(replace_friction(sample.shape, 0.0), points), 0.01, 1, dtype)
    error = sample.error + 64 * float(np.finfo(dtype).eps)
    touched = distance < RADIUS - error
    assert touched.sum() > 5
    assert_allclose(sample.shape.signed_distance(x[touched])[0], RADIUS, rtol=0, atol=error)
    far = distance > RADIUS + error
    assert far.sum() > 20
    assert_array_equal(x[far], points[far])


def replace_friction(shape: Any, friction: float) -> Any:
    """The same shape with another friction; a mesh keeps its grid when it is moved, not when it is made anew."""
    found = shape.moved(shape.origin, np.eye(3))
    object.__setattr__(found, "friction", friction)
    object.__setattr__(found, "static_friction", friction)
    return found


@pytest.mark.parametrize("module", SHAPES, ids=name_of)
def test_bullets_end_outside(module: Any) -> None:
    """Guards `SWEPT`: particles at 500 m/s that would come out on the other side within one substep do not."""
    name = name_of(module)
    sample, rng = SAMPLES[name], np.random.default_rng(5)
    ways = rng.normal(size=(40, 3))
    ways[:, 1] = -np.abs(ways[:, 1])  # downwards, which is into the plane
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    aims = around(6, 40, 0.1)
    starts, ends = aims - 0.8 * ways, aims + 0.8 * ways
    kept = sample.shape.signed_distance(starts)[0] > 2 * RADIUS
    starts, ends = starts[kept], ends[kept]
    shares = np.linspace(0, 1, 160)[:, None, None]
    path = starts + shares * (ends - starts)
    least = sample.shape.signed_distance(path.reshape(-1, 3))[0].reshape(path.shape[:2]).min(axis=0)
    h = 0.002
    x, _ = advance(scene_with(replace_friction(sample.shape, 1e6), starts, (ends - starts) / h), h, 1)
    assert (sample.shape.signed_distance(x)[0] > RADIUS - 1e-6 - 2 * sample.error).all()
    hits = least < -0.02
    assert hits.sum() > 5
    # They end before the solid, not behind it.
    assert (np.linalg.norm(x - starts, axis=1)[hits] < np.linalg.norm(ends - starts, axis=1)[hits] - 0.1).all()


@pytest.mark.parametrize("name", CLOSED)
def test_mesh_is_the_surface(name: str) -> None:
    """Guards what is drawn and written: closed, facing outward, with its corners on the surface.

    A sphere is drawn as one, and its mesh is that of the exported file.
    """
    shape = SAMPLES[name].shape
    made = Trajectory(scene_with(shape), 25.0)
    made.add(np.array([[0.0, 5.0, 0.0]]))
    part = made.parts()[-1]
    vertices, triangles = part.points[0], part.triangles
    assert_allclose(shape.signed_distance(vertices)[0], 0.0, atol=1e-9)
    edges = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 2)
    assert len(np.unique(edges, axis=0)) == len(edges)
    assert {tuple(e) for e in edges.tolist()} == {tuple(e) for e in edges[:, ::-1].tolist()}
    a, b, c = (vertices - vertices.mean(axis=0))[triangles].swapaxes(0, 1)
    volume = (np.cross(a, b) * c).sum() / 6
    assert volume > 0
    points = around(7, 5_000)
    inside = (shape.signed_distance(points)[0] < 0).mean() * 0.9**3
    assert volume == pytest.approx(inside, rel=0.12)


@pytest.mark.parametrize("name", NAMES)
def test_both_renderers_draw_it(name: str) -> None:
    """Guards pictures for people and for agents: the solid is seen in the same pixels of both."""
    scene, size = scene_with(SAMPLES[name].shape), (96, 96)
    camera = Camera(np.array(MIDDLE), 3.0, 0.4, 0.5)
    model = Model(scene)
    state = Solver(model, substeps=10).state()
    rasterizer = Rasterizer(model, [camera], size, ("rgb", "segmentation"))
    rasterizer.draw(state)
    label = next(i for i, words in enumerate(rasterizer.labels) if words.startswith("collider") or name in words)
    seen = rasterizer.image("segmentation").numpy()[0, :, :, 0] == label
    assert seen.sum() > 200
    renderer = Renderer(size=size)
    with_it = renderer.draw(scene_frame(scene, scene.positions), camera)
    bare = scene_with(SAMPLES[name].shape)
    bare.colliders.clear()
    without = renderer.draw(scene_frame(bare, bare.positions), camera)
    assert with_it is not None and without is not None
    changed = (np.abs(with_it.astype(int) - without) > 8).any(axis=2)
    if name == "plane":  # fades into the sky where it is far away
        assert (changed & seen).sum() > 0.2 * seen.sum()
    else:
        assert (changed != seen).mean() < 0.02


@pytest.mark.parametrize(
    ("surface", "message"),
    [
        ({"friction": -0.1}, "friction"),
        ({"friction": np.inf}, "friction"),
        ({"friction": 0.5, "static_friction": 0.4}, "static_friction"),
        ({"static_friction": np.nan}, "static_friction"),
        ({"restitution": -0.1}, "restitution"),
        ({"restitution": 1.1}, "restitution"),
        ({"restitution": np.nan}, "restitution"),
        ({"surface_velocity": (0.1, 0.2)}, r"surface_velocity must have shape \(3,\)"),
        ({"surface_velocity": 0.1}, "surface_velocity"),
        ({"surface_velocity": (0.1, np.inf, 0.0)}, "surface_velocity"),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_bad_surfaces_are_refused(name: str, surface: Any, message: str) -> None:
    given = {"static_friction": None, **surface}
    if name == "mesh":  # the numbers of its grid are no fields
        given |= {"cell": 0.05, "margin": 0.1}
    with pytest.raises(ValueError, match=message):
        replace(SAMPLES[name].shape, **given)


@pytest.mark.parametrize("name", NAMES)
def test_a_pose_is_a_turn_about_the_origin(name: str) -> None:
    """Guards `moved`: to the same origin without a turn it is the same shape."""
    shape, points = SAMPLES[name].shape, around(8)
    same = shape.moved(shape.origin, np.eye(3))
    assert_allclose(same.signed_distance(points)[0], shape.signed_distance(points)[0], atol=1e-13)
    assert same.half_thickness == pytest.approx(shape.half_thickness)
    assert same.reach == shape.reach
