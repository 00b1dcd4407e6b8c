"""Solids in pictures: what hides what, and what is refused."""

from __future__ import annotations

import os
from typing import Any

os.environ["SDL_VIDEODRIVER"] = "dummy"

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("pygame")

from pbd_gym.colliders.box import Box
from pbd_gym.colliders.capsule import Capsule
from pbd_gym.colliders.cylinder import Cylinder
from pbd_gym.rendering import Camera, Frame, Picker, Renderer
from tests.colliders.helpers import NAMES, posed, rotation

SIZE = (120, 100)
MIDDLE = (50, 60)  # row, column
AHEAD = Camera(target=np.array([0.0, 1.0, 0.0]), distance=3.0, yaw=0.0, pitch=0.0)
NONE = np.zeros((0, 3))
GROUND = [((0.0, 1.0, 0.0), 0.0)]


def draw(frame: Frame, camera: Camera = AHEAD) -> np.ndarray:
    picture = Renderer("rgb_array", SIZE).draw(frame, camera)
    assert picture is not None
    return picture.astype(int)


def sheet(n: int, z: float, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Return an upright sheet of n x n particles round (0, 1, z) and its triangles."""
    v, u = np.meshgrid(np.linspace(-0.5, 0.5, n), np.linspace(-0.5, 0.5, n), indexing="ij")
    positions = np.stack([u.ravel() * width, 1 - v.ravel() * width, np.full(n * n, z)], axis=1)
    i = np.arange(n * n).reshape(n, n)
    a, b, c, d = i[:-1, :-1].ravel(), i[:-1, 1:].ravel(), i[1:, :-1].ravel(), i[1:, 1:].ravel()
    return positions, np.concatenate([np.stack([a, c, b], 1), np.stack([b, c, d], 1)])


def is_blue(pixel: np.ndarray) -> bool:
    return bool(np.ptp(pixel) > 40 and np.argmax(pixel) == 2)


SOLIDS = {
    "box": Box((0, 1, 0), (0.4, 0.4, 0.3)),
    "capsule": Capsule((-0.2, 1, 0), (0.2, 1, 0), 0.35),
    "cylinder": Cylinder((0, 0.6, 0), (0, 1.4, 0), 0.4),
}


@pytest.mark.parametrize("name", NAMES)
def test_solid_and_cloth_hide_each_other(name: str) -> None:
    """Guards the order: what is behind is not seen at all, what is before is, and what lies on it as well."""
    solids = [SOLIDS[name].mesh()]
    alone = draw(Frame(NONE, solids=solids))
    assert (alone != draw(Frame(NONE))).any(axis=2).sum() > 300
    behind, triangles = sheet(6, -0.8, 0.3)
    assert_array_equal(draw(Frame(behind, triangles, solids=solids)), alone)
    marks: dict[str, Any] = {"pickers": [Picker((0, 1, -0.8), 0.05)]}
    assert_array_equal(draw(Frame(NONE, solids=solids, **marks)), alone)
    for z in (0.8, 0.41):
        before, _ = sheet(6, z, 0.3)
        assert is_blue(draw(Frame(before, triangles, solids=solids))[MIDDLE])
    assert (draw(Frame(NONE, solids=solids, pickers=[Picker((0, 1, 0.8), 0.05)])) != alone).any()


def test_long_things_that_reach_out_from_behind_are_behind() -> None:
    """Guards the corners of far polygons: the middle of this rope is seen, its end is not."""
    solids = [SOLIDS["box"].mesh()]
    rope = Frame(np.array([[0.0, 1.0, -0.8], [2.0, 1.0, -0.8]]), lines=[[0, 1]], solids=solids)  # type: ignore[arg-type]
    alone, picture = draw(Frame(NONE, solids=solids)), draw(rope)
    assert_array_equal(picture[50, 50:72], alone[50, 50:72])
    assert (picture != alone).any(axis=2).sum() > 20


def test_cloth_on_the_far_half_of_a_table_is_seen() -> None:
    """Guards what one depth per solid gets wrong: the cloth there is farther away than the middle of the table."""
    positions, triangles = sheet(8, 0.0, 0.3)
    flat = np.stack([positions[:, 0], np.full(len(positions), 1.06), -(positions[:, 1] - 1) - 0.5], axis=1)
    above = Camera(AHEAD.target, 3.0, 0.0, 0.8)
    picture = draw(Frame(flat, triangles, solids=[Box((0, 1, 0), (0.8, 0.05, 0.8)).mesh()]), above)
    (column, row), *_ = above.project(np.array([[0.0, 1.06, -0.5]]), SIZE)[0].astype(int)
    assert is_blue(picture[row, column])


@pytest.mark.parametrize("ball_first", [True, False])
def test_ball_on_a_table_is_before_it_and_under_it_behind(ball_first: bool) -> None:
    """Guards the order of bodies, where their distances would give the wrong one: the ball on the table is farther away
    than the middle of the table, and the one under it is nearer."""
    table = [Box((0, 1, 0.3), (0.5, 0.03, 0.8)).mesh()]
    above = Camera(AHEAD.target, 3.0, 0.0, 0.5)
    bare = draw(Frame(NONE, solids=table), above)
    on, under = ((0.0, 1.13, -0.1), 0.1), ((0.0, 0.9, 0.85), 0.05)
    (column, row), *_ = above.project(np.array([on[0]]), SIZE)[0].astype(int)
    assert_array_equal(
        draw(Frame(NONE, solids=table, spheres=[on]), above)[row, column],
        draw(Frame(NONE, spheres=[on]), above)[row, column],
    )
    assert_array_equal(draw(Frame(NONE, solids=table, spheres=[under]), above), bare)
    # The same with a solid in place of the ball.
    leg, can = Cylinder((0, 0.8, 0.85), (0, 0.97, 0.85), 0.05).mesh(), Cylinder((0, 1.03, 0), (0, 1.2, 0), 0.1).mesh()
    for other, at in ((leg, (0.0, 0.95, 0.85)), (can, (0.0, 1.15, 0.0))):
        (column, row), *_ = above.project(np.array([at]), SIZE)[0].astype(int)
        both = draw(Frame(NONE, solids=[other, *table] if ball_first else [*table, other]), above)
        expected = draw(Frame(NONE, solids=[can]), above) if other is can else bare
        assert_array_equal(both[row, column], expected[row, column])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_below_the_ground_is_not_drawn(name: str) -> None:
    """Guards the cut: half below the ground, a solid looks just like the half that stands on it."""
    camera = Camera(np.zeros(3), 3.0, 0.3, 0.4)
    buried = posed(name, np.eye(3), np.zeros(3), np.array([0.3, 0.5, 0.3]))
    picture = draw(Frame(NONE, planes=GROUND, solids=[buried.mesh()]), camera)
    (column, row), (_, top) = camera.project(np.array([[0.0, -0.35, 0.1], [0.0, 0.3, 0.0]]), SIZE)[0].astype(int)
    empty = draw(Frame(NONE, planes=GROUND), camera)
    assert np.abs(picture[row, column] - empty[row, column]).max() < 12  # no more than the rim of the shadow
    assert np.abs(picture[top, 60] - empty[top, 60]).max() > 12


@pytest.mark.parametrize("seed", range(20))
def test_wild_scenes_are_drawn(seed: int) -> None:
    """Guards against overflow and warnings: eyes inside solids, solids in each other, far away and cut by planes."""
    rng = np.random.default_rng(seed)
    solids = [
        posed(str(rng.choice(NAMES)), rotation(rng), rng.normal(size=3), 10.0 ** rng.uniform(-3, 1, 3)).mesh()
        for _ in range(4)
    ]
    solids.append((solids[0][0] * rng.choice([np.nan, 1e300, 1e-9]), solids[0][1]))
    positions, triangles = sheet(5, 0.0, 10.0 ** rng.uniform(-3, 5))
    positions[3] = np.nan
    planes = [(rng.normal(size=3), rng.normal()) for _ in range(3)]
    frame = Frame(positions, triangles, planes=planes, solids=solids, spheres=[(rng.normal(size=3), 0.4)])
    camera = Camera(rng.normal(size=3), rng.uniform(0.05, 5), rng.uniform(-3, 3), rng.uniform(-2, 2))
    for size in ((1, 2), (64, 48)):
        picture = Renderer("rgb_array", size).draw(frame, camera)
        assert picture is not None and picture.any()


BOX_VERTICES, BOX_TRIANGLES = SOLIDS["box"].mesh()
DENTED = BOX_VERTICES.copy()
DENTED[0] = BOX_VERTICES.mean(axis=0) + 0.1 * (BOX_VERTICES[7] - BOX_VERTICES.mean(axis=0))


@pytest.mark.parametrize(
    ("solid", "message"),
    [
        ((BOX_VERTICES, BOX_TRIANGLES[:, ::-1]), "convex"),
        ((DENTED, BOX_TRIANGLES), "convex"),
        ((BOX_VERTICES, BOX_TRIANGLES + 1), "index"),
        ((BOX_VERTICES, BOX_TRIANGLES - 1), "index"),
        ((BOX_VERTICES, BOX_TRIANGLES[:3]), "at least 4"),
        ((BOX_VERTICES, []), "at least 4"),
        ((BOX_VERTICES[:, :2], BOX_TRIANGLES), "vertices must have shape"),
        ((BOX_VERTICES, BOX_TRIANGLES[:, :2]), "triangles must have shape"),
    ],
)
def test_bad_solids_are_refused(solid: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Frame(NONE, solids=[solid])


def test_environments_show_them() -> None:
    """Guards the way from a scene to its picture: every collider that is not a plane or a ball is drawn as its mesh."""
    env = gym.make_vec("PBDCloth-v0", num_envs=1, vectorization_mode="vector_entry_point", render_mode="rgb_array")
    try:
        env.reset(seed=0)
        (before,) = env.render()
        core: Any = env.unwrapped
        core.scene.colliders.append(Box(tuple(np.mean(core.world.view_box, axis=0)), (0.1, 0.1, 0.1)))
        (after,) = env.render()
        assert (before != after).any(axis=2).sum() > 100
    finally:
        env.close()


def test_solids_cast_shadows() -> None:
    """Guards what tells how high a solid is: the ground straight below one that floats is darker."""
    camera = Camera(np.array([0.0, 0.5, 0.0]), 3.0, 0.0, 0.5)
    bare = draw(Frame(NONE, planes=GROUND), camera)
    shaded = draw(Frame(NONE, planes=GROUND, solids=[Box((0, 0.9, 0), (0.2, 0.05, 0.2)).mesh()]), camera)
    (column, row), *_ = camera.project(np.zeros((1, 3)), SIZE)[0].astype(int)
    assert (shaded[row, column] < bare[row, column] - 20).all()
    assert_array_equal(shaded[row, 5], bare[row, 5])
