"""Colliders of triangle meshes: the grid against exact distances, convex and not, and what lies on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.colliders import Box, MeshCollider
from pbd_gym.colliders.solid import matrix_of
from pbd_gym.geometry import tetmeshes
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from tests.colliders.helpers import RADIUS, advance, rotation

EPS32 = float(np.finfo(np.float32).eps)
BOX = Box((0, 0, 0), (0.3, 0.2, 0.15)).mesh()


def surface(mesh: tetmeshes.TetMesh) -> tuple[np.ndarray, np.ndarray]:
    return mesh.positions, mesh.triangles


def bowl(outer: float = 0.3, inner: float = 0.24, count: int = 20, rings: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """A half shell open at the top: closed and not convex."""
    tilt = np.linspace(0, np.pi / 2, rings)
    profile = [(-outer * np.cos(t), outer * np.sin(t)) for t in tilt]
    profile += [(-inner * np.cos(t), inner * np.sin(t)) for t in tilt[::-1]]
    angles = np.arange(count) * 2 * np.pi / count
    points = [[0.0, profile[0][0], 0.0]]
    for height, reach in profile[1:-1]:
        points += [[reach * np.cos(a), height, reach * np.sin(a)] for a in angles]
    points.append([0.0, profile[-1][0], 0.0])
    index = 1 + np.arange((len(profile) - 2) * count).reshape(-1, count)
    after = np.roll(index, -1, axis=1)
    last = len(points) - 1
    parts = [
        np.stack([np.zeros(count, int), index[0], after[0]], 1),
        np.stack([index[-1], np.full(count, last), after[-1]], 1),
        np.stack([index[:-1], index[1:], after[1:]], -1).reshape(-1, 3),
        np.stack([index[:-1], after[1:], after[:-1]], -1).reshape(-1, 3),
    ]
    return np.array(points), np.concatenate(parts)


MESHES = {
    "box": BOX,
    "ball": surface(tetmeshes.ball(0.25, 4)),
    "torus": surface(tetmeshes.torus(0.25, 0.08, 16, 2)),
    "bowl": bowl(),
}


def field(shape: MeshCollider, points: np.ndarray, dtype: str = "float64") -> np.ndarray:
    """Return the distance that the kernel sees: how far a particle at rest is pushed, for a large contact radius."""
    scene = Scene(gravity=(0, 0, 0), contact_radius=shape.reach)
    scene.add_particles(points, 1.0)
    scene.add_collider(shape)
    return advance(scene, 0.01, 1, dtype)[0]


@pytest.mark.parametrize("name", MESHES)
def test_exact_distance_is_that_of_scattered_points(name: str) -> None:
    """Guards the reference: the nearest of many points of the surface is no nearer, and hardly farther."""
    vertices, triangles = MESHES[name]
    shape, rng = MeshCollider(vertices, triangles, cell=0.02), np.random.default_rng(1)
    weights = rng.dirichlet([1, 1, 1], (len(triangles), 10_000 // len(triangles)))
    scattered = np.einsum("tsk,tkx->tsx", weights, vertices[triangles]).reshape(-1, 3)
    points = rng.uniform(-0.4, 0.4, (100, 3))
    distance, normal = shape.signed_distance(points)
    nearest = np.linalg.norm(points[:, None] - scattered, axis=2).min(axis=1)
    assert (np.abs(distance) <= nearest + 1e-12).all() and (nearest < np.abs(distance) + 0.02).all()
    assert_allclose(np.linalg.norm(normal, axis=1), 1.0, rtol=1e-9)
    foot = points - distance[:, None] * normal
    assert_allclose(shape.signed_distance(foot)[0], 0.0, atol=1e-9)
    assert 1 < (distance < 0).sum() < 97
    if name == "box":
        exact, outward = Box((0, 0, 0), (0.3, 0.2, 0.15)).signed_distance(points)
        assert_allclose(distance, exact, atol=1e-12)
        assert_allclose(normal, outward, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", MESHES)
def test_grid_pushes_to_the_exact_distance(name: str, dtype: str) -> None:
    """Guards samples, look-up, gradient and pose: after a push to the contact radius the exact distance is that.

    Linear interpolation is off by cell^2 / 8 times the curvature of the distance, which is 1 / distance to what is
    nearest at a corner, so a small share of a cell near the surface; on flat faces it is exact.
    """
    vertices, triangles = MESHES[name]
    rng = np.random.default_rng(6)
    place, turn, cell = rng.normal(size=3), rotation(rng), 0.01
    shape = MeshCollider(vertices, triangles, place, turn, cell=cell, margin=0.06, friction=0.0)
    points = place + rng.uniform(-0.4, 0.4, (1200, 3)) @ turn.T
    distance, _ = shape.signed_distance(points)
    points = points[(distance > 0.0) & (distance < 0.05)]
    assert len(points) > 50
    x = field(shape, points, dtype)
    after = shape.signed_distance(x)[0] - shape.reach
    assert np.abs(after).max() < 0.3 * cell
    assert np.abs(after).mean() < 0.03 * cell
    if name == "box":  # before a face, away from its edges
        local = np.abs((points - place) @ turn)
        flat = ((local < np.array([0.3, 0.2, 0.15]) - 2 * cell).sum(axis=1) == 2) & (np.abs(after) > 0)
        assert flat.sum() > 10
        assert np.abs(after[flat]).max() < 20 * EPS32 + 64 * np.finfo(dtype).eps * 4
    far = place + 5.0 * rng.normal(size=(50, 3))
    far = far[shape.signed_distance(far)[0] > 0.1]
    assert_array_equal(field(shape, far.astype(dtype).astype(float), dtype), far.astype(dtype))


def test_grid_converges() -> None:
    """Guards second order: half the cell, a quarter of the error of a ball's distance."""
    vertices, triangles = MESHES["ball"]
    rng = np.random.default_rng(3)
    points = rng.normal(size=(400, 3))
    points *= (rng.uniform(0.26, 0.29, 400) / np.linalg.norm(points, axis=1))[:, None]
    errors = []
    for cell in (0.02, 0.01):
        shape = MeshCollider(vertices, triangles, cell=cell, margin=0.08)
        errors.append(np.abs(shape.signed_distance(field(shape, points))[0] - 0.08).mean())
    assert errors[1] < 0.4 * errors[0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("moving", [False, True])
def test_marble_comes_to_rest_in_a_bowl(dtype: str, moving: bool) -> None:
    """Guards a concave solid: what is dropped into the bowl stays in it, slides down and rests at its bottom."""
    vertices, triangles = MESHES["bowl"]
    scene = Scene(contact_radius=RADIUS)
    scene.add_particles([[0.15, 0.1, 0.05], [0.0, 0.2, 0.0], [-0.1, 0.0, -0.1]], 0.1)
    quaternion = np.array([0.0, 0.6, 0.0, 0.8])
    shape = MeshCollider(vertices, triangles, [0.0, 0.1, 0.0], cell=0.012, friction=0.1)
    number = scene.add_collider(shape, moving)
    solver = Solver(Model(scene, dtype=dtype), substeps=500, damping=1.0)  # type: ignore[arg-type]
    state, control = solver.state(), solver.control()
    if moving:
        state.set_pose(number, orientation=quaternion)
        shape = shape.moved(shape.origin, matrix_of(quaternion))
    for _ in range(6):
        solver.step(state, control, 1.0)
    x, v = state.get_positions()[0], state.get_velocities()[0]
    assert_allclose(shape.signed_distance(x)[0], RADIUS, atol=0.3 * 0.012)
    assert np.abs(v).max() < 0.02
    # Friction 0.1 holds it where the bowl slopes by less than that, or a facet does.
    assert (np.linalg.norm(x[:, [0, 2]], axis=1) < 0.24 * 0.1 + 0.03).all()
    assert_allclose(x[:, 1], 0.1 - 0.24 + RADIUS, atol=0.012)


def test_slides_down_a_slope_as_on_a_box() -> None:
    """Guards normals on flat faces: the same slide on a box and on its mesh, to the rounding of single precision."""
    angle = np.radians(30)
    turn = np.array([[np.cos(angle), np.sin(angle), 0], [-np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    found = []
    for solid in (
        Box((0, 0, 0), (1.5, 0.2, 0.5), tuple(map(tuple, turn)), friction=0.3),
        MeshCollider(*Box((0, 0, 0), (1.5, 0.2, 0.5)).mesh(), rotation=turn, cell=0.05, friction=0.3),
    ):
        scene = Scene(contact_radius=RADIUS)
        scene.add_particles([turn @ [-1.0, 0.2 + RADIUS, 0.0]], 0.1)
        scene.add_collider(solid)
        found.append(advance(scene, 0.5, 250))
    assert_allclose(found[1][0], found[0][0], rtol=0, atol=250 * EPS32)
    assert_allclose(found[1][1], found[0][1], rtol=0, atol=1e-4)
    assert np.linalg.norm(found[0][0] - scene.positions) > 0.25


@pytest.mark.parametrize("name", MESHES)
def test_bullets_do_not_pass_through(name: str) -> None:
    """Guards the sweep on a grid: particles that cross a mesh within a substep, and would stick, end where they hit.

    A friction of 10 sticks up to 84 degrees from the normal; what comes in flatter than 70 is only to end outside.
    The search goes on by half a contact radius or so, samples of the path are 8 mm apart, and the grid adds its own.
    """
    vertices, triangles = MESHES[name]
    shape, rng = MeshCollider(vertices, triangles, cell=0.015, friction=10.0), np.random.default_rng(2)
    starts = rng.uniform(-0.3, 0.3, (60, 3)) * [1, 0, 1] + [0, 0.6, 0]
    ends = rng.uniform(-0.3, 0.3, (60, 3)) * [1, 0, 1] - [0, 0.6, 0]
    path = starts[:, None] + np.linspace(0, 1, 160)[:, None] * (ends - starts)[:, None]
    distance = shape.signed_distance(path.reshape(-1, 3))[0].reshape(60, 160)
    scene = Scene(gravity=(0, 0, 0), contact_radius=RADIUS)
    scene.add_particles(starts, 1.0, (ends - starts) / 0.002)
    scene.add_collider(shape)
    x, _ = advance(scene, 0.002, 1, "float32")
    hits, misses = distance.min(axis=1) < -0.01, distance.min(axis=1) > RADIUS + 0.015
    assert hits.sum() > 15
    assert_allclose(x[misses], ends[misses], atol=1e-6)
    assert (shape.signed_distance(x)[0] > RADIUS - 0.4 * 0.015).all()
    first = path[hits, np.argmax(distance[hits] < RADIUS, axis=1)]
    along = (ends - starts)[hits] / np.linalg.norm((ends - starts)[hits], axis=1, keepdims=True)
    steep = (shape.signed_distance(first)[1] * along).sum(axis=1) < -np.cos(np.radians(70))
    assert steep.sum() > 10
    far = 0.75 * RADIUS + 0.008 + 0.5 * 0.015
    assert np.linalg.norm(x[hits] - first, axis=1)[steep].max() < far


def test_colliders_share_a_grid() -> None:
    """Guards memory: a copy elsewhere uses the samples there are."""
    shape = MeshCollider(*BOX, cell=0.02)
    scene = Scene(contact_radius=RADIUS)
    scene.add_particles([[0, 1.0, 0], [2.0, 1.0, 0]], 0.1)
    scene.add_collider(shape)
    scene.add_collider(shape.moved([2.0, 0.1, 0.0], np.eye(3)))
    scene.add_collider(MeshCollider(*MESHES["ball"], [0, -3, 0], cell=0.02))
    model = Model(scene)
    first = model.colliders.first.numpy()
    assert first[0] == first[1] == 0 and first[2] == shape.grid.values.size
    solver = Solver(model, substeps=300)
    state = solver.state()
    solver.step(state, solver.control(), 0.9)
    assert_allclose(state.get_positions()[0, :, 1], [0.2 + RADIUS, 0.3 + RADIUS], atol=1e-5)
    assert shape != MeshCollider(*BOX, cell=0.02) and len({shape, shape}) == 1


OPEN = BOX[1][1:]
PLATE = Box((0, 0, 0), (0.5, 0.004, 0.5)).mesh()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((BOX[0], OPEN), {}, "the surface is open: 3 edges"),
        ((BOX[0], BOX[1][:, ::-1]), {}, "inside out"),
        (
            (np.concatenate([BOX[0], 0.5 * BOX[0] + 9.0]), np.concatenate([BOX[1], BOX[1][:, ::-1] + 8])),
            {},
            "a part of",
        ),
        ((BOX[0], np.zeros((0, 3), int)), {}, "empty"),
        ((BOX[0] * np.nan, BOX[1]), {}, "finite"),
        ((BOX[0], BOX[1] + 1), {}, "vertices 0 to 7"),
        (PLATE, {}, r"only 0.008 m thick near .* give a cell of at most 0.004 m"),
        (PLATE, {"cell": 0.005}, "less than two cells"),
        (BOX, {"cell": 0.0}, "cell must be positive"),
        (BOX, {"cell": 1e-4}, "take a larger one"),
        (BOX, {"margin": -1.0}, "margin must be positive"),
        (BOX, {"position": [0, 0]}, "position must"),
        (BOX, {"rotation": np.eye(3) * 2}, "orthonormal"),
        (BOX, {"restitution": 2.0}, "restitution"),
    ],
)
def test_bad_meshes_are_refused(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MeshCollider(*arguments, **options)


def test_margin_must_hold_the_contact_radius() -> None:
    scene = Scene(contact_radius=0.1)
    with pytest.raises(ValueError, match=r"reaches 0.0375 m beyond it.* larger margin"):
        scene.add_collider(MeshCollider(*BOX))
    scene.add_collider(MeshCollider(*BOX, margin=0.1))
    assert MeshCollider(*PLATE, cell=0.004).half_thickness == pytest.approx(0.004, rel=1e-4)
