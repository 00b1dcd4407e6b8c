"""Tiles: the part of one picture that a thread draws, and what every pixel of it needs to know."""

import functools
from dataclasses import dataclass
from typing import Any, no_type_check

import warp as wp

from pbd_gym.rendering.batched.shadows import COLOR as SHADOW_COLOR
from pbd_gym.rendering.batched.shadows import dark_area, dim
from pbd_gym.rendering.batched.tables import Backdrop, Canvas, Scratch


@dataclass(frozen=True)
class Images:
    """Which images a kernel draws; it is compiled for these alone."""

    rgb: bool
    depth: bool
    segmentation: bool
    shadows: bool = False
    """Whether colours are darkened by soft shadows on the ground."""
    glass: bool = False
    """Whether there are things to see through."""

    @property
    def shaded(self) -> bool:
        """Whether there are colours for shadows to darken."""
        return self.rgb and self.shadows


@wp.struct
class Tile:
    """A rectangle of one picture."""

    picture: int
    """Index among the pictures of the batch."""
    env: int
    """Environment that the picture shows."""
    camera: int
    """Camera of that environment."""
    view: int
    """Row of the camera in the table of cameras."""
    width: int
    """Of the picture [pixels]."""
    height: int
    half_w: float
    """Half the width of the picture [pixels]."""
    half_h: float
    x0: int
    """First column of the tile."""
    y0: int
    """First row."""
    x1: int
    """Column after the last."""
    y1: int
    """Row after the last."""


@wp.func
@no_type_check
def paint(canvas: Canvas, tile: Tile, x: int, y: int, color: wp.vec3, bright: float, gloss: float):
    """Write the colour of a pixel, times its brightness and with its highlight added."""
    for channel in range(3):
        value = wp.clamp(color[channel] * bright + gloss + 0.5, 0.0, 255.0)
        canvas.rgb[tile.env, y, x, 3 * tile.camera + channel] = wp.uint8(value)


@wp.func
@no_type_check
def tint(canvas: Canvas, tile: Tile, x: int, y: int, color: wp.vec3, bright: float, gloss: float, share: float):
    """Mix a share of a colour, times its brightness and with its highlight added, into that of a pixel."""
    for channel in range(3):
        under = float(canvas.rgb[tile.env, y, x, 3 * tile.camera + channel])
        over = wp.clamp(color[channel] * bright + gloss, 0.0, 255.0)
        canvas.rgb[tile.env, y, x, 3 * tile.camera + channel] = wp.uint8(under + share * (over - under) + 0.5)


@functools.cache
def make_fill(images: Images) -> Any:
    """Build the function that copies the backdrop into a tile, and darkens it where shadows are."""

    @wp.func
    @no_type_check
    def fill(
        backdrop: Backdrop,
        canvas: Canvas,
        scratch: Scratch,
        tile: Tile,
    ):
        """Copy the backdrop, and darken it where shadows are."""
        row = tile.picture % backdrop.nearness.shape[0]
        for y in range(tile.y0, tile.y1):
            for x in range(tile.x0, tile.x1):
                scratch.nearness[tile.picture, y, x] = backdrop.nearness[row, y, x]
                if wp.static(images.rgb):
                    for channel in range(3):
                        canvas.rgb[tile.env, y, x, 3 * tile.camera + channel] = backdrop.color[row, y, x, channel]
                if wp.static(images.segmentation):
                    canvas.segmentation[tile.env, y, x, tile.camera] = backdrop.label[row, y, x]
        if wp.static(images.shaded):
            box = dark_area(scratch, tile.picture, tile.width, tile.height)
            for j in range(wp.max(tile.y0, box[1]), wp.min(tile.y1, box[3])):
                for i in range(wp.max(tile.x0, box[0]), wp.min(tile.x1, box[2])):
                    dark = dim(scratch, tile.picture, box, i, j, tile.width, tile.height)
                    for shaded_channel in range(3):
                        under = float(canvas.rgb[tile.env, j, i, 3 * tile.camera + shaded_channel])
                        mixed = under + dark * (SHADOW_COLOR[shaded_channel] - under)
                        canvas.rgb[tile.env, j, i, 3 * tile.camera + shaded_channel] = wp.uint8(mixed + 0.5)

    return fill
