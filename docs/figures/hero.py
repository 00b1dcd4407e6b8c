"""Draws docs/hero.gif, three scripted episodes and a cloth that falls over a ball: ``python -m docs.figures.hero``.

A few minutes, most of them for the T-shirt and for start states.
"""

from __future__ import annotations

import numpy as np

import pbd_gym  # noqa: F401  (registers the ids)
from docs.figures.gallery import DOCS, drawn, framed, trimmed
from pbd_gym import Fabric, Model, Plane, Scene, Solver, Sphere
from pbd_gym.envs.tools.recording import expert, make_batch, moments
from pbd_gym.rendering import Camera, Frame, Renderer, save_gif, tile
from pbd_gym.rendering.pictures.scenes import scene_frame

IDS = ("PBDTShirtFold-v0", "PBDPourWater-v0")
LAST_ID = "PBDClothHang-v0"
SIZE = 240
"""Width and height of a film [pixels]."""
SECONDS = 6.0
STILL = 1.0
"""Time for which the end is shown [s]."""
FPS = 10
COLORS = 80
ROOM = 0.9
"""Share of the width or height of a picture that what happens takes, of all moments together."""
BALL_ROOM = 1.15
"""The same for the ball: of the sheet, as it lies in the air, corners are not seen."""
BALL = 0.3
"""Radius of the ball [m]."""
SLOW = 0.5
"""Speed of the film of the ball."""


def episode(env_id: str) -> tuple[list[Frame], float]:
    """Return what is to be seen of an episode of a task's script, and the time from one frame to the next [s]."""
    env = make_batch(env_id, 1)
    frames = [env.pictures.frame(0) for _ in moments(env, expert, seed=3)]
    env.close()
    return frames, env.action_time


def cloth_over_a_ball() -> tuple[list[Frame], float, float]:
    """Return frames of a thin cloth that falls over a ball in slow motion, the time between them [s], and its room."""
    fabric = Fabric.preset("tshirt")
    scene = Scene(contact_radius=0.005)
    scene.add_collider(Plane(friction=0.5))
    scene.add_collider(Sphere(center=(0.0, BALL, 0.0), radius=BALL, friction=0.3))
    lying = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    cloth = scene.add_cloth(48, 48, (1.15, 1.15), fabric, (0.0, 0.75, 0.52), lying, lines=True)
    scene.add_surface_contacts(cloth.triangles, 0.01, friction=0.3)
    solver = Solver(Model(scene), substeps=24, damping=0.5)
    state, control = solver.state(), solver.control()
    frames = []
    for _ in range(round(SECONDS * FPS)):
        frames.append(scene_frame(scene, state.get_positions()[0]))
        for _ in range(2):
            solver.step(state, control, 0.5 * SLOW / FPS)
    print("edges through the cloth:", state.get_piercings()[0], flush=True)
    return frames, 1.0 / FPS, BALL_ROOM


def close(frames: list[Frame], size: tuple[int, int], room: float) -> Camera:
    """Return a camera that looks as that of the gallery does, so near that what happens takes ``room`` of a picture."""
    camera = framed(frames, size)
    points = np.concatenate([seen for frame in frames for seen in _points(frame)])
    for _ in range(8):  # the middle and the size that are seen change with the place of the eye
        pixels, _ = camera.project(points, size)
        lower, upper = pixels.min(axis=0), pixels.max(axis=0)
        camera.pan(*(np.array(size) / 2 - (lower + upper) / 2), size)
        camera.zoom(room / float(((upper - lower) / size).max()), size=size)
    return camera


def _points(frame: Frame) -> list[np.ndarray]:
    """Return points of all that a picture is to show, in arrays of shape (n, 3)."""
    balls = [*frame.spheres, *((ball.position, ball.radius) for ball in [*frame.pickers, *frame.goals])]
    around = np.concatenate([np.eye(3), -np.eye(3)])
    found = [frame.positions, *(part[0] for part in [*frame.solids, *frame.meshes, *frame.glass])]
    found += [np.asarray(center) + radius * around for center, radius in balls]
    return [points[np.isfinite(points).all(axis=1)] for points in map(np.asarray, found)]


def film(frames: list[Frame], step: float, room: float = ROOM) -> list[np.ndarray]:
    """Return pictures at :data:`FPS` for :data:`SECONDS`, of which the last one stands still for :data:`STILL`.

    A longer film is played faster, so that all of it is seen.
    """
    renderer = Renderer(size=(2 * SIZE, 2 * SIZE))
    camera = close(frames, renderer.size, room)
    pictures = trimmed([drawn(renderer, frame, camera) for frame in frames])
    pace = max(1.0, len(pictures) * step / (SECONDS - STILL))
    wanted = (np.arange(round(SECONDS * FPS)) / FPS * pace / step).astype(int)
    return [pictures[min(k, len(pictures) - 1)] for k in wanted]


def main() -> None:
    """Write the film."""
    films = [*map(episode, IDS), cloth_over_a_ball(), episode(LAST_ID)]
    pictures = [tile(list(together), len(films)) for together in zip(*(film(*f) for f in films), strict=True)]
    save_gif(DOCS / "hero.gif", pictures, FPS, COLORS)


if __name__ == "__main__":
    main()
