"""What is drawn over a picture: colours of particles, lines, labels and panels with curves."""

from __future__ import annotations

import os
from typing import Any

os.environ["SDL_VIDEODRIVER"] = "dummy"

import numpy as np
import pytest

pytest.importorskip("pygame")

from pbd_gym.demos.demo import History
from pbd_gym.rendering import Camera, Curve, Frame, Panel, Renderer
from pbd_gym.rendering.pictures.charts import spread, ticks, widened

AHEAD = Camera(distance=3.0, yaw=0.0, pitch=0.0)
SIZE = (300, 300)
NOTHING = np.zeros((0, 3))
RED, BLUE = (220, 20, 30), (20, 40, 220)


def draw(frame: Frame) -> np.ndarray:
    picture = Renderer(size=SIZE).draw(frame, AHEAD)
    assert picture is not None
    return picture.astype(int)


def changed(frame: Frame) -> np.ndarray:
    """Pixels that differ from the empty picture, shape (height, width)."""
    return (np.abs(draw(frame) - draw(Frame(NOTHING))) > 12).any(axis=2)


def like(picture: np.ndarray, color: tuple[int, int, int]) -> np.ndarray:
    """Pixels whose colour is near, shape (height, width)."""
    return np.abs(picture - color).max(axis=2) < 40


def test_particles_have_their_own_colours() -> None:
    points = np.array([[-0.3, 0.0, 0.0], [0.3, 0.0, 0.0]])
    picture = draw(Frame(points, colors=np.array([RED, BLUE]), line_radius=0.1))
    pixels, _ = AHEAD.project(points, SIZE)
    for (x, y), channel in zip(pixels.round().astype(int), (0, 2), strict=True):
        assert np.argmax(picture[y, x]) == channel
    same = draw(Frame(points, line_radius=0.1))
    (x, y), (u, v) = pixels.round().astype(int)
    np.testing.assert_allclose(same[y, x], same[v, u], atol=15)  # the light falls on them a little differently


def test_solids_do_not_take_colours_from_particles() -> None:
    """A frame with solids joins their corners to the particles for the shadow, which has no colours of particles."""
    corners = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)]) * 0.2
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    box = corners, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])
    point = np.array([[-0.5, 0.0, 0.0]])
    picture = draw(
        Frame(point, colors=np.array([RED]), solids=[box], planes=[((0.0, 1.0, 0.0), -1.0)], line_radius=0.1)
    )
    (pixel,), _ = AHEAD.project(point, SIZE)
    x, y = pixel.round().astype(int)
    assert np.argmax(picture[y, x]) == 0


def test_a_line_runs_where_its_points_are_and_breaks_where_they_are_not() -> None:
    wild = np.array([[-0.5, 0.2, 0], [-0.2, 0.2, 0], [np.nan, 0, 0], [0, 0, 1e9], [0.2, 0.2, 0], [0.5, 0.2, 0]])
    seen = changed(Frame(NOTHING, polylines=[(wild, RED)]))
    pixels, _ = AHEAD.project(wild, SIZE)
    rows, columns = np.nonzero(seen)
    assert abs(rows - pixels[0, 1]).max() < 3
    on = {int(c) for c in columns}
    middle = int((pixels[1, 0] + pixels[4, 0]) / 2)
    assert middle not in on
    for a, b in ((0, 1), (4, 5)):
        assert int((pixels[a, 0] + pixels[b, 0]) / 2) in on


def test_labels_are_centred_on_their_points() -> None:
    where = np.array([0.3, 0.25, 0.0])
    (pixel,), _ = AHEAD.project(where, SIZE)
    rows, columns = np.nonzero(changed(Frame(NOTHING, labels=[(where, "label"), (np.array([0, 0, 99.0]), "behind")])))
    np.testing.assert_allclose([columns.mean(), rows.mean()], pixel, atol=4)


def test_a_label_moves_up_from_one_that_it_would_cover() -> None:
    at, above = np.array([0.3, 0.25, 0.0]), np.array([0.3, 0.28, 0.0])
    alone = changed(Frame(NOTHING, labels=[(at, "label")]))
    both = changed(Frame(NOTHING, labels=[(above, "label"), (at, "label")]))
    tall = [np.ptp(np.nonzero(seen)[0]) + 1 for seen in (alone, both)]
    assert tall[1] > 1.6 * tall[0]
    assert (both & alone).sum() == alone.sum()  # the lower one stays


def test_a_label_moves_up_from_one_that_has_moved_up() -> None:
    """Guards against words run together: WRONG: only words that are lower than where this one wants to be count."""
    first = np.array([0.3, 0.25, 0.0])
    (one, two), _ = AHEAD.project(np.array([first, first + np.array([0.1, 0.1, 0.0])]), SIZE)
    rows, columns = np.nonzero(changed(Frame(NOTHING, labels=[(first, "label")])))
    across, up = 0.1 / (two - one)[0] * 0.5 * np.ptp(columns), -0.1 / (two - one)[1] * np.ptp(rows)
    places = first + np.array([[0.0, 0.0, 0.0], [-across, 0.01 * up, 0.0], [-2.0 * across, 0.7 * up, 0.0]])
    alone = [changed(Frame(NOTHING, labels=[(place, "label")])).sum() for place in places]
    together = changed(Frame(NOTHING, labels=[(place, "label") for place in places])).sum()
    assert together > 0.97 * sum(alone)


def test_panels_show_their_curves() -> None:
    x = np.linspace(0.0, 1.0, 50)
    panels = [Panel("up", [Curve("a", x, x, RED)]), Panel("flat", [Curve("b", x, 0 * x, BLUE)], (-1.0, 1.0))]
    picture = draw(Frame(NOTHING, panels=panels))
    rows, columns = np.nonzero(like(picture, RED))
    inside = rows > 225  # below the title
    assert columns.max() < 150
    assert np.corrcoef(rows[inside], columns[inside])[0, 1] < -0.95  # rises to the right
    rows, columns = np.nonzero(like(picture, BLUE))
    inside = rows > 225
    assert columns.min() > 140
    assert np.ptp(rows[inside]) <= 3
    assert not changed(Frame(NOTHING, panels=panels))[:170].any()


def plot_rows(picture: np.ndarray, panel: Panel, curve: Curve) -> np.ndarray:
    """Rows of a curve's pixels, without those of its name, which stands to the right of the plot."""
    return np.unique(np.nonzero(like(picture, curve.color)[:, :220])[0])


@pytest.mark.parametrize("y_range", [None, (0.0, 1.0), (-1.0, 1.0)])
def test_a_curve_at_the_end_of_its_range_is_seen(y_range: tuple[float, float] | None) -> None:
    """Guards curves that vanished at their minimum: the lower edge of the plot cut off what lay on it."""
    x = np.linspace(0.0, 1.0, 40)
    low, high = y_range or (0.0, 1.0)
    flat, top = Curve("flat", x, np.full(40, low), RED), Curve("top", x, np.full(40, high), BLUE)
    panel = Panel("a panel", [flat, top], y_range)
    picture = draw(Frame(NOTHING, panels=[panel]))
    assert len(plot_rows(picture, panel, flat)) == 2  # the whole width of the line
    assert len(plot_rows(picture, panel, top)) == 2


def test_a_first_value_is_a_dot() -> None:
    curve = Curve("a", np.zeros(1), np.ones(1), RED)
    assert len(plot_rows(draw(Frame(NOTHING, panels=[Panel("t", [curve])])), Panel("t", [curve]), curve)) >= 3


@pytest.mark.parametrize("size", [(480, 480), (240, 240), (900, 300)])
@pytest.mark.parametrize("count", [1, 2])
def test_legends_fit(size: tuple[int, int], count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards legends that ran out of their panels: names go on in another line, and no two of them overlap."""
    from pbd_gym.rendering.pictures import overlay as module

    words: list[list[Any]] = []
    heading = module._heading

    def remember(font: Any, panel: Panel, direct: bool, width: int) -> Any:
        found = heading(font, panel, direct, width)
        space = module._spacing(font)
        for line in found:
            words.append([word.get_width() for word in line])
            assert sum(words[-1]) + space * (len(line) - 1) <= width
        assert sum(len(line) for line in found) >= (1 if direct else 1 + len(panel.curves))
        return found

    monkeypatch.setattr(module, "_heading", remember)
    x = np.linspace(0.0, 4.0, 20)
    names = ("exact", "explicit", "symplectic", "RK2", "implicit")
    curves = [Curve(name, x, k + x, (250, 20 * k, 0)) for k, name in enumerate(names)]
    picture = Renderer(size=size).draw(Frame(NOTHING, panels=[Panel("position [m]", curves)] * count), AHEAD)
    assert picture is not None
    assert words
    last = like(picture.astype(int), (250, 80, 0))
    assert np.ptp(np.nonzero(last)[0]) > 20  # there is still a plot with a curve that rises


def test_panels_have_an_axis_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Round numbers are written along both axes, with what they are and their unit."""
    written: list[str] = []

    class Font:
        def __init__(self, font: Any) -> None:
            self.font = font

        def render(self, text: str, *rest: Any) -> Any:
            written.append(text)
            return self.font.render(text, *rest)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.font, name)

    from pbd_gym.rendering.pictures import overlay as module

    make_font = module.make_font
    monkeypatch.setattr(module, "make_font", lambda *arguments: Font(make_font(*arguments)))
    history = History("height")
    for k in range(5):
        history.add(1.5 + 0.25 * k, 0.1 * k)
    panel = history.panel("height [m]")
    with_axis = changed(Frame(NOTHING, panels=[panel]))
    numbers = {word for word in written if word.replace(".", "").isdigit()}
    assert set(written) - numbers == {"height [m]", "time [s]"}
    assert {"0", "0.4", "2"} <= numbers and len(numbers) >= 5 and max(map(len, numbers)) <= 4
    assert with_axis.any()


@pytest.mark.parametrize(
    ("low", "high", "most", "wanted"),
    [
        (0.0, 1.0, 6, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]), (8.19, 16.9, 4, [10.0, 12.0, 14.0, 16.0]),
        (-575.0, 574.0, 3, [-500.0, 0.0, 500.0]), (1.01, 1.04, 2, [1.02, 1.04]), (0.7, 1.3, 1, [0.7, 1.3]),
        (2.0, 2.0, 5, [2.0, 2.0]), (-1e300, 1e300, 3, [-1e300, 0.0, 1e300]),
    ],
)  # fmt: skip
def test_ticks_are_round(low: float, high: float, most: int, wanted: list[float]) -> None:
    np.testing.assert_allclose(ticks(low, high, most), wanted, atol=1e-9)


def test_curves_that_coincide_are_all_seen() -> None:
    """Guards a curve that another one hid: explicit and symplectic Euler are off by the same in a throw."""
    x = np.linspace(0.0, 1.0, 60)
    for apart, least in ((0.0, 0.35), (0.5, 0.9)):
        curves = [Curve("a", x, x**2, RED), Curve("b", x, x**2 + apart, BLUE)]
        picture = draw(Frame(NOTHING, panels=[Panel("t", curves, (0.0, 2.0))]))
        for curve in curves:
            alone = draw(Frame(NOTHING, panels=[Panel("t", [curve], (0.0, 2.0))]))
            seen = like(picture, curve.color)[245:].sum() / like(alone, curve.color)[245:].sum()
            assert least < seen < 1.1


@pytest.mark.parametrize("y", [[], [1.0], [np.nan, np.inf], [3.0, 3.0], [1e300, -1e300], [np.nan, 1.0, 2.0]])
def test_panels_stand_any_numbers(y: list[float]) -> None:
    curve = Curve("wild", np.arange(float(len(y))), np.array(y))
    for size in (SIZE, (20, 20)):
        Renderer(size=size).draw(Frame(NOTHING, panels=[Panel("any", [curve]), Panel("none", [])]))


def test_history_keeps_the_last_values() -> None:
    history = History("one", "two", length=5)
    for k in range(9):
        history.add(0.1 * k, k, -k)
    one, two = history.panel("title").curves
    np.testing.assert_allclose(one.x, [0.4, 0.5, 0.6, 0.7, 0.8])
    np.testing.assert_allclose([one.y, two.y], [[4, 5, 6, 7, 8], [-4, -5, -6, -7, -8]])
    with pytest.raises(ValueError, match="2 values"):
        history.add(1.0, 1.0)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"colors": np.zeros((1, 3), int)}, "colors"),
        ({"colors": np.full((2, 3), 256)}, "colors"),
        ({"polylines": [(np.zeros((2, 2)), RED)]}, "polyline"),
        ({"labels": [(np.zeros(2), "x")]}, "label"),
    ],
)
def test_bad_fields_are_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Frame(np.zeros((2, 3)), **fields)


def test_curves_need_as_many_x_as_y() -> None:
    with pytest.raises(ValueError, match="as many"):
        Curve("a", np.zeros(3), np.zeros(4))


def test_ends_of_an_axis_are_round_and_stay_while_values_grow() -> None:
    rng = np.random.default_rng(0)
    for low, span in zip(
        rng.normal(size=200) * 10.0 ** rng.integers(-6, 6, 200), 10.0 ** rng.uniform(-6, 6, 200), strict=True
    ):
        high = low + span
        for most in (3, 5, 9):
            start, end = widened(low, high, most)
            slack = 1e-6 * span
            assert start <= low + slack and end >= high - slack and end - start <= 4.0 * span
    ends = {widened(-1.0, 1.0 + 0.001 * k, 5) for k in range(900)}
    assert len(ends) <= 3
    assert widened(2.0, 2.0, 5) == (2.0, 2.0)


def test_names_keep_apart_and_in_order() -> None:
    wanted = [0.0, 1.0, 2.0, 50.0, 99.0]
    places = spread(wanted, 10.0, 0.0, 100.0)
    assert places == sorted(places) and np.diff(places).min() >= 10.0
    assert places[3] == 50.0 and places[0] >= 0.0 and places[-1] <= 100.0
    assert spread([95.0, 96.0, 97.0], 10.0, 0.0, 100.0) == [80.0, 90.0, 100.0]
    assert spread([], 10.0, 0.0, 100.0) == []


def test_names_stand_beside_curves_where_there_is_room() -> None:
    """In the heights of their ends, in their colours; a long name goes into the heading."""
    x = np.linspace(0.0, 1.0, 20)

    def where(names: tuple[str, str]) -> list[tuple[float, float]]:
        curves = [Curve(names[0], x, x, RED), Curve(names[1], x, -x, BLUE)]
        picture = draw(Frame(NOTHING, panels=[Panel("height [m]", curves)]))
        found = []
        for color in (RED, BLUE):
            rows, columns = np.nonzero(like(picture, color))
            right = columns > np.quantile(columns, 0.9)
            found.append((float(rows[right].mean()), float(columns.max())))
        return found

    (red, red_end), (blue, blue_end) = where(("up", "down"))
    assert red < blue - 20 and min(red_end, blue_end) > 255
    heading = where(("a name that is far too long", "b"))
    assert heading[0][0] < blue
