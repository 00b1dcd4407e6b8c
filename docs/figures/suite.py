"""Draws docs/suite.png: every task of the suite as an episode starts, and as its scripted expert leaves it.

Run ``python -m docs.figures.suite``; the pictures are those of the films in docs/gallery.
"""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from docs.figures.gallery import ACTORS, DOCS, FOLDER
from pbd_gym.registry import ENTRIES
from pbd_gym.rendering.pictures.images import save_png, tile

FONT = 15
"""Size of the names [pixels]."""
INK = (44, 52, 72)


def before_and_after(env_id: str) -> list[np.ndarray]:
    """Return the first picture of a film, with the name of its task, and the last."""
    with Image.open(FOLDER / f"{env_id}.gif") as film:
        found = []
        for page in (0, film.n_frames - 1):  # type: ignore[attr-defined]
            film.seek(page)
            found.append(film.convert("RGB"))
    ImageDraw.Draw(found[0]).text((6, 4), env_id, INK, ImageFont.load_default(FONT))
    return [np.asarray(picture) for picture in found]


def main() -> None:
    """Write the picture."""
    shown = [entry.id for entry in ENTRIES if entry.id not in ACTORS]
    pictures = [picture for env_id in shown for picture in before_and_after(env_id)]
    save_png(DOCS / "suite.png", tile(pictures, 8))


if __name__ == "__main__":
    main()
