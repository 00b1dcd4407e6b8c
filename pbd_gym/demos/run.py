"""``pbd-gym demo NAME``: shows a demonstration in a window, or writes it to a GIF or PNG file."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np

from pbd_gym.demos import DEMOS, THEMES, find
from pbd_gym.demos.demo import Demo
from pbd_gym.demos.options import add_arguments, shown
from pbd_gym.demos.theory import THEORIES
from pbd_gym.demos.window import DemoWindow
from pbd_gym.rendering import Renderer, save_gif, save_png, tile
from pbd_gym.rendering.window.web import PORT, Page
from pbd_gym.runtime.compilation import compiling
from pbd_gym.runtime.files import check_writable
from pbd_gym.runtime.messages import Progress


def main(arguments: Sequence[str]) -> int:
    """Run the command. Returns the exit status.

    Args:
        arguments: the name of a demonstration or ``all``, and its options.

    Raises:
        ValueError: for an unknown name, an option out of its range, or a file that is neither GIF nor PNG.
        OSError: for a file that cannot be written.
        ImportError: without pygame, or without Pillow for a GIF.
        DisplayError: without a display and without ``--out``.
    """
    name = arguments[0]
    if name == "all":
        together = argparse.ArgumentParser(prog="pbd-gym demo all", description="A picture of every demonstration.")
        together.add_argument("--out", type=Path, metavar="FILE", required=True, help="a .png")
        together.add_argument("--theme", choices=tuple(THEMES), help="show only the demonstrations of a theme")
        wanted = together.parse_args(arguments[1:])
        with compiling():
            overview(wanted.out, wanted.theme)
        print(f"wrote {wanted.out}")
        return 0
    demo_type = find(name)
    args = _parser(name, demo_type).parse_args(arguments[1:])
    if args.out is not None:
        args.size = 480 if args.size is None else args.size
        check(args.out, args.seconds, args.size, args.moments)
    chosen = {f.name: getattr(args, f.name) for f in fields(demo_type.options_type)}
    with compiling():  # which also keeps Warp's own greeting off the screen
        demo = demo_type(demo_type.options_type(**chosen))
    if args.out is None:
        size = 800 if args.size is None else args.size
        window = DemoWindow(name, demo, (size, size))
        if args.web is not None:
            Page(window, args.web).run()
        else:
            print(window.help_text())
            window.run()
    else:
        write(args.out, demo, args.seconds, args.size, args.moments)
        print(f"wrote {args.out}")
    return 0


def check(path: Path, seconds: float, size: int, moments: int) -> None:
    """Check that :func:`write` can do what is asked, before a demonstration is built.

    Raises:
        ValueError: for a file of an unsupported kind, or a number out of its range.
        OSError: for a file that cannot be written.
    """
    if path.suffix.lower() not in (".gif", ".png", ""):
        raise ValueError(f"--out must name a .gif or a .png file or a folder, got {path}")
    for label, value, low, high in (
        ("seconds", seconds, 0.0, 600.0),
        ("size", size, 16, 4096),
        ("moments", moments, 1, 64),
    ):
        if not low <= value <= high or value == 0:
            raise ValueError(f"--{label} must be above 0 and in {low:g} to {high:g}, got {value:g}")
    check_writable(path, folder=not path.suffix)


def write(path: Path, demo: Demo, seconds: float, size: int = 480, moments: int = 1) -> None:
    """Run a demonstration without a window and save its pictures.

    Args:
        path: a GIF, a PNG of its end, or a folder of PNGs, one per frame; folders are made.
        demo: demonstration at its start.
        seconds: simulated time, above 0 and at most 600.
        size: width and height of a picture [pixels], 16 to 4096.
        moments: pictures in a PNG, side by side, at even times from the start; 1 shows the end alone.

    Raises:
        ValueError, OSError: as :func:`check`.
        ImportError: without pygame, or without Pillow for a GIF.
    """
    check(path, seconds, size, moments)
    path.parent.mkdir(parents=True, exist_ok=True)
    count = max(1, round(seconds * demo.fps)) + 1
    if path.suffix.lower() == ".gif":
        save_gif(path, list(_film(demo, size, set(range(count)))), demo.fps, colors=128)
    elif not path.suffix:
        path.mkdir(exist_ok=True)
        for number, picture in enumerate(_film(demo, size, set(range(count)))):
            save_png(path / f"{number:05d}.png", picture)
    else:
        save_png(path, tile(list(_film(demo, size, {round(t) for t in np.linspace(count - 1, 0, moments)}))))


def overview(path: Path, theme: str | None = None, seconds: float = 2.2, size: int = 480) -> None:
    """Write a PNG that shows every demonstration (of a theme) after ``seconds``, with its name.

    Raises:
        ValueError: for a file that is not a PNG.
        OSError: for one that cannot be written.
        ImportError: without pygame.
    """
    if path.suffix.lower() != ".png":
        raise ValueError(f"all demonstrations together go into a .png file, got {path}")
    check_writable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    pictures = []
    for entry in DEMOS:
        if theme not in (None, entry.theme):
            continue
        demo = find(entry.name)()
        pictures += _film(demo, size, {round(seconds * demo.fps)}, entry.name)
    save_png(path, tile(pictures, columns=min(4, len(pictures))))


def _film(demo: Demo, size: int, steps: set[int], caption: str | None = None) -> Iterator[np.ndarray]:
    """Run a demonstration unattended and draw it after some steps, with its numbers unless there is a caption."""
    renderer = Renderer(size=(size, size))
    renderer.camera = demo.camera(renderer.size)
    progress = Progress("frames simulated", max(steps))
    for step in range(max(steps) + 1):
        if step:
            progress.step()
            demo.perform()
            demo.step()
        if step in steps:
            text = f"{shown(demo.options, every=False)}\n{demo.readout()}" if caption is None else caption
            picture = renderer.draw(demo.frame(text))
            assert picture is not None  # only a window returns none
            yield picture


def _parser(name: str, demo_type: type[Demo]) -> argparse.ArgumentParser:
    text = f"{inspect.getdoc(demo_type)}\n\n{THEORIES[name].text(width=110)}"
    parser = argparse.ArgumentParser(
        prog=f"pbd-gym demo {name}", description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    picture = parser.add_argument_group("where it is shown (in a window, without --out)")
    picture.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="write a .gif, a .png of the end, or a folder with a .png of every frame; needs no display",
    )
    picture.add_argument("--seconds", type=float, default=4.0, metavar="X", help="duration of the film (default 4)")
    picture.add_argument(
        "--web", type=int, nargs="?", const=PORT, metavar="PORT", help=f"show it in a browser instead (port {PORT})"
    )
    picture.add_argument("--size", type=int, metavar="N", help="width and height [pixels] (default 800, for files 480)")
    picture.add_argument(
        "--moments", type=int, default=1, metavar="N", help="pictures in a .png, side by side (default 1)"
    )
    add_arguments(parser, demo_type.options_type)
    return parser
