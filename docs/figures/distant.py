"""What distant colliders cost: ``python -m docs.figures.distant [rounds]``

A towel lies on a floor beside up to ten capsules, half a metre away and more, at rest or turning. Scenes take turns, so
that a machine that is shared or changes its clock treats all alike; a ratio is the median of those within a round.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from pbd_gym import Fabric, Model, Scene, Solver
from pbd_gym.colliders import Capsule, Plane
from pbd_gym.geometry.grids import LYING

SIDE = 0.4
"""Of the towel [m]."""
NUM_ENVS, SUBSTEPS, CTRL_DT = 64, 16, 1.0 / 30.0
CASES = ((0, False), (1, True), (10, True), (1, False), (10, False))
"""Number of capsules, and whether they move."""


def prepare(resolution: int, capsules: int, moving: bool) -> Callable[[], None]:
    """Return a function that steps a batch of such scenes on one thread."""
    fabric = Fabric.preset("towel")
    thickness = min(fabric.thickness, 0.5 * SIDE / resolution)
    scene = Scene(contact_radius=0.5 * thickness)
    scene.add_collider(Plane(friction=0.5))
    cloth = scene.add_cloth(resolution, resolution, (SIDE, SIDE), fabric, (0.0, 0.5 * thickness, 0.2), LYING)
    scene.add_surface_contacts(cloth.triangles, thickness, 0.5)
    for k in range(capsules):
        scene.add_collider(Capsule((0.1 * k, 0.6, 0.0), (0.1 * k, 0.8, 0.0), 0.06, friction=1.0), moving=moving)
    solver = Solver(Model(scene, NUM_ENVS, device="cpu"), SUBSTEPS, damping=0.5, threads=1, quiet=True)
    state, control = solver.state(), solver.control()
    for k in scene.moving_colliders:
        control.move_collider(k, (0.0, 0.0, 1e-4), (0.0, 1e-4, 0.0))
    for _ in range(3):
        solver.step(state, control, CTRL_DT)
    return lambda: solver.step(state, control, CTRL_DT)


def main() -> None:
    """Print the time of a step of each scene, and its ratio to that without capsules."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    for resolution in (16, 32):
        steps = [prepare(resolution, *case) for case in CASES]
        seconds = np.zeros((rounds, len(steps)))
        for turn in seconds:
            for k, step in enumerate(steps):
                begin = time.perf_counter()
                step()
                turn[k] = time.perf_counter() - begin
        ratios = np.median(seconds / seconds[:, :1], axis=0)
        for (capsules, moving), least, ratio in zip(CASES, seconds.min(axis=0), ratios, strict=True):
            how = "that turn" if moving else "at rest"
            print(
                f"{resolution} x {resolution}, {capsules} capsules {how}: {1e3 * least / NUM_ENVS:.3f} ms, {ratio:.2f}"
            )


if __name__ == "__main__":
    main()
