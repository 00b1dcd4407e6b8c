"""The renderer: what is seen, what hides what, and what it does with windows, files and bad input."""

from __future__ import annotations

import os
import subprocess
import sys

os.environ["SDL_VIDEODRIVER"] = "dummy"

import numpy as np
import pytest

pygame = pytest.importorskip("pygame")

from pbd_gym.rendering import Camera, Frame, Goal, Picker, Renderer, Style, save_gif, save_png, tile  # noqa: E402
from pbd_gym.rendering.pictures.shapes import BORDER, LINE, mesh_edges  # noqa: E402
from pbd_gym.runtime.extras import install_hint  # noqa: E402

GROUND = [((0.0, 1.0, 0.0), 0.0)]
AHEAD = Camera(target=np.array([0.0, 1.0, 0.0]), distance=3.0, yaw=0.0, pitch=0.0)
SIZE = (120, 100)
MIDDLE = (50, 60)  # row, column


def sheet(n: int = 6, z: float = 0.0, width: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return a flat sheet of n x n particles round (0, 1, z) that faces +z, and its triangles."""
    v, u = np.meshgrid(np.linspace(-0.5, 0.5, n), np.linspace(-0.5, 0.5, n), indexing="ij")
    positions = np.stack([u.ravel() * width, 1 - v.ravel() * width, np.full(n * n, z)], axis=1)
    i = np.arange(n * n).reshape(n, n)
    a, b, c, d = i[:-1, :-1].ravel(), i[:-1, 1:].ravel(), i[1:, :-1].ravel(), i[1:, 1:].ravel()
    return positions, np.concatenate([np.stack([a, c, b], 1), np.stack([b, c, d], 1)])


def draw(frame: Frame, camera: Camera | None = AHEAD, **options: object) -> np.ndarray:
    picture = Renderer("rgb_array", SIZE, **options).draw(frame, camera)  # type: ignore[arg-type]
    assert picture is not None
    return picture.astype(int)


EMPTY = Frame(np.zeros((0, 3)))


def hue(pixel: np.ndarray) -> str:
    """Name the channel that stands out, or grey."""
    return "grey" if np.ptp(pixel) < 40 else "rgb"[int(np.argmax(pixel))]


@pytest.fixture
def renderers():
    made: list[Renderer] = []

    def make(*args, **options) -> Renderer:
        made.append(Renderer(*args, **options))
        return made[-1]

    yield make
    for renderer in made:
        renderer.close()


@pytest.mark.parametrize("antialias", [True, False])
def test_picture_shape_and_content(antialias):
    renderer = Renderer("rgb_array", (90, 70), style=Style(antialias=antialias))
    positions, triangles = sheet()
    frame = Frame(positions, triangles, planes=GROUND)
    first, second = renderer.draw(frame), renderer.draw(frame)
    assert first.shape == (70, 90, 3) and first.dtype == np.uint8 and first.flags["C_CONTIGUOUS"]
    assert first is not second and not np.shares_memory(first, second)
    np.testing.assert_array_equal(first, second)
    assert len(np.unique(first.reshape(-1, 3), axis=0)) > 50
    first[:] = 0
    np.testing.assert_array_equal(renderer.draw(frame), second)
    renderer.close()
    renderer.close()
    assert renderer.closed and renderer.draw(frame) is None


def test_off_screen_needs_no_display():
    pygame.quit()
    draw(Frame(*sheet(), caption="text"))
    assert not pygame.display.get_init()


def test_renderers_survive_pygame_quit():
    renderer = Renderer("rgb_array", SIZE)
    frame = Frame(*sheet(), planes=GROUND, spheres=[((0.5, 1, 0), 0.2)], caption="text")
    before = renderer.draw(frame)
    pygame.quit()
    np.testing.assert_array_equal(renderer.draw(frame), before)


def test_each_part_shows():
    positions = np.array([[-0.3, 1.0, 0.0], [0.3, 1.2, 0.0]])
    blank = draw(EMPTY)
    for part in (
        {"lines": [[0, 1]]},
        {"planes": GROUND},
        {"spheres": [((0, 1, 0), 0.3)]},
        {"pickers": [Picker((0, 1, 0))]},
        {"goals": [Goal((0, 1, 0))]},
        {"caption": "text"},
    ):
        base = positions if "lines" in part else np.zeros((0, 3))
        assert (draw(Frame(base, **part)) != blank).any(axis=2).sum() > 20, part
    lone = (draw(Frame(positions)) != blank).any(axis=2)
    for column, row in AHEAD.project(positions, SIZE)[0].astype(int):
        assert lone[row, column]
    plain, pinned = draw(Frame(*sheet())), draw(Frame(*sheet(), pinned=[14]))
    assert (plain != pinned).any()
    line = draw(Frame(positions, lines=[[0, 1]]))
    small, large = (draw(Frame(positions, lines=[[0, 1]], beads=[1], bead_radius=r)) for r in (0.05, 0.1))
    assert 0 < (line != small).any(axis=2).sum() < (line != large).any(axis=2).sum()


def test_two_sides_of_a_cloth_differ():
    positions, triangles = sheet()
    front, back = draw(Frame(positions, triangles))[MIDDLE], draw(Frame(positions, triangles[:, ::-1]))[MIDDLE]
    assert hue(front) == "b" and hue(back) == "r"


def test_nearer_cloth_hides_farther_one():
    near, triangles = sheet(z=0.4)
    far, _ = sheet(z=-0.4)
    positions, flipped = np.concatenate([near, far]), triangles[:, ::-1] + len(near)
    for both in (np.concatenate([triangles, flipped]), np.concatenate([flipped, triangles])):
        assert hue(draw(Frame(positions, both))[MIDDLE]) == "b"
    behind = Camera(AHEAD.target, AHEAD.distance, np.pi, 0.0)
    # From behind, the far sheet is the nearer one and shows the side that its flipped triangles call the front.
    assert hue(draw(Frame(positions, np.concatenate([triangles, flipped])), behind)[MIDDLE]) == "b"


def test_nearer_sphere_hides_farther_one():
    small_near, large_far = ((0.0, 1.0, 1.0), 0.15), ((0.0, 1.0, -1.0), 0.6)
    near_only = draw(Frame(EMPTY.positions, spheres=[small_near]))[MIDDLE]
    far_only = draw(Frame(EMPTY.positions, spheres=[large_far]))
    assert np.abs(near_only - far_only[50, 75]).max() > 3
    for spheres in ([small_near, large_far], [large_far, small_near]):
        both = draw(Frame(EMPTY.positions, spheres=spheres))
        np.testing.assert_array_equal(both[MIDDLE], near_only)
        np.testing.assert_array_equal(both[50, 90], far_only[50, 90])


def test_sphere_and_cloth_hide_each_other():
    sphere = [((0.0, 1.0, 0.0), 0.3)]
    alone = draw(Frame(EMPTY.positions, spheres=sphere))
    behind, triangles = sheet(z=-0.6, width=0.3)
    np.testing.assert_array_equal(draw(Frame(behind, triangles, spheres=sphere)), alone)
    before, _ = sheet(z=0.6, width=0.3)
    assert hue(draw(Frame(before, triangles, spheres=sphere))[MIDDLE]) == "b"


def test_cloth_on_top_of_a_sphere_is_seen_beyond_its_centre():
    """The far half of the top lies deeper than the ball's centre and still is in front of the ball."""
    n, radius = 8, 0.4
    positions, triangles = sheet(n, width=0.5)
    x, z = positions[:, 0], positions[:, 1] - 1.0  # laid flat: the row of particles at the top goes to the back
    positions = np.stack([x, 1 + np.sqrt((radius + 0.01) ** 2 - x**2 - z**2), -z], axis=1)
    above = Camera(AHEAD.target, 3.0, 0.0, 0.8)
    picture = draw(Frame(positions, triangles, spheres=[((0, 1, 0), radius)]), above)
    spots = np.array([[0.0, 1 + np.sqrt(radius**2 - 0.04), -0.2], [0.0, 1 + radius, 0.0]])
    pixels, depth = above.project(spots, SIZE)
    assert depth[0] > 3.0 - radius * 0.5
    for column, row in pixels.astype(int):
        assert hue(picture[row, column]) == "b"


def test_sphere_hides_picker_behind_it_and_a_goal_shines_through():
    """A picker that is hidden is not seen at all; of a hidden goal, a faint ring shows where to go."""
    sphere = [((0.0, 1.0, 0.0), 0.3)]
    alone = draw(Frame(EMPTY.positions, spheres=sphere))
    hidden = Frame(EMPTY.positions, spheres=sphere, pickers=[Picker((0, 1, -0.5), 0.05)])
    np.testing.assert_array_equal(draw(hidden), alone)
    marks = {"pickers": [Picker((0, 1, 0.5), 0.05)]}
    assert (draw(Frame(EMPTY.positions, spheres=sphere, **marks)) != alone).any()
    behind, before = (
        np.abs(draw(Frame(EMPTY.positions, spheres=sphere, goals=[Goal((0, 1, z), 0.1)])) - alone) for z in (-0.5, 0.5)
    )
    assert 10 < behind.max() < 0.4 * before.max()
    assert 0 < (behind > 5).any(axis=2).sum() < 0.5 * (before > 5).any(axis=2).sum()  # a ring, no disc


def test_goal_turns_green_and_picker_shows_that_it_holds():
    def colour(frame: Frame) -> str:
        return hue(draw(frame)[MIDDLE])

    assert colour(Frame(EMPTY.positions, goals=[Goal((0, 1, 0), 0.1)])) == "b"
    assert colour(Frame(EMPTY.positions, goals=[Goal((0, 1, 0), 0.1, True)])) == "g"
    assert colour(Frame(EMPTY.positions, pickers=[Picker((0, 1, 0), 0.1)])) == "grey"
    assert colour(Frame(EMPTY.positions, pickers=[Picker((0, 1, 0), 0.1, True)])) == "r"


def test_shadow_lies_on_the_ground_straight_below():
    camera = Camera(np.array([0.0, 0.5, 0.0]), 3.0, 0.0, 0.5)
    positions, triangles = sheet(width=0.4)
    flat = np.stack([positions[:, 0], np.full(len(positions), 0.8), positions[:, 1] - 1], axis=1)
    bare, shaded = (
        draw(Frame(EMPTY.positions, planes=GROUND), camera),
        draw(Frame(flat, triangles, planes=GROUND), camera),
    )
    (column, row), *_ = camera.project(np.zeros((1, 3)), SIZE)[0].astype(int)
    assert (shaded[row, column] < bare[row, column] - 20).all()
    assert (shaded[row, 5] == bare[row, 5]).all()


@pytest.mark.parametrize("wild", [np.nan, -np.inf, 1e300])
def test_nothing_that_is_not_finite_or_behind_the_eye_is_drawn(wild):
    positions, triangles = sheet()
    frame = Frame(np.full_like(positions, wild), triangles, lines=[[0, 1]], pinned=[0], planes=GROUND)
    np.testing.assert_array_equal(draw(frame), draw(Frame(EMPTY.positions, planes=GROUND)))
    away = Frame(
        positions + np.array([0, 0, 9]), triangles, lines=[[0, 1]], spheres=[((0, 1, 9), 1)],
        goals=[Goal((0, 1, 9))], pickers=[Picker((0, 1, 9))], pinned=[0],
    )  # fmt: skip
    np.testing.assert_array_equal(draw(away), draw(EMPTY))
    assert draw(frame, None).any()  # a default camera is found all the same


@pytest.mark.parametrize("seed", range(25))
def test_wild_scenes_in_tiny_pictures_are_drawn(seed):
    """Nothing overflows or warns, whatever a simulation gives and wherever the camera stands."""
    rng = np.random.default_rng(seed)
    size = tuple(rng.choice([1, 2, 3, 17, 64], 2).tolist())
    magnitude = 10.0 ** rng.integers(-6, 9)
    positions = rng.normal(size=(36, 3)) * magnitude
    positions[rng.integers(0, 36, 3)] = rng.choice([np.nan, np.inf, 1e300, positions[0, 0]])
    frame = Frame(
        positions,
        sheet()[1],
        lines=rng.integers(0, 36, (9, 2)),
        planes=[(rng.normal(size=3), rng.normal()) for _ in range(3)],
        spheres=[(rng.normal(size=3) * rng.choice([0.1, 100]), rng.uniform(0.01, 3)) for _ in range(3)],
        pickers=[Picker(rng.normal(size=3), rng.uniform(0.001, 2), True), Picker((np.nan, 0, 0))],
        goals=[Goal(rng.normal(size=3) * magnitude, rng.uniform(0.001, 2))],
        pinned=rng.integers(0, 36, 4),
        caption="one\n\ntwo",
    )
    camera = Camera(rng.normal(size=3), rng.uniform(0.05, 5), rng.uniform(-3, 3), rng.uniform(-2, 2))
    for seen_from in (camera, None):
        picture = Renderer("rgb_array", size, style=Style(antialias=bool(seed % 3))).draw(frame, seen_from)
        assert picture.shape == (size[1], size[0], 3) and picture.any()


def test_default_camera_shows_all_and_stays():
    renderer = Renderer("rgb_array", (300, 200))
    positions, triangles = sheet()
    positions += np.array([0, 0.1, 0])
    renderer.draw(Frame(positions, triangles, planes=GROUND))
    camera = renderer.camera
    pixels, _ = camera.project(np.concatenate([positions, [[0, 0, 0]]]), (300, 200))
    assert (pixels > 0).all() and (pixels < [300, 200]).all()
    assert np.ptp(pixels[:, 1]) > 100
    renderer.draw(Frame(positions * 5, triangles))
    assert renderer.camera is camera


def test_camera_round_trips():
    rng = np.random.default_rng(0)
    for _ in range(200):
        size = (int(rng.integers(50, 900)), int(rng.integers(50, 900)))
        camera = Camera(rng.normal(size=3), rng.uniform(0.5, 5), rng.uniform(-4, 4), rng.uniform(-1.5, 1.5), 0.9)
        pixel, depth = rng.uniform(0, size), rng.uniform(0.1, 9)
        point = camera.unproject(pixel, depth, size)
        pixels, depths = camera.project(point[None], size)
        np.testing.assert_allclose(pixels[0], pixel, atol=1e-6)
        np.testing.assert_allclose(depths[0], depth, rtol=1e-9)
        origin, direction = camera.ray(pixel, size)
        np.testing.assert_allclose(np.cross(direction, point - origin), 0, atol=1e-8)
        np.testing.assert_allclose([np.linalg.norm(direction), direction @ (point - origin) > 0], [1, 1])


def test_camera_directions():
    points = AHEAD.target + np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1], [0, 0, 5]])
    pixels, depth = AHEAD.project(points, SIZE)
    np.testing.assert_allclose(pixels[0], [60, 50])
    assert pixels[1, 0] > 60 and pixels[2, 1] < 50
    np.testing.assert_allclose(depth, [3, 3, 3, 2.9, -2], atol=1e-12)
    assert np.isnan(pixels[4]).all() and np.isfinite(pixels[:4]).all()
    assert Camera(yaw=0.5).eye()[0] > 0 and Camera(pitch=0.5).eye()[1] > 0


def test_camera_moves():
    camera = Camera(AHEAD.target, 3.0, 0.0, 0.0)
    edge = np.array([[0.0, 1.0, 0.3]])  # on the near side, which a drag takes along
    camera.orbit(20, 10)
    pixels, _ = camera.project(edge, SIZE)
    assert pixels[0, 0] > 60 and pixels[0, 1] > 50
    np.testing.assert_allclose(camera.project(camera.target[None], SIZE)[1], 3.0)
    camera.zoom(2)
    assert camera.distance == 1.5
    target = camera.target
    camera.pan(7, -3, SIZE)
    np.testing.assert_allclose(camera.project(target[None], SIZE)[0], [[67, 47]])
    camera.orbit(0, 1e6)
    assert np.isfinite(camera.axes()).all() and camera.pitch < np.pi / 2
    with pytest.raises(ValueError, match="zoom"):
        camera.zoom(0)


@pytest.mark.parametrize("size", [(400, 100), (100, 400), (64, 64)])
def test_fitted_camera_fills_the_picture(size):
    lower, upper = np.array([-1.0, 0.0, -0.2]), np.array([0.5, 2.0, 0.4])
    corners = np.array(np.meshgrid(*zip(lower, upper, strict=True))).reshape(3, -1).T
    pixels, depth = Camera.fit(lower, upper, size).project(corners, size)
    assert (depth > 0).all() and (pixels > 0).all() and (pixels < size).all()
    assert (np.ptp(pixels, axis=0) / size).max() > 0.7


def test_grid_diagonals_get_no_line():
    triangles = sheet(4)[1]
    kinds = mesh_edges(triangles.astype(np.int64).tobytes(), len(triangles))
    assert (kinds == BORDER).sum() == 12 and (kinds == 0).sum() == 18  # 9 diagonals, each in two triangles
    assert (kinds == LINE).sum() == 2 * (24 - 12)


def test_human_mode_and_closing_its_window(renderers):
    pygame.quit()
    first, second = renderers("human", SIZE, "one", 0), renderers("human", SIZE, "two", 0)
    off_screen = Renderer("rgb_array", SIZE)
    frame = Frame(*sheet())
    expected = off_screen.draw(frame, AHEAD)
    assert first.draw(frame, AHEAD) is None
    assert pygame.display.get_surface().get_size() == SIZE
    shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    np.testing.assert_array_equal(shown, expected)
    second.draw(frame)  # beside the first
    assert pygame.display.get_surface().get_size() == (240, 100)
    second.close()
    second.close()
    assert not first.closed and pygame.display.get_init()

    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_a))
    first.draw(frame)
    assert pygame.K_a in [event.key for event in first.events if event.type == pygame.KEYDOWN]
    first.show(np.zeros((30, 40, 3), np.uint8))
    assert pygame.display.get_surface().get_size() == (40, 30)

    pygame.event.post(pygame.event.Event(pygame.QUIT))
    first.draw(frame)
    assert first.closed and not pygame.display.get_init()
    assert first.draw(frame) is None
    first.show(expected)
    assert not pygame.display.get_init()  # no new window
    np.testing.assert_array_equal(off_screen.draw(frame, AHEAD), expected)


def test_mouse_turns_and_zooms_the_default_camera(renderers):
    renderer = renderers("human", SIZE, fps=0)
    frame = Frame(*sheet())
    renderer.draw(frame)
    yaw, distance = renderer.camera.yaw, renderer.camera.distance
    pygame.event.post(pygame.event.Event(pygame.MOUSEMOTION, pos=(0, 0), rel=(10, 0), buttons=(0, 0, 1)))
    pygame.event.post(pygame.event.Event(pygame.MOUSEWHEEL, x=0, y=1))
    renderer.draw(frame)
    assert renderer.camera.yaw < yaw and renderer.camera.distance < distance


def test_a_display_that_the_application_started_is_left_alone(renderers):
    pygame.display.init()
    renderer = renderers("human", SIZE, fps=0)
    renderer.draw(Frame(*sheet()))
    renderer.close()
    assert pygame.display.get_init()
    pygame.quit()


def test_no_display_is_one_clear_error():
    code = (
        "import numpy as np; from pbd_gym.rendering import Frame, Renderer\n"
        "try: Renderer('human').draw(Frame(np.zeros((1, 3))))\n"
        "except RuntimeError as e: print(e)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "SDL_VIDEODRIVER": "nonesuch"}, capture_output=True, text=True
    )
    assert "rgb_array" in run.stdout, run.stderr
    assert run.stdout.count("\n") == 1  # pygame does not greet


def test_import_without_pygame():
    code = (
        "import sys; sys.modules['pygame'] = None; import pbd_gym.rendering as r\n"
        "try: r.Renderer()\n"
        "except ImportError as e: print(e)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.strip() == f"pygame is needed to render: {install_hint('render')}", run.stderr


def test_tile_layout():
    images = [np.full((4, 6, 3), 10 * i, np.uint8) for i in range(5)]
    sheet_ = tile(images, pad=1)
    assert sheet_.shape == (2 * 4 + 1, 3 * 6 + 2, 3) and sheet_.dtype == np.uint8
    for i in range(5):
        row, column = divmod(i, 3)
        assert (sheet_[row * 5 : row * 5 + 4, column * 7 : column * 7 + 6] == 10 * i).all()
    assert (sheet_[4] == 255).all() and (sheet_[5:, 14:] == 255).all()
    assert tile(images, columns=5, pad=0).shape == (4, 30, 3)
    assert tile(images, columns=1).shape == (28, 6, 3)


def test_png_reads_back(tmp_path):
    image = np.random.default_rng(0).integers(0, 256, (7, 5, 3), dtype=np.uint8)
    save_png(tmp_path / "a.png", image)
    loaded = pygame.surfarray.array3d(pygame.image.load(tmp_path / "a.png")).swapaxes(0, 1)
    np.testing.assert_array_equal(loaded, image)


def test_gif_reads_back(tmp_path):
    image = pytest.importorskip("PIL.Image")
    renderer = Renderer("rgb_array", (64, 48))
    positions, triangles = sheet()
    goal = Goal((-0.6, 1.0, 0.3), 0.05, True)
    pictures = [renderer.draw(Frame(positions + 0.05 * i, triangles, goals=[goal]), AHEAD) for i in range(6)]
    (column, row), *_ = AHEAD.project(goal.position, (64, 48))[0].astype(int)
    save_gif(tmp_path / "a.gif", pictures, fps=20)
    with image.open(tmp_path / "a.gif") as gif:
        assert gif.n_frames == 6 and gif.size == (64, 48) and gif.info["loop"] == 0
        for i, picture in enumerate(pictures):
            gif.seek(i)
            assert gif.info["duration"] == 50
            error = np.abs(np.asarray(gif.convert("RGB")).astype(int) - picture)
            assert error.mean() < 4
            assert error[row, column].max() < 40  # small things keep their colour


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"positions": np.zeros((4, 2))}, "positions must have shape"),
        ({"positions": np.zeros(3)}, "positions must have shape"),
        ({"positions": np.array([["a", "b", "c"]])}, "numbers"),
        ({"triangles": [[0, 1]]}, "triangles must have shape"),
        ({"triangles": [[0, 1, 4]]}, "triangles must index the 4 positions"),
        ({"triangles": [[0, 1, 2.5]]}, "whole numbers"),
        ({"lines": [[0, -1]]}, "lines must index"),
        ({"pinned": [[0]]}, "pinned must have shape"),
        ({"planes": [((0, 0, 0), 1.0)]}, "normal"),
        ({"planes": [((0, 1), 1.0)]}, "normal"),
        ({"spheres": [((0, 1), 1.0)]}, "centre"),
        ({"spheres": [((0, 1, 0), 0.0)]}, "radii"),
        ({"line_radius": np.nan}, "radii"),
        ({"beads": [4]}, "beads must index"),
        ({"bead_radius": 0.0}, "radii"),
    ],
)
def test_bad_frames_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        Frame(**{"positions": np.zeros((4, 3)), **fields})


@pytest.mark.parametrize(
    "call",
    [
        lambda: Picker((0, 1)),
        lambda: Picker((0, 1, 0), 0.0),
        lambda: Goal((0, 1, 0, 0)),
        lambda: Goal((0, 1, 0), -1.0),
        lambda: Renderer("ansi"),
        lambda: Renderer("rgb_array", (0, 10)),
        lambda: Renderer("rgb_array", (10, -1)),
        lambda: Renderer("rgb_array", (10.5, 10)),
        lambda: Renderer("human", fps=-1),
        lambda: Camera(distance=0.0),
        lambda: Camera(fov=4.0),
        lambda: Camera(target=np.zeros(2)),
        lambda: Camera.fit([0, 0, 0], [1, -1, 1]),
        lambda: Camera.fit([0, 0, 0], [1, np.inf, 1]),
        lambda: tile([]),
        lambda: tile([np.zeros((2, 2, 3), np.uint8), np.zeros((3, 2, 3), np.uint8)]),
        lambda: tile([np.zeros((2, 2, 3))]),
        lambda: tile([np.zeros((2, 2, 3), np.uint8)], columns=0),
        lambda: save_gif("never.gif", []),
        lambda: save_gif("never.gif", [np.zeros((2, 2, 3), np.uint8)], fps=0),
        lambda: save_png("never.png", np.zeros((2, 2), np.uint8)),
    ],
)
def test_bad_arguments_are_refused(call):
    with pytest.raises(ValueError):
        call()


def test_only_a_window_shows_pictures():
    with pytest.raises(RuntimeError, match="human"):
        Renderer("rgb_array").show(np.zeros((2, 2, 3), np.uint8))
