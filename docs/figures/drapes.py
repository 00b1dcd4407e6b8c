"""Draws docs/drapes.png: discs of some fabrics in Cusick's drape test, from the side and from above.

Run ``python -m docs.figures.drapes``; about a minute.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from benchmarks.drape import drape
from benchmarks.fabrics import CELLS
from pbd_gym.materials.fabrics import Fabric
from pbd_gym.rendering import Camera, Frame, Renderer, save_png, tile

NAMES = ("silk", "tshirt", "towel", "denim")
SIZE = 240


def main() -> None:
    """Write the picture."""
    side = Camera(target=np.array([0.0, -0.03, 0.0]), distance=0.62, yaw=0.5, pitch=0.5)
    above = Camera(target=np.zeros(3), distance=0.66, yaw=0.0, pitch=0.5 * math.pi - 0.01)
    pictures = []
    for name in NAMES:
        fabric = Fabric.preset(name)
        found = drape(fabric, CELLS[-1])
        frame = Frame(found.positions[0], triangles=found.triangles.astype(np.int64))
        pictures.append([Renderer("rgb_array", (SIZE, SIZE)).draw(frame, camera) for camera in (side, above)])
        print(f"{name}: {found.coefficient:.0%}", flush=True)
    images = [pair[k] for k in (0, 1) for pair in pictures]
    save_png(Path(__file__).parents[1] / "drapes.png", tile(np.stack(images), len(NAMES)))


if __name__ == "__main__":
    main()
