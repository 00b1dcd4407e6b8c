"""Pictures as arrays: tiling them, and writing PNG and GIF files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from pbd_gym.rendering.pictures.display import require_pygame
from pbd_gym.rendering.pictures.palette import reduce_colors
from pbd_gym.runtime.extras import load_optional


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
        images: each of shape (height, width, 3), uint8.
        columns: pictures in a row; as many as rows, or one more, when not given.
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
    """Write pictures of one size to an animated GIF that repeats for ever.

    All pictures share one palette. A slight pattern (ordered dither) hides the steps between its colours; it stays
    where it is, so that still areas remain still. A GIF counts time in hundredths of a second, so that 30 pictures a
    second become 33.3, and a run of equal pictures becomes one that is shown for longer.

    Args:
        path: the file.
        images: each of shape (height, width, 3), uint8.
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
    """Write pictures of one size to an MP4 file (H.264), one after the other; none is kept.

    Widths and heights that are odd get another row or column of the same colours, since H.264 has none.

    Args:
        path: the file.
        images: each of shape (height, width, 3), uint8.
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
        if writer is not None:  # half a film is of no use
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
    """Write pictures to an MP4 file or to a GIF, as the suffix says; the folder is made.

    Args:
        path: .mp4 or .gif.
        images: each of shape (height, width, 3), uint8.
        fps: pictures per second.
        colors: of a GIF's palette.

    Raises:
        ValueError: for another suffix, or as :func:`save_mp4` and :func:`save_gif`.
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
