"""Puts four films of the gallery side by side into docs/hero.gif: ``python -m docs.figures.hero``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageSequence

from pbd_gym.rendering.pictures.images import save_gif, tile

DOCS = Path(__file__).parents[1]
FILMS = ("PBDTShirtFold-v0", "PBDPourWater-v0", "PBDClothHang-v0", "rigid")
SECONDS = 6.0
FPS = 12.5


def frames(path: Path) -> list[np.ndarray]:
    """Return the pictures of a film at :data:`FPS` for :data:`SECONDS`; a shorter one stands still at its end."""
    with Image.open(path) as film:
        shown, ends = [], []
        for picture in ImageSequence.Iterator(film):
            shown.append(np.asarray(picture.convert("RGB")))
            ends.append((ends[-1] if ends else 0.0) + picture.info["duration"] / 1000.0)
    times = np.arange(round(SECONDS * FPS)) / FPS
    # Longer ones are played faster, so that all of what happens is seen.
    pace = max(1.0, ends[-1] / SECONDS)
    return [shown[min(int(np.searchsorted(ends, t * pace, side="right")), len(shown) - 1)] for t in times]


def main() -> None:
    """Write the film."""
    films = [frames(DOCS / "gallery" / f"{name}.gif") for name in FILMS]
    save_gif(DOCS / "hero.gif", [tile(list(together), len(FILMS)) for together in zip(*films, strict=True)], FPS, 96)


if __name__ == "__main__":
    main()
