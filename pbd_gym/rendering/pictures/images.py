"""Pictures as arrays: tiling them, and writing PNG, GIF and MP4 files.

The palette of a GIF is a choice of colours by k-means: Lloyd 1982, Least squares quantization in PCM,
doi:10.1109/TIT.1982.1056489.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pbd_gym.rendering.pictures.renderer import require_pygame
from pbd_gym.runtime.extras import load_optional

if TYPE_CHECKING:
    import pygame

_BITS = 6  # step of each channel: colours that differ by less share one place
_DITHER = (np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]) >> 2) - 2
"""Pattern added to pixels by their place, so that skies show no colour bands: Bayer's matrix over one step of colour.
It is the same in every picture, so that still areas stay still in a film.

Bayer 1973: An optimum method for two-level rendition of continuous-tone pictures, ICC 26, 11-15.
"""
_ROUNDS = 12
_HUE = 1.6
"""Weight of hue: a wrong hue is noticed sooner than a wrong brightness, since a shade of blue that turns green looks
like another object.
"""
_AXES = np.array(
    [
        [0.299, 0.587, 0.114],
        [-0.169 * _HUE, -0.331 * _HUE, 0.5 * _HUE],
        [0.5 * _HUE, -0.419 * _HUE, -0.081 * _HUE],
    ]
)
"""Brightness and two colour differences, in which distances match perception approximately."""
_RARE = 0.5
"""Exponent of a colour's count in its weight: by count alone, small objects would get the colours of large ones, and a
goal or a picker would lose its own.
"""


def reduce_colors(images: Sequence[np.ndarray], count: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return a palette for pictures, and the pictures as indices into it.

    Args:
        images: pictures of shape (height, width, 3), uint8. count: number of colours, at most 256.

    Returns:
        Colours, shape (at most count, 3), uint8; and the indices of each picture, shape (height, width), uint8.
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
    """Return the nearest centre of each point, chunk by chunk."""
    found = [
        ((centers**2).sum(axis=1) - 2.0 * part @ centers.T).argmin(axis=1)
        for part in np.array_split(points, len(points) // 4096 + 1)
    ]
    return np.concatenate(found)


def _spread(points: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
    """Return initial centres: one after the other where the most weight is farthest from the existing ones."""
    chosen = [int(weights.argmax())]
    gap = np.full(len(points), np.inf)
    for _ in range(count - 1):
        gap = np.minimum(gap, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int((gap * weights).argmax()))
    return points[chosen].copy()


def _check(image: np.ndarray) -> np.ndarray:
    image = np.asarray(image)
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or image.size == 0:
        raise ValueError(f"a picture must be uint8 of shape (height, width, 3), got {image.dtype} {image.shape}")
    return np.ascontiguousarray(image)


def _check_all(images: Sequence[np.ndarray]) -> list[np.ndarray]:
    checked = [_check(image) for image in images]
    if not checked:
        raise ValueError("at least one picture is needed")
    if len({image.shape for image in checked}) > 1:
        raise ValueError(f"pictures must have one size, got {sorted({image.shape[:2] for image in checked})}")
    return checked


def tile(images: Sequence[np.ndarray], columns: int | None = None, pad: int = 2) -> np.ndarray:
    """Put pictures of one size side by side, row by row.

    Args:
        images: pictures of shape (height, width, 3), uint8.
        columns: pictures in a row; by default as many as rows, or one more.
        pad: white pixels between neighbours.

    Returns:
        A new array of shape (rows * height + (rows - 1) * pad, columns * width + (columns - 1) * pad, 3), uint8;
        cells without a picture are white.

    Raises:
        ValueError: without pictures, with pictures of different sizes, or with a bad ``columns`` or ``pad``.
    """
    checked = _check_all(images)
    columns = int(np.ceil(np.sqrt(len(checked)))) if columns is None else columns
    if columns < 1 or pad < 0:
        raise ValueError(f"columns must be at least 1 and pad at least 0, got {columns} and {pad}")
    rows = -(-len(checked) // columns)
    height, width, _ = checked[0].shape
    sheet = np.full((rows * (height + pad) - pad, columns * (width + pad) - pad, 3), 255, np.uint8)
    for i, image in enumerate(checked):
        y, x = i // columns * (height + pad), i % columns * (width + pad)
        sheet[y : y + height, x : x + width] = image
    return sheet


def _check_gif(fps: float, colors: int) -> None:
    if not 0 < fps <= 50 or not 2 <= colors <= 256:
        raise ValueError(f"fps must be in (0, 50] and colors in 2..256, got {fps} and {colors}")


def save_png(path: str | Path, image: np.ndarray) -> None:
    """Write a picture of shape (height, width, 3), uint8, to a PNG file.

    Raises:
        ValueError: if it is not such a picture.
        ImportError: without pygame.
        OSError: if the file cannot be written.
    """
    image = _check(image)
    pygame = require_pygame()
    surface = pygame.image.frombuffer(image.tobytes(), (image.shape[1], image.shape[0]), "RGB")
    with open(path, "wb") as file:
        pygame.image.save(surface, file, "picture.png")


def save_gif(path: str | Path, images: Sequence[np.ndarray], fps: float = 30, colors: int = 256) -> None:
    """Write pictures of one size to an animated GIF that loops forever.

    All pictures share one palette. A slight fixed pattern (ordered dither) hides the steps between its colours, so that
    still areas remain still. A GIF counts time in hundredths of a second, so 30 pictures per second become 33.3, and a
    run of equal pictures becomes one that is shown longer.

    Args:
        path: the file.
        images: pictures of shape (height, width, 3), uint8.
        fps: pictures per second, at most 50: viewers slow down anything faster.
        colors: size of the palette, 2 to 256; fewer make the file smaller.

    Raises:
        ValueError: without pictures, with pictures of different sizes, or with a bad ``fps`` or ``colors``.
        ImportError: without Pillow.
        OSError: if the file cannot be written.
    """
    _check_gif(fps, colors)
    checked = _check_all(images)
    pillow = load_optional("PIL.Image", "to write a GIF", "render", "Pillow")
    palette, numbers = reduce_colors(checked, colors)
    pages = [pillow.frombytes("P", (page.shape[1], page.shape[0]), page.tobytes()) for page in numbers]
    for page in pages:
        page.putpalette(palette.tobytes())
    duration = max(round(100 / fps), 2) * 10
    pages[0].save(path, "GIF", save_all=True, append_images=pages[1:], duration=duration, loop=0, optimize=True)


def save_mp4(path: str | Path, images: Iterable[np.ndarray], fps: float = 30) -> None:
    """Write pictures of one size to an MP4 file (H.264), one after the other, without storing them.

    Odd widths and heights get another column or row of the same colours, since H.264 requires even sizes.

    Args:
        path: the file.
        images: pictures of shape (height, width, 3), uint8.
        fps: pictures per second, above 0.

    Raises:
        ValueError: without pictures, with pictures of different sizes, or with a bad ``fps``.
        ImportError: without moviepy.
        OSError: if the file cannot be written.
    """
    if not (np.isfinite(fps) and fps > 0):
        raise ValueError(f"fps must be positive and finite, got {fps}")
    ffmpeg = load_optional("moviepy.video.io.ffmpeg_writer", "to write an MP4", "train", "moviepy")
    writer, shape = None, None
    try:
        for given in images:
            image = _check(given)
            if shape is not None and image.shape != shape:
                raise ValueError(f"pictures must have one size, got {[shape[:2], image.shape[:2]]}")
            shape = image.shape
            image = np.pad(image, ((0, shape[0] % 2), (0, shape[1] % 2), (0, 0)), mode="edge")
            if writer is None:
                options = ["-movflags", "+faststart"]
                writer = ffmpeg.FFMPEG_VideoWriter(
                    str(path), image.shape[1::-1], fps, preset="medium", pixel_format="yuv420p", ffmpeg_params=options
                )
            writer.write_frame(image)
    except BaseException:
        if writer is not None:  # half a film is useless
            writer.close()
            Path(path).unlink(missing_ok=True)
        raise
    if writer is not None:
        writer.close()
    if writer is None:
        raise ValueError("at least one picture is needed")


def film_suffix(path: str | Path) -> str:
    """Return the suffix of a film.

    Raises:
        ValueError: unless it is .mp4 or .gif.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (".mp4", ".gif"):
        raise ValueError(f"a film goes to an .mp4 or a .gif file, got {Path(path).name!r}")
    return suffix


def save_film(path: str | Path, images: Iterable[np.ndarray], fps: float = 30, colors: int = 256) -> None:
    """Write pictures to an MP4 file or a GIF, depending on the suffix; the folder is created.

    Args:
        path: .mp4 or .gif file. images: pictures of shape (height, width, 3), uint8. fps: pictures per second. colors:
        size of a GIF's palette.

    Raises:
        ValueError: for an unknown suffix, or as :func:`save_mp4` and :func:`save_gif`.
        ImportError: without moviepy, or Pillow for a GIF.
    """
    file, suffix = Path(path), film_suffix(path)
    if suffix == ".gif":
        _check_gif(fps, colors)  # before the pictures, which may take a simulation each
    file.parent.mkdir(parents=True, exist_ok=True)
    if suffix == ".mp4":
        save_mp4(file, images, fps)
    else:
        save_gif(file, list(images), fps, colors)


LONGEST = 30.0
"""Longest duration of a film [s], after which it ends by itself before it fills the memory."""
FILM_SIZE = 480
"""Largest width and height of a film [pixels]."""


class Recorder:
    """Writes NAME-0001.png, NAME-0001.mp4 and so on into the current folder, never overwriting a file.

    Without moviepy, which writes MP4 files, a film is a GIF.

    Args:
        name: stem of the files.
        fps: pictures per second of films.
    """

    def __init__(self, name: str, fps: float) -> None:
        self.name = name
        self.fps = min(fps, 50.0)
        self._film: list[np.ndarray] | None = None

    @property
    def running(self) -> bool:
        """Whether a film is being recorded."""
        return self._film is not None

    @property
    def full(self) -> bool:
        """Whether the film has reached its largest duration."""
        return self._film is not None and len(self._film) >= LONGEST * self.fps

    def start(self) -> None:
        """Begin a film."""
        self._film = []

    def add(self, picture: pygame.Surface) -> None:
        """Add a picture to the film, if one is being recorded."""
        import pygame

        if self._film is None or self.full:
            return
        width, height = picture.get_size()
        scale = min(1.0, FILM_SIZE / max(width, height))
        if scale < 1.0:
            picture = pygame.transform.smoothscale(picture, (round(width * scale), round(height * scale)))
        self._film.append(pixels(picture))

    def stop(self) -> Path | None:
        """Write the film and return its file; None if there is nothing to write.

        Raises:
            ImportError: without moviepy and without Pillow.
            OSError: if the file cannot be written.
        """
        film, self._film = self._film, None
        if not film:
            return None
        path = self._free("mp4")
        try:
            save_mp4(path, film, self.fps)
        except ImportError:
            path = self._free("gif")
            save_gif(path, film, self.fps, colors=128)
        return path

    def snap(self, picture: pygame.Surface) -> Path:
        """Write one picture and return its file.

        Raises:
            OSError: if the file cannot be written.
        """
        path = self._free("png")
        save_png(path, pixels(picture))
        return path

    def try_stop(self) -> str:
        """Write the film, and return a message: a folder that cannot be written to is no reason to stop."""
        return _told(self.stop)

    def try_snap(self, picture: pygame.Surface) -> str:
        """Write one picture, and return a message."""
        return _told(lambda: self.snap(picture))

    def _free(self, suffix: str) -> Path:
        number = 1
        while (path := Path(f"{self.name}-{number:04}.{suffix}")).exists():
            number += 1
        return path


def pixels(picture: pygame.Surface) -> np.ndarray:
    """Return a copy of a surface, shape (height, width, 3), uint8."""
    import pygame

    width, height = picture.get_size()
    return np.frombuffer(pygame.image.tobytes(picture, "RGB"), np.uint8).reshape(height, width, 3).copy()


def _told(write: Callable[[], Path | None]) -> str:
    try:
        return f"saved {write()}"
    except (OSError, ImportError) as error:
        return f"not saved: {error}"
