"""Pictures of the rasteriser: against rays, against the pygame renderer, and against themselves in other batches."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import warp as wp
from numpy.testing import assert_array_equal

from pbd_gym import Model, Scene
from pbd_gym.colliders import Plane, Sphere
from pbd_gym.geometry.grids import LYING
from pbd_gym.rendering import Camera, Picker, Renderer, Style
from pbd_gym.rendering.batched import Rasterizer
from pbd_gym.rendering.batched.rasterizer import IMAGES
from pbd_gym.rendering.pictures.scenes import scene_frame
from tests.rendering.batched.helpers import BALL, BOX, busy_scene, pictures, random_cameras, random_state, ray_cast

GRIP = (0.9, 1.5, 0.0)
SIZES = [(64, 64), (96, 72)]
AHEAD = Camera(target=np.array([0.0, 1.0, 0.0]), distance=3.0, yaw=0.0, pitch=0.2)


def bare_scene() -> Scene:
    """Return the busy scene without what is not made of triangles: the ball and the rope."""
    scene = busy_scene()
    del scene.colliders[BALL]
    scene.lines = scene.lines[:0]
    return scene


def spread(image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest value in the 3 x 3 pixels round each one."""
    padded = np.pad(image, 1, mode="edge")
    shifts = [padded[i : i + image.shape[0], j : j + image.shape[1]] for i, j in itertools.product(range(3), repeat=2)]
    return np.min(shifts, axis=0), np.max(shifts, axis=0)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", range(3))
def test_depth_and_labels_are_those_that_rays_meet(size: tuple[int, int], seed: int) -> None:
    """Guards the projection, the order of what hides what, poses, and every label, in an independent way."""
    scene = bare_scene()
    # Rope particles now are loose ones, which are balls: far below the ground they are not seen.
    model = Model(scene, 3)
    state = random_state(model, seed)
    positions = state.get_positions()
    positions[:, 9 * 9 + 5 * 5 :, 1] = -50.0
    state.set_positions(positions)
    state.grip_positions.fill_(-50.0)
    cameras = random_cameras(np.random.default_rng(seed), 2)
    rasterizer = Rasterizer(model, cameras, size, ("depth", "segmentation"), far=40.0)
    rasterizer.draw(state)
    for env, (number, camera) in itertools.product(range(3), enumerate(cameras)):
        expected, label = ray_cast(state, env, camera, size, rasterizer.labels)
        expected = np.minimum(expected, 40.0)
        depth = rasterizer.image("depth").numpy()[env, ..., number]
        found = rasterizer.image("segmentation").numpy()[env, ..., number]
        same = np.abs(depth - expected) < 2e-3 * expected
        assert same.mean() > 0.995
        low, high = spread(expected)
        assert ((depth > 0.99 * low) & (depth < 1.01 * high)).all()
        assert (found == label).mean() > 0.995
        seen = set(np.unique(label))
        assert len(seen) >= 5 and seen == set(np.unique(found)) | (seen - set(np.unique(found[same])))


def test_segmentation_names_the_right_body() -> None:
    """Guards the numbering: the pixel where the middle of a thing is projected to bears its name."""
    scene = busy_scene()
    model = Model(scene, 1)
    camera = Camera(np.array([0.0, 0.8, 0.0]), 5.0, 0.0, 0.2)
    rasterizer = Rasterizer(model, [camera], (128, 128), ("segmentation",))
    state = random_state(model, 0)
    state.set_positions(scene.positions)
    state.grip_positions.assign(np.full(state.grip_positions.shape, GRIP, dtype=np.float32))
    rasterizer.draw(state)
    image = rasterizer.image("segmentation").numpy()[0, ..., 0]
    middles = {
        "body 0": scene.positions[4 * 9 + 4],
        "body 1": scene.positions[81 + 2 * 5 + 2],
        "body 2": scene.positions[81 + 25 + 4],
        "box 1": state.get_poses()[0, 0, :3],
        "capsule 2": np.array([-0.65, 0.45, 0.3]),
        "sphere 3": np.array([0.0, 0.25, 0.7]),
        "plane 0": np.array([-0.9, 0.0, 0.9]),
        "pickers": np.array(GRIP),
    }
    for name, point in middles.items():
        x, y = camera.project(point, (128, 128))[0][0]
        assert rasterizer.labels[image[int(y), int(x)]] == name, name
    assert set(rasterizer.labels) == {"background", *middles, "goals"}


def test_outlines_agree_with_the_other_renderer() -> None:
    """Guards against drifting apart of what a person and an agent see: cloth, rope, solids, and their colours."""
    scene = busy_scene()
    model = Model(scene, 1)
    state = random_state(model, 4)
    size = (160, 160)
    camera = Camera(np.array([0.0, 0.8, 0.0]), 4.2, 0.4, 0.3)
    found = pictures(model, state, [camera], size)
    frame = scene_frame(scene, state.get_positions()[0], poses=state.get_poses()[0])
    empty = replace(frame, triangles=[], lines=[], solids=(), spheres=(), positions=np.zeros((0, 3)))
    renderer = Renderer("rgb_array", size)
    drawn, blank = (np.asarray(renderer.draw(f, camera), dtype=int) for f in (frame, empty))
    labels = Rasterizer(model, [camera], size).labels
    solid = ~np.isin(found["segmentation"][0, ..., 0], [labels.index("background"), labels.index("plane 0")])
    # Shadows darken the ground evenly; things have a hue of their own or are brighter than their shadow.
    mine = found["rgb"][0].astype(int)
    assert np.abs(mine - blank)[~solid].mean() < 2.0
    inside = solid & (spread(solid.astype(int))[0] == 1)
    assert inside.mean() > 0.1
    assert np.abs(mine - drawn)[inside].mean() < 12.0
    hue = np.abs(drawn - drawn.mean(axis=2, keepdims=True)).max(axis=2) > 30
    own = np.abs(mine - mine.mean(axis=2, keepdims=True)).max(axis=2) > 30
    grown = spread(own.astype(int))[1] == 1
    assert (hue & ~grown).mean() < 0.003 and (own & ~(spread(hue.astype(int))[1] == 1)).mean() < 0.003


@pytest.mark.parametrize("size", [(64, 64), (160, 120), (300, 260)])
def test_shadows_are_those_of_the_other_renderer(size: tuple[int, int]) -> None:
    """Guards what is dark, how soft its edges are, and that nothing but the ground is."""
    scene = busy_scene()
    model = Model(scene, 2)
    state = random_state(model, 4)
    state.grip_positions.assign(np.full(state.grip_positions.shape, GRIP, dtype=np.float32))
    camera = Camera(np.array([0.0, 0.8, 0.0]), 4.2, 0.4, 0.5)
    plain, shaded = (pictures(model, state, [camera], size, shadows=shadows) for shadows in (False, True))
    for name in ("depth", "segmentation"):
        assert_array_equal(plain[name], shaded[name])
    labels = Rasterizer(model, [camera], size).labels
    behind = [labels.index("background"), labels.index("plane 0")]
    for env in range(2):
        frame = scene_frame(
            scene, state.get_positions()[env], poses=state.get_poses()[env], pickers=[Picker(np.array(GRIP), 0.02)]
        )
        bare, drawn = (
            np.asarray(Renderer("rgb_array", size, style=style).draw(frame, camera), dtype=int)
            for style in (Style(antialias=False, shadows=False), Style(antialias=False))
        )
        ground = np.isin(shaded["segmentation"][env, ..., 0], behind)
        off, on = (image["rgb"][env].astype(int) for image in (plain, shaded))
        assert_array_equal(off[~ground], on[~ground])
        ground = spread(ground.astype(int))[0] == 1
        wanted, found = (bare - drawn)[ground], (off - on)[ground]
        assert (wanted > 12).mean() > 0.03 and wanted.max() > 40
        assert np.abs(found - wanted).mean() < 0.15 * wanted.mean()
        assert np.percentile(np.abs(found - wanted), 99) < 12


def test_there_is_no_shadow_without_ground_or_from_below_it() -> None:
    """Guards a plane that stands upright, and an eye under the ground."""
    for plane, pitch in ((Plane((1.0, 0.0, 0.0), -2.0), 0.3), (Plane(), -0.6)):
        scene = Scene()
        scene.add_collider(plane)
        scene.add_cloth(4, 4, position=(0.0, 1.5, 0.0), lines=False)
        model = Model(scene, 1)
        camera = Camera(np.array([0.0, 0.5, 0.0]), 3.0, 0.3, pitch)
        plain, shaded = (
            pictures(model, random_state_of(model), [camera], (40, 40), shadows=shadows) for shadows in (False, True)
        )
        assert_array_equal(plain["rgb"], shaded["rgb"])


@pytest.mark.parametrize(("own_views", "shadows"), [(False, False), (True, True)])
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_pictures_do_not_depend_on_the_batch(lanes: int, own_views: bool, shadows: bool) -> None:
    """Guards the promise of same bits whatever num_envs, lane and thread."""
    scene, cameras = busy_scene(), random_cameras(np.random.default_rng(3), 2)
    many = Model(scene, 7, lanes=lanes)
    state = random_state(many, 5)
    state.grip_positions.fill_(0.7)
    all_at_once = pictures(many, state, cameras, (48, 40), own_views=own_views, shadows=shadows, threads=2)
    one = Model(scene, 1, lanes=1)
    alone = random_state(one, 0)
    alone.grip_positions.fill_(0.7)
    rasterizer = Rasterizer(one, cameras, (48, 40), tuple(all_at_once), shadows=shadows, threads=1)
    for env in range(7):
        alone.set_positions(state.get_positions()[env : env + 1])
        alone.poses.assign(state.get_poses()[env : env + 1])
        rasterizer.draw(alone)
        for name, image in all_at_once.items():
            assert_array_equal(rasterizer.image(name).numpy()[0], image[env], err_msg=f"{name} {env}")
    assert all(len(np.unique(image.reshape(7, -1), axis=0)) == 7 for image in all_at_once.values())


@pytest.mark.parametrize("shadows", [False, True])
def test_tiles_do_not_show(shadows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the way of a GPU, where every thread owns tiles: the picture is the same to the bit."""
    scene, cameras = busy_scene(), random_cameras(np.random.default_rng(8), 1)
    model = Model(scene, 2)
    state = random_state(model, 6)
    whole = pictures(model, state, cameras, (50, 42), shadows=shadows)
    from pbd_gym.rendering.batched import rasterizer as module

    monkeypatch.setattr(module, "tile_size", lambda device, size: (8, 4))
    for name, image in pictures(model, state, cameras, (50, 42), shadows=shadows).items():
        assert_array_equal(image, whole[name], err_msg=name)


def test_images_are_the_same_whatever_else_is_drawn() -> None:
    """Guards the variants of the kernel."""
    scene, cameras = busy_scene(), random_cameras(np.random.default_rng(9), 1)
    model = Model(scene, 1)
    state = random_state(model, 7)
    for name, image in pictures(model, state, cameras, (40, 40)).items():
        single = Rasterizer(model, cameras, (40, 40), (name,))
        single.draw(state)
        assert_array_equal(single.image(name).numpy(), image)


def test_points_are_drawn_in_place_of_particles() -> None:
    """Guards pictures of goals: chosen environments alone, by the same cameras and over the same backdrop."""
    scene, cameras, size = busy_scene(), random_cameras(np.random.default_rng(4), 2), (40, 30)
    model = Model(scene, 3)
    state, other = random_state(model, 5), random_state(model, 6)
    state.grip_positions.fill_(0.7)
    rasterizer = Rasterizer(model, cameras, size, IMAGES, shadows=True)
    rasterizer.paint(np.linspace(20, 200, rasterizer.palette.shape[1])[:, None] * np.ones(3, dtype=np.float32))
    points = wp.array(other.get_positions(), dtype=float)
    chosen = wp.array([1, 0, 1], dtype=wp.int32)
    still = rasterizer.of_points(points, chosen, [BOX])
    rasterizer.draw(state)
    present = {name: rasterizer.image(name).numpy().copy() for name in IMAGES}
    still.draw(state)
    for name, image in present.items():
        assert_array_equal(rasterizer.image(name).numpy(), image, err_msg=name)
    found = {name: still.image(name).numpy().copy() for name in IMAGES}
    assert not any(image[1].any() for image in found.values())
    # The same as that of a state whose box and hand are out of sight.
    state.set_positions(other.get_positions())
    state.grip_positions.fill_(np.nan)
    state.set_pose(BOX, [0.0, 0.0, 1e5])
    rasterizer.draw(state)
    for name, image in found.items():
        assert_array_equal(image[[0, 2]], rasterizer.image(name).numpy()[[0, 2]], err_msg=name)
        assert not np.array_equal(image[0], present[name][0])
    with pytest.raises(ValueError, match="points and chosen must have shapes"):
        rasterizer.of_points(points, chosen[:2])


def test_a_moved_plane_is_drawn_where_it_is() -> None:
    """Guards the backdrop that is kept: it follows the ground of each environment."""
    scene = Scene()
    ground = scene.add_collider(Plane(), moving=True)
    scene.add_particles([[0.0, 0.5, 0.0]], 1.0)
    model = Model(scene, 2)
    state = random_state_of(model)
    rasterizer = Rasterizer(model, [AHEAD], (32, 32), ("depth",))
    rasterizer.draw(state)
    before = rasterizer.image("depth").numpy().copy()
    assert_array_equal(before[0], before[1])
    state.set_pose(ground, origin=[[0.0, 0.0, 0.0], [0.0, 0.3, 0.0]])
    rasterizer.draw(state)
    after = rasterizer.image("depth").numpy()
    assert_array_equal(after[0], before[0])
    eye = AHEAD.eye()[1]
    assert np.allclose(after[1, -1, 0, 0] / before[1, -1, 0, 0], (eye - 0.3) / eye, rtol=1e-5)


def random_state_of(model: Model) -> Any:
    from pbd_gym import Solver

    return Solver(model, substeps=10).state()


def test_a_ball_has_the_depth_of_its_surface() -> None:
    """Guards balls against the closed form: the middle is one radius nearer than the centre, the outline round."""
    scene = Scene()
    scene.add_collider(Sphere((0.0, 1.0, 0.0), 0.3))
    scene.add_particles([[0.0, -9.0, 0.0]], 1.0)
    model = Model(scene, 1)
    camera = Camera(np.array([0.0, 1.0, 0.0]), 3.0, 0.7, 0.4)
    found = pictures(model, random_state_of(model), [camera], (201, 201))
    depth = found["depth"][0, ..., 0]
    assert abs(depth[100, 100] - 2.7) < 1e-5
    radius = camera.focal((201, 201)) * 0.3 / np.sqrt(9.0 - 0.09)
    assert abs((found["segmentation"] == 2).sum() / (np.pi * radius**2) - 1.0) < 0.01


def test_what_has_blown_up_or_is_behind_the_eye_is_left_out() -> None:
    """Guards against wild writes: NaN, infinite and absurd positions draw nothing, and nothing else changes."""
    scene = Scene()
    scene.add_cloth(4, 4, position=(0.0, 1.5, 0.0), lines=False)
    model = Model(scene, 4)
    state = random_state_of(model)
    blank = random_state_of(model)
    blank.set_positions(scene.positions + np.array([0.0, 0.0, 50.0]))  # behind the eye
    positions = state.positions_scalar.numpy()
    for env, value in enumerate((np.nan, np.inf, -1e30, 1e9)):
        group, lane = divmod(env, model.lanes)
        positions[group, ..., lane] = value
    assert_array_equal(
        pictures(model, state, [AHEAD], (32, 32))["segmentation"],
        pictures(model, blank, [AHEAD], (32, 32))["segmentation"],
    )


def test_a_triangle_that_reaches_behind_the_eye_is_drawn_before_it() -> None:
    """Guards homogeneous edge functions: a sheet that the camera stands above is seen up to the near plane."""
    scene = Scene()
    scene.add_cloth(2, 2, (20.0, 20.0), position=(0.0, 0.0, -10.0), rotation=LYING, lines=False)
    model = Model(scene, 1)
    camera = Camera(np.array([0.0, 1.0, 0.0]), 1.0, 0.0, 0.2, 1.0)
    found = pictures(model, random_state_of(model), [camera], (64, 64), far=30.0)
    label = found["segmentation"][0, ..., 0]
    assert (label[-1] == 1).all() and (label[0] == 0).all()
    eye = camera.eye()[1]
    slope = np.sin(0.2) + (63.5 - 32) / camera.focal((64, 64)) * np.cos(0.2)
    assert np.allclose(found["depth"][0, -1, :, 0], eye / slope, rtol=1e-4)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"size": (0, 64)}, "positive width and height"),
        ({"size": (64, -1)}, "positive width and height"),
        ({"size": (64, 2.5)}, "whole, positive"),
        ({"cameras": []}, "at least one camera"),
        ({"images": ("rgb", "normals")}, "images must be some of"),
        ({"images": ()}, "images must be some of"),
        ({"far": 0.0}, "far must be positive"),
        ({"goal_particles": np.array([0])}, "goals must have shape"),
    ],
)
def test_errors(changes: dict[str, Any], error: str) -> None:
    """Guards bad input: one clear message each."""
    model = Model(busy_scene(), 1)
    with pytest.raises(ValueError, match=error):
        Rasterizer(model, **{"cameras": [AHEAD], **changes})


def test_errors_of_models() -> None:
    """Guards states and models that do not fit."""
    with pytest.raises(ValueError, match="float32"):
        Rasterizer(Model(busy_scene(), 1, dtype="float64"), [AHEAD])
    rasterizer = Rasterizer(Model(busy_scene(), 1), [AHEAD], (8, 8))
    with pytest.raises(ValueError, match="own model"):
        rasterizer.draw(random_state_of(Model(busy_scene(), 1)))
    with pytest.raises(MemoryError, match="pictures of 1000000 x 1000000 need"):
        Rasterizer(Model(busy_scene(), 1), [AHEAD], (1_000_000, 1_000_000))
    with pytest.raises(ValueError, match="not drawn"):
        rasterizer.image("depth")
