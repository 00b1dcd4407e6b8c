"""How fast hands fare: ``python -m docs.figures.drags [resolution] [substeps ...]``

Two towels lie on each other. A hand takes a corner of one of them at 3 m/s across the middle of the other, under it or
over it, out on its far side and up by as much as half the way, and lets go. Does any edge go through a triangle a
second later? The substeps are those of 0.08 s; without any it takes those of the tasks, twice and four times as many,
and what :func:`pbd_gym.needed_substeps` says.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from pbd_gym import Fabric, Model, Scene, Solver, needed_substeps
from pbd_gym.colliders import Plane
from pbd_gym.geometry.grids import LYING

CASES = 640
SPEED = 3.0
"""Of the hand [m/s]."""
STEP = 0.04
"""In which the hand goes straight [s], half of a step of the tasks."""
THICKNESS, SIDE = 0.005, 0.4
"""Of the towels [m]."""
DRAGGED, LEFT = 7, 25
"""Steps that the hand takes, and those after it has let go."""


def layers(resolution: int) -> tuple[Scene, np.ndarray]:
    """Return two towels that lie on each other, not quite in line, and the corners of each, shape (2, 4)."""
    scene, corners = Scene(contact_radius=0.5 * THICKNESS, grip_count=1), []
    scene.add_collider(Plane(friction=0.75))
    for k in range(2):
        place = (0.013 * k, (0.5 + 1.2 * k) * THICKNESS, -0.5 * SIDE + 0.011 * k)
        cloth = scene.add_cloth(
            resolution, resolution, (SIDE, SIDE), Fabric.preset("towel"), place, LYING, lines=True, tethers=True
        )
        scene.add_surface_contacts(cloth.triangles, THICKNESS, 1.0)
        corners.append(np.asarray(cloth.corners))
    return scene, np.stack(corners)


def measure(resolution: int, substeps: int) -> None:
    """Print how many cases end without an edge through a triangle."""
    scene, corners = layers(resolution)
    solver = Solver(Model(scene, CASES), -(-substeps // 2), damping=1.0, quiet=True)
    state, control, rng = solver.state(), solver.control(), np.random.default_rng(0)
    begin = time.process_time()
    held = corners[np.arange(CASES) % 2, rng.integers(4, size=CASES)]
    way = (scene.positions.mean(axis=0) - scene.positions[held]) * [1.0, 0.0, 1.0]
    way += np.linalg.norm(way, axis=1, keepdims=True) * rng.uniform([-0.3, 0.0, -0.3], [0.3, 0.5, 0.3], (CASES, 3))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    state.hold(held[:, None])
    control.move(SPEED * STEP * way[:, None])
    for _ in range(DRAGGED):
        solver.step(state, control, STEP)
    state.hold(np.full((CASES, 1), -1))
    control.move(np.zeros(3))
    for _ in range(LEFT):
        solver.step(state, control, STEP)
    left = state.get_piercings()
    print(
        f"{resolution} x {resolution}, {substeps} substeps: {(left == 0).sum()} of {CASES} without piercings, the worst"
        f" of the others {left.max()}, {time.process_time() - begin:,.0f} s",
        flush=True,
    )


def main(resolution: int = 16, *substeps: int) -> None:
    """Measure towels with some numbers of substeps."""
    needed = needed_substeps(layers(resolution)[0], 2.0 * STEP, softening=0.1, speed=SPEED, forces=False)
    for count in substeps or (32, 64, 128, needed):
        measure(resolution, count)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
