"""Contacts with boxes, capsules and cylinders: where the kernel pushes particles, and which it leaves alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.colliders.box import Box
from pbd_gym.colliders.capsule import Capsule
from pbd_gym.colliders.cylinder import Cylinder
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from tests.colliders.helpers import NAMES, RADIUS, advance, place, posed, rotation

EPS = float(np.finfo(np.float64).eps)
GRAVITY = 9.81


def pushed(shape: Any, points: np.ndarray, dtype: str = "float64") -> np.ndarray:
    """Return where particles at rest, without gravity, are after one substep."""
    scene = Scene(gravity=(0, 0, 0), contact_radius=RADIUS)
    scene.add_particles(points, 1.0)
    place(scene, shape)
    return advance(scene, 0.01, 1, dtype)[0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_pushes_out_to_the_contact_radius_by_the_shortest_way(name: str, dtype: str) -> None:
    """Guards the kernel against the NumPy reference on random points and poses.

    The distance afterwards is right to the rounding of the coordinates. The direction is a quotient by the distance to
    what the normal comes from (an edge, a corner, an axis), so it is compared where that is not tiny, and where one
    face is clearly the nearest.
    """
    rng = np.random.default_rng(11)
    eps, compared = float(np.finfo(dtype).eps), 0
    for _ in range(8):
        turn, middle, sizes = rotation(rng), rng.normal(size=3), rng.uniform(0.1, 0.6, 3)
        shape = posed(name, turn, middle, sizes, friction=0.0)
        points = middle + rng.uniform(-1.0, 1.0, (150, 3)) * (sizes.max() + 0.1)
        scattered = rng.normal(size=(150, 3))  # many a little outside: there edges and corners show
        distance, normal = shape.signed_distance(middle + scattered)
        points = np.concatenate([points, middle + scattered - (distance - rng.uniform(0, 0.02, 150))[:, None] * normal])
        points = points.astype(dtype).astype(np.float64)
        distance, normal = shape.signed_distance(points)
        x = pushed(shape, points, dtype)
        scale = 32 * eps * (np.abs(points).max() + 1)
        touched = distance < RADIUS
        assert 20 < touched.sum() < len(points) - 20
        assert_array_equal(x[distance > RADIUS + scale], points[distance > RADIUS + scale])
        assert_allclose(shape.signed_distance(x)[0][touched], RADIUS, rtol=0, atol=scale)
        assert_allclose(np.linalg.norm(x - points, axis=1)[touched], RADIUS - distance[touched], rtol=0, atol=scale)
        # Clear cases: a small step aside hardly turns the normal.
        aside = [shape.signed_distance(points + 1e-3 * e)[1] for e in np.vstack([np.eye(3), -np.eye(3)])]
        clear = touched & (np.abs(np.array(aside) - normal).max(axis=(0, 2)) < 0.2)
        expected = points + (RADIUS - distance)[:, None] * normal
        assert_allclose(x[clear], expected[clear], rtol=0, atol=100 * scale)
        compared += int(clear.sum())
    assert compared > 300


E_X, E_Y, E_Z = np.eye(3)
CUBE = Box((0, 0, 0), (0.25, 0.25, 0.25))
BRICK = Box((0, 0, 0), (0.5, 0.25, 0.125))
UPRIGHT, LYING = ((0, -0.5, 0), (0, 0.5, 0)), ((-0.5, 0, 0), (0.5, 0, 0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "point", "expected"),
    [
        (CUBE, (0, 0, 0), (0, 0.25 + RADIUS, 0)),  # all faces are equally near: +y
        (CUBE, (0.1, 0, 0.1), (0.25 + RADIUS, 0, 0.1)),  # x before z
        (CUBE, (-0.25, -0.25, -0.25), (-0.25, -0.25 - RADIUS, -0.25)),  # a corner
        (CUBE, (0.25, 0, 0.25), (0.25 + RADIUS, 0, 0.25)),  # an edge
        (BRICK, (0, 0, 0), (0, 0, 0.125 + RADIUS)),  # the flat way, and the positive side
        (BRICK, (0.5, 0.1, 0), (0.5 + RADIUS, 0.1, 0)),  # on a face
        (Capsule(*UPRIGHT, 0.25), (0, 0.1, 0), (0.25 + RADIUS, 0.1, 0)),  # the axis of an upright one: +x
        (Capsule(*LYING, 0.25), (0.1, 0, 0), (0.1, 0.25 + RADIUS, 0)),  # of a lying one: up
        (Capsule(*LYING, 0.25), (0.5, 0, 0), (0.5, 0.25 + RADIUS, 0)),  # the end of the segment
        (Capsule(*LYING, 0.25), (0.75, 0, 0), (0.75 + RADIUS, 0, 0)),  # the tip
        (Cylinder(*UPRIGHT, 0.25), (0, 0, 0), (0.25 + RADIUS, 0, 0)),
        (Cylinder(*LYING, 0.25), (0, 0, 0), (0, 0.25 + RADIUS, 0)),
        (Cylinder(*LYING, 0.75), (0, 0, 0), (0.5 + RADIUS, 0, 0)),  # both ends equally near: `end`
        (Cylinder(*LYING, 0.5), (0, 0, 0), (0.5 + RADIUS, 0, 0)),  # the side as well: an end
        (Cylinder(*LYING, 0.25), (-0.5, 0.25, 0), (-0.5 - RADIUS, 0.25, 0)),  # on the rim
        (Cylinder(*LYING, 0.25), (-0.5, 0, 0), (-0.5 - RADIUS, 0, 0)),  # in the middle of an end
    ],
)
def test_points_with_several_nearest_ones_go_the_documented_way(
    shape: Any, point: Any, expected: Any, dtype: str
) -> None:
    """Guards divisions by zero on axes, edges, corners and centres, in the kernel and in the reference."""
    distance, normal = shape.signed_distance(np.array([point]))
    assert_allclose(point + (RADIUS - distance)[:, None] * normal, [expected], rtol=0, atol=1e-12)
    x = pushed(Box(shape.center, shape.half_extents, friction=0.0) if isinstance(shape, Box) else
               type(shape)(shape.start, shape.end, shape.radius, friction=0.0), np.array([point]), dtype)  # fmt: skip
    assert_allclose(x, [expected], rtol=0, atol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_hardly_off_the_axis_or_an_edge_is_still_pushed_out(name: str, dtype: str) -> None:
    """Guards small numbers: offsets down to the smallest there are give unit normals, so particles do come out.

    Close to an axis the direction is a quotient of differences: rounding tilts it by up to 2 eps / offset (of 1/8 where
    the core begins), and the push then ends short by half the square of that.
    """
    rng = np.random.default_rng(2)
    turn, middle, sizes = rotation(rng), np.array([0.3, -0.7, 0.2]), np.array([0.2, 0.5, 0.3])
    shape = posed(name, turn, middle, sizes, friction=0.0)
    offsets = np.concatenate([10.0 ** -np.arange(2.0, 45.0, 1.0), [0.0]])
    directions = np.array([turn[:, 0], turn[:, 1], turn[:, 2], turn.sum(axis=1)])
    starts = middle + np.array([[0, 0, 0], [0, 0.5, 0], [0.2, 0.5, 0.0], [0.2, 0.5, 0.3]]) @ turn.T
    points = (starts[:, None, None] + offsets[:, None, None] * directions).reshape(-1, 3)
    points = np.concatenate([points, points - middle])  # and round the origin, where tiny numbers are kept
    eps = float(np.finfo(dtype).eps)
    for center, some in ((middle, points[: len(points) // 2]), (np.zeros(3), points[len(points) // 2 :])):
        here = posed(name, turn, center, sizes, friction=0.0)
        x = pushed(here, some, dtype)
        before = here.signed_distance(some)[0]
        tilt = np.minimum(2 * eps / np.maximum(offsets, 1e-300), 1 / 8)
        short = (sizes.max() + RADIUS) * np.tile(np.repeat(tilt**2 / 2, len(directions)), len(starts))
        found = here.signed_distance(x)[0] - np.maximum(before, RADIUS)
        assert (np.abs(found) < short + 64 * eps).all()
    assert shape.signed_distance(middle[None])[0][0] < 0


RESTS = {
    "box": (Box((0.1, 0.2, 0.3), (0.3, 0.2, 0.1), friction=1.0), 0.4),
    "capsule": (Capsule((-0.4, 0.2, 0.3), (0.6, 0.2, 0.3), 0.2, friction=1.0), 0.4),
    "cylinder": (Cylinder((-0.4, 0.2, 0.3), (0.6, 0.2, 0.3), 0.2, friction=1.0), 0.4),
    "can": (Cylinder((0.1, 0.0, 0.3), (0.1, 0.4, 0.3), 0.2, friction=1.0), 0.4),
    "pole": (Capsule((0.1, 0.0, 0.3), (0.1, 0.2, 0.3), 0.2, friction=1.0), 0.4),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", RESTS)
def test_dropped_particle_comes_to_rest_at_the_contact_radius(name: str, dtype: str) -> None:
    """Guards the depth: the push ends the substep, so only rounding is left."""
    shape, top = RESTS[name]
    scene = Scene(contact_radius=RADIUS)
    scene.add_particles([[0.1, top + 0.2, 0.3]], 0.1)
    place(scene, shape)
    x, v = advance(scene, 1.0, 500, dtype)
    eps = float(np.finfo(dtype).eps)
    assert_allclose(x, [[0.1, top + RADIUS, 0.3]], rtol=0, atol=8 * eps)
    assert_allclose(v, 0.0, atol=16 * eps / 0.002)


ANGLE = float(np.radians(30.0))
NORMAL = np.array([np.sin(ANGLE), np.cos(ANGLE), 0.0])
DOWNHILL = np.array([np.cos(ANGLE), -np.sin(ANGLE), 0.0])


def slope(kind: str, friction: float) -> Any:
    """Return a shape with a line of steepest descent through the origin, 2 m each way."""
    if kind == "box":
        turn = np.stack([DOWNHILL, NORMAL, np.array([0.0, 0.0, 1.0])], axis=1)
        return Box(tuple(-0.3 * NORMAL), (2.0, 0.3, 1.0), tuple(map(tuple, turn)), friction=friction)
    if kind == "end":
        return Cylinder(tuple(-0.5 * NORMAL), (0.0, 0.0, 0.0), 2.0, friction=friction)
    ends = (tuple(-0.3 * NORMAL - 2 * DOWNHILL), tuple(-0.3 * NORMAL + 2 * DOWNHILL))
    return (Capsule if kind == "capsule" else Cylinder)(*ends, 0.3, friction=friction)


@pytest.mark.parametrize("kind", ["box", "end", "capsule", "cylinder"])
def test_sticks_from_the_angle_of_friction_on(kind: str) -> None:
    """Guards that the normal goes into friction: mu = tan(theta) is the threshold, to a thousandth."""
    moved = {}
    for factor in (0.999, 1.001):
        scene = Scene(contact_radius=RADIUS)
        scene.add_particles([NORMAL * RADIUS], 0.3)
        place(scene, slope(kind, factor * np.tan(ANGLE)))
        x, _ = advance(scene, 1.0, 500)
        moved[factor] = x[0] - NORMAL * RADIUS
    # Half a second squared of 0.1 % of g sin(theta), and rounding of 500 substeps of metres.
    assert_allclose(moved[0.999], 0.5 * 0.001 * GRAVITY * np.sin(ANGLE) * DOWNHILL, rtol=0.01, atol=1e-10)
    assert np.linalg.norm(moved[1.001]) < 500 * 40 * EPS


@pytest.mark.parametrize("name", NAMES)
def test_held_and_pinned_particles_are_not_pushed(name: str) -> None:
    """Guards infinite mass, to the last bit, beside a free particle that is pushed."""
    middle = np.array([0.1, 0.0, 0.2])
    scene = Scene(gravity=(0, 0, 0), contact_radius=RADIUS, grip_count=1)
    scene.add_particles(middle + np.array([[0.05, 0.02, 0.01], [0, 1, 0], [0.05, 0.02, 0.01]]), 1.0)
    scene.pin([0])
    shape = posed(name, np.eye(3), middle, np.array([0.3, 0.5, 0.3]))
    place(scene, shape)
    solver = Solver(Model(scene, dtype="float64"), substeps=10)
    state, control = solver.state(), solver.control()
    state.hold([[1]])
    control.move([[0.0, -0.9, 0.0]])
    solver.step(state, control, 0.1)
    x = state.get_positions()[0]
    assert_array_equal(x[0], scene.positions[0])
    assert_array_equal(x[1], scene.positions[1] + np.array([0.0, -0.9, 0.0]))
    assert shape.signed_distance(x)[0][2] > RADIUS - 8 * EPS


def crowd(rng: np.random.Generator) -> tuple[Scene, np.ndarray]:
    """Return a scene with one of each shape, and particles in and around them."""
    scene = Scene(contact_radius=RADIUS)
    middles = np.array([[0.0, 0, 0], [3.0, 0, 0], [0.0, 3.0, 0]])
    for name, middle in zip(NAMES, middles, strict=True):
        place(scene, posed(name, rotation(rng), middle, np.array([0.3, 0.4, 0.2]), friction=0.4))
    points = (middles[:, None] + rng.uniform(-0.6, 0.6, (3, 60, 3))).reshape(-1, 3)
    scene.add_particles(points, 1.0, rng.normal(size=points.shape))
    return scene, points


@pytest.mark.parametrize(("dtype", "lane_counts"), [("float32", (1, 16)), ("float64", (1, 4))])
def test_every_lane_gets_the_same_bits(dtype: str, lane_counts: tuple[int, ...]) -> None:
    """Guards lane-wise arithmetic: an environment gets the same bits from one lane as from several."""
    results = []
    for lanes in lane_counts:
        scene, points = crowd(np.random.default_rng(8))
        solver = Solver(Model(scene, num_envs=17, lanes=lanes, dtype=dtype), substeps=4)  # type: ignore[arg-type]
        state = solver.state()
        solver.step(state, solver.control(), 0.02)
        results.append(np.concatenate([state.get_positions(), state.get_velocities()], axis=1))
    bits = np.array(results).view(np.uint32 if dtype == "float32" else np.uint64)
    assert_array_equal(bits, np.broadcast_to(bits[0, 0], bits.shape))
    free = points + 0.02 * scene.velocities
    assert (np.linalg.norm(results[0][0, : len(points)] - free, axis=1) > 0.01).sum() > 30  # contacts there were


def test_contact_in_one_lane_changes_no_bit_of_the_others() -> None:
    """Guards lanes without contact: the response runs for a group as soon as one lane touches."""
    scene, points = crowd(np.random.default_rng(9))
    away = points + np.array([0.0, 50.0, 0.0])
    results = []
    for touching in (False, True):
        solver = Solver(Model(scene, num_envs=6, lanes=16), substeps=4)
        state = solver.state()
        places = np.repeat(away[None], 6, axis=0)
        if touching:
            places[2] = points
        state.set_positions(places)
        solver.step(state, solver.control(), 0.02)
        results.append(np.concatenate([state.get_positions(), state.get_velocities()], axis=1).view(np.uint32))
    others = np.arange(6) != 2
    assert (results[0][2] != results[1][2]).any()
    assert_array_equal(results[0][others], results[1][others])


CLOTHS = {
    "box": Box((0.05, 0.0, 0.03), (0.2, 0.1, 0.15), tuple(map(tuple, rotation(np.random.default_rng(4))))),
    "capsule": Capsule((-0.3, 0.0, 0.05), (0.25, 0.05, -0.02), 0.12),
    "cylinder": Cylinder((-0.25, 0.0, 0.05), (0.25, 0.1, -0.02), 0.12),
    "can": Cylinder((0.02, -0.2, 0.0), (0.0, 0.1, 0.03), 0.2),
}


@pytest.mark.parametrize("name", CLOTHS)
def test_cloth_lies_over_it_without_entering(name: str) -> None:
    """Guards the whole: after 2 s nothing is NaN, no particle is deeper than rounding, and many touch."""
    shape = CLOTHS[name]
    scene = Scene(contact_radius=RADIUS)
    scene.add_cloth(
        20, 20, (0.8, 0.8), position=(0.0, 0.35, -0.4), rotation=[[1, 0, 0], [0, 0, -1], [0, -1, 0]], lines=False
    )
    place(scene, shape)
    x, _ = advance(scene, 2.0, 800, "float32")
    assert np.isfinite(x).all()
    distance, _ = shape.signed_distance(x)
    assert distance.min() > RADIUS - 1e-6
    assert (distance < RADIUS + 1e-5).sum() > 10
    assert x[:, 1].max() > -0.2  # it still lies on it
