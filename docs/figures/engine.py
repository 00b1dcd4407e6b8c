"""Draws the pictures of docs/engine.md: what each of its snippets builds, some time later.

Run ``python -m docs.figures.engine``; a minute, most of it for kernels. The snippets are taken from the page itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from docs.figures.gallery import shrink
from pbd_gym import Model, Plane, Solver
from pbd_gym.rendering import Camera, Renderer, save_png, tile
from pbd_gym.rendering.pictures.scenes import scene_frame

DOCS = Path(__file__).parent.parent
SIZE = 240


@dataclass(frozen=True)
class View:
    """What is drawn of a section of the page."""

    picture: str
    moments: tuple[float, ...]
    """After what times [s]."""
    ground: bool = False
    """Whether a ground is added, where the snippet has none."""


VIEWS = {
    "The engine": View("hanging", (0.0, 0.3, 1.0)),
    "Bodies and materials": View("bodies", (0.0, 0.4, 1.0), ground=True),
    "Fine and thin cloth": View("thin", (0.0, 0.0, 0.0)),
    "Colliders": View("colliders", (0.0, 0.5, 1.0)),
    "Shape matching": View("shape-matching", (0.0, 0.35, 1.0), ground=True),
}
