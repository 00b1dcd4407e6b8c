"""Palettes of few colours for films: a choice of colours by k-means, and the nearest one for each pixel.

Lloyd 1982: Least squares quantization in PCM, doi:10.1109/TIT.1982.1056489.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_BITS = 6  # of each channel: colours that differ by less have one place
_DITHER = (np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]) >> 2) - 2
"""What is added to a pixel by its place, so that skies show no steps from one colour to the next: Bayer's matrix over
one place of colours. It is the same in every picture, so that what stands still does so in a film as well.

Bayer 1973: An optimum method for two-level rendition of continuous-tone pictures, ICC 26, 11-15.
"""
_ROUNDS = 12
_HUE = 1.6
"""A wrong hue is seen sooner than a wrong brightness: a shade of blue that turns green looks like another thing."""
_AXES = np.array(
    [
        [0.299, 0.587, 0.114],
        [-0.169 * _HUE, -0.331 * _HUE, 0.5 * _HUE],
        [0.5 * _HUE, -0.419 * _HUE, -0.081 * _HUE],
    ]
)
"""Brightness and two differences of colour, in which distances are about as they are seen."""
_RARE = 0.5
"""Power of the count that a colour weighs with: by count alone, what is small would get the colours of what is large,
and a goal or a picker would lose its own."""


def reduce_colors(images: Sequence[np.ndarray], count: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return a palette for pictures, and the pictures by its colours.

    Args:
        images: each of shape (height, width, 3), uint8.
        count: of colours, at most 256.

    Returns:
        Colours, shape (at most count, 3), uint8; and for each picture their numbers, shape (height, width), uint8.
    """
    counts = np.zeros(1 << 3 * _BITS, np.int64)
    for image in images:
        counts += np.bincount(_cells(image).ravel(), minlength=len(counts))
    found = np.flatnonzero(counts)
    # Each cell counts as its middle.
    middle = (np.stack([found >> 2 * _BITS, found >> _BITS & 63, found & 63], axis=1) + 0.5) * (256 >> _BITS)
    points, weights = middle @ _AXES.T, counts[found].astype(np.float64) ** _RARE
    centers = _spread(points, weights, min(count, len(points)))
    nearest = _nearest(points, centers)
    for _ in range(_ROUNDS):
        total = np.bincount(nearest, weights, len(centers))
        summed = np.stack([np.bincount(nearest, weights * axis, len(centers)) for axis in points.T], axis=1)
        centers = np.where(total[:, None] > 0, summed / np.maximum(total, 1e-12)[:, None], centers)
        nearest = _nearest(points, centers)
    palette = np.clip(np.round(centers @ np.linalg.inv(_AXES).T), 0, 255).astype(np.uint8)
    table = np.zeros(len(counts), np.uint8)
    table[found] = nearest
    return palette, [table[_cells(image)] for image in images]


def _cells(image: np.ndarray) -> np.ndarray:
    height, width, _ = image.shape
    added = np.tile(_DITHER, (height // 4 + 1, width // 4 + 1))[:height, :width, None]
    red, green, blue = (np.clip(image.astype(np.int32) + added, 0, 255) >> (8 - _BITS)).transpose(2, 0, 1)
    return red << 2 * _BITS | green << _BITS | blue


def _nearest(points: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Return which centre is nearest to each point, a piece at a time."""
    found = [
        ((centers**2).sum(axis=1) - 2.0 * part @ centers.T).argmin(axis=1)
        for part in np.array_split(points, len(points) // 4096 + 1)
    ]
    return np.concatenate(found)


def _spread(points: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
    """Return points to begin with: one after the other where the most weight is farthest from those that there are."""
    chosen = [int(weights.argmax())]
    gap = np.full(len(points), np.inf)
    for _ in range(count - 1):
        gap = np.minimum(gap, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int((gap * weights).argmax()))
    return points[chosen].copy()
