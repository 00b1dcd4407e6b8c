"""Makes docs/gallery.md and its films: every id with the best agent it has, and every demonstration.

Run ``python -m docs.figures.gallery``, with names to make only some. It takes several minutes, most of them for start
states and for the demonstrations in NumPy. ``--sheet FILE.png`` puts moments of each into one picture.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageSequence

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.demos import DEMOS, find
from pbd_gym.envs.tools.recording import expert, make_batch, moments
from pbd_gym.registry import ENTRIES
from pbd_gym.rendering import Camera, Frame, Renderer, save_gif, save_png, tile
from pbd_gym.training.runs.named_policies import find_actor

DOCS = Path(__file__).parent.parent
FOLDER = DOCS / "gallery"
SIZE = 240
FPS = 12.5
COLORS = 96
LARGEST = 300_000
"""Bytes that a picture may take."""
SECONDS = 6.0
"""Longest film [s]; a longer episode is shown faster."""
STILL = 0.0005
"""Nothing moves while a smaller share of the pixels differs from the last picture."""
HOLD = 8
"""How often the last picture is repeated."""
ACTORS = {
    "PBDCloth-v0": "trained",
    "PBDRope-v0": "trained",
    "PBDSoftBody-v0": "trained",
    "PBDPendulum-v0": "trained",
}
"""Who acts in the ids without a scripted expert, as named by ``pbd-gym record --policy``."""
DEMO_SECONDS = {"cloth": 8.0}
"""Simulated time of a demonstration that takes more than four seconds [s]."""
NAMES = {"trained": "trained policy", "plan": "planner", "expert": "scripted expert"}
MARKS = {"trained": "\\*", "plan": "†", "expert": ""}
"""What marks who acts in a film on the page."""


def task_film(env_id: str) -> list[np.ndarray]:
    """Return an episode by the best agent of an id."""
    name, kwargs, act = ACTORS.get(env_id, "expert"), {}, expert
    if name != "expert":
        act, _, kwargs = find_actor(name, env_id)
    env = make_batch(env_id, 1, **kwargs)
    frames, performance = [], 0.0
    for info in moments(env, act, seed=3):
        frames.append(env.pictures.frame(0))
        performance = float(info.get("normalized_performance", [0.0])[0])
    print(f"{env_id}: {NAMES[name]}, {performance:.2f}", flush=True)
    step = env.action_time
    env.close()
    renderer = Renderer(size=(2 * SIZE, 2 * SIZE))
    camera = framed(frames, renderer.size)
    return paced([drawn(renderer, frame, camera) for frame in frames], 1.0 / step)


def framed(frames: list[Frame], size: tuple[int, int]) -> Camera:
    """Return a camera that just frames what happens; a task's own leaves room for what might."""
    points = []
    for frame in frames:
        drawn_ones = frame.positions[np.isfinite(frame.positions).all(axis=1)]
        points += [drawn_ones, *(vertices for vertices, *_ in [*frame.solids, *frame.meshes, *frame.glass])]
        for ball in [*frame.pickers, *frame.goals]:
            points.append(ball.position + ball.radius * np.array([[-1.0], [1.0]]))
    joined = np.concatenate(points)
    return Camera.overview(joined.min(axis=0), joined.max(axis=0), size)


def drawn(renderer: Renderer, frame: Frame, camera: Camera | None = None) -> np.ndarray:
    """Return a small picture of a frame."""
    picture = renderer.draw(frame, camera)
    assert picture is not None
    return shrink(picture)


def demo_film(name: str) -> list[np.ndarray]:
    """Return the first seconds of a demonstration."""
    demo = find(name)()
    renderer = Renderer(size=(2 * SIZE, 2 * SIZE))
    renderer.camera = demo.camera(renderer.size)
    pictures = []
    for step in range(round(DEMO_SECONDS.get(name, 4.0) * demo.fps) + 1):
        if step:
            demo.perform()
            demo.step()
        pictures.append(drawn(renderer, demo.frame("")))
    print(name, flush=True)
    return paced(pictures, demo.fps)


def shrink(image: np.ndarray) -> np.ndarray:
    """Return a picture of half the size, each pixel the mean of four."""
    height, width, _ = image.shape
    return image.reshape(height // 2, 2, width // 2, 2, 3).mean(axis=(1, 3)).round().astype(np.uint8)


def trimmed(pictures: list[np.ndarray]) -> list[np.ndarray]:
    """Return pictures without those at the end in which nothing moves any more."""
    last_one = pictures[-1].astype(np.int16)
    still = [(np.abs(picture - last_one).max(axis=2) > 24).mean() < STILL for picture in pictures]
    last = max((k for k, same in enumerate(still) if not same), default=0)
    return pictures[: last + 2]


def paced(pictures: list[np.ndarray], fps: float) -> list[np.ndarray]:
    """Return pictures for a film as fast as what it shows, or faster if it would be too long."""
    pictures = trimmed(pictures)
    seconds = min(len(pictures) / fps, SECONDS)
    chosen = np.linspace(0, len(pictures) - 1, max(2, round(seconds * FPS))).round().astype(int)
    return [pictures[k] for k in chosen] + [pictures[-1]] * HOLD


def save(name: str, pictures: list[np.ndarray]) -> None:
    """Write a GIF, with fewer pictures if it would be too large."""
    path = FOLDER / f"{name}.gif"
    for every in (1, 2, 3, 4):
        save_gif(path, [*pictures[:-HOLD:every], *pictures[-max(HOLD // every, 1) :]], FPS / every, COLORS)
        if path.stat().st_size <= LARGEST:
            return
    raise RuntimeError(f"{path} has {path.stat().st_size} bytes")


def page() -> str:
    """Return docs/gallery.md."""
    tasks = [(e.id, MARKS[ACTORS.get(e.id, "expert")]) for e in ENTRIES]
    parts = [
        "# Gallery",
        f"Films run in real time, long ones faster: none takes more than {SECONDS:g} s. "
        "`python -m docs.figures.gallery` makes them.",
        "## Environments",
        "What each asks for is in [environments.md](environments.md#ids). Scripted experts act; a star marks a trained "
        "policy.",
        *table(tasks),
        "## Demonstrations",
        "`pbd-gym demo NAME` runs them; [demonstrations.md](demonstrations.md) has their equations.",
        *table([(e.name, "") for e in DEMOS]),
    ]
    return "\n\n".join(parts) + "\n"


def table(entries: list[tuple[str, str]], columns: int = 4) -> Iterator[str]:
    """Return a Markdown table of films with their names, and marks, below."""
    lines = ["|" + " |" * columns, "|" + "---|" * columns]
    for k in range(0, len(entries), columns):
        row = entries[k : k + columns]
        cells = [f"![{name}](gallery/{name}.gif)<br>`{name}`{mark}" for name, mark in row]
        lines.append("| " + " | ".join(cells + [""] * (columns - len(cells))) + " |")
    yield "\n".join(lines)


def sheet(path: Path, moments_of_each: int = 4) -> None:
    """Write a picture with moments of every film, side by side."""
    found = []
    for name in [e.id for e in ENTRIES] + [e.name for e in DEMOS]:
        with Image.open(FOLDER / f"{name}.gif") as gif:
            pages = [np.asarray(page.convert("RGB")) for page in ImageSequence.Iterator(gif)]
        found += [pages[k] for k in np.linspace(0, len(pages) - 1, moments_of_each).round().astype(int)]
    save_png(path, tile(found, 2 * moments_of_each))


def main(arguments: list[str]) -> None:
    """Make everything, or what is named."""
    if "--sheet" in arguments:
        sheet(Path(arguments[arguments.index("--sheet") + 1]))
        return
    FOLDER.mkdir(exist_ok=True)
    for entry in ENTRIES:
        if not arguments or entry.id in arguments:
            save(entry.id, task_film(entry.id))
    for demo in DEMOS:
        if not arguments or demo.name in arguments:
            save(demo.name, demo_film(demo.name))
    (DOCS / "gallery.md").write_text(page())


if __name__ == "__main__":
    main(sys.argv[1:])
