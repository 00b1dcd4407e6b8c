"""The gallery in the docs: one small film for every id and every demonstration, and a page that shows them all."""

from __future__ import annotations

import numpy as np
from PIL import Image

from docs.figures.gallery import DOCS, FOLDER, HOLD, LARGEST, SIZE, paced, page
from pbd_gym.demos import DEMOS, THEMES
from pbd_gym.registry import ENTRIES

NAMES = [entry.id for entry in ENTRIES] + [demo.name for demo in DEMOS]


def test_the_page_is_up_to_date() -> None:
    """Guards new ids: ``python -m docs.figures.gallery ID`` makes the film, and the page anew."""
    assert (DOCS / "gallery.md").read_text() == page()
    assert {path.stem for path in FOLDER.glob("*.gif")} == set(NAMES)


def test_every_demonstration_has_its_row() -> None:
    text = (DOCS / "demonstrations.md").read_text()
    assert not [demo.name for demo in DEMOS if f"`{demo.name}`" not in text]
    assert not [theme for theme in THEMES if f"demonstrations/{theme}.png" not in text]


def test_films_are_small_and_move() -> None:
    for name in NAMES:
        path = FOLDER / f"{name}.gif"
        assert path.stat().st_size <= LARGEST
        with Image.open(path) as film:
            assert film.size == (SIZE, SIZE) and film.n_frames > 3, name
    assert sum(path.stat().st_size for path in FOLDER.glob("*.gif")) < 9_000_000


def test_films_take_as_long_as_what_they_show_and_stop_with_it() -> None:
    shades = [np.full((4, 4, 3), 25 * k, np.uint8) for k in range(11)]
    film = paced(shades + shades[-1:] * 30, 12.5)
    assert 11 + HOLD <= len(film) <= 12 + HOLD
    shown = [int(picture[0, 0, 0]) for picture in film]
    assert shown[:11] == [25 * k for k in range(11)] and set(shown[11:]) == {250}
    assert len(paced(shades * 20, 12.5)) <= 6 * 12.5 + HOLD
