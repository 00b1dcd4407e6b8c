"""States that episodes start from: made once in one batch, and kept on disk under a name that says what made them."""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

import pbd_gym
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver


def cache_folder() -> Path:
    """Return the folder of cached states: ``PBD_GYM_CACHE``, or ``pbd_gym`` in the user's cache folder."""
    folder = os.environ.get("PBD_GYM_CACHE")
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return Path(folder) if folder else home / "pbd_gym"


@functools.cache
def _source() -> str:
    """Return a hash of the package's own text: states made by other code are not taken for those of this."""
    digest = hashlib.sha256()
    for root in (Path(pbd_gym.__file__).parent, Path(__file__).parents[1]):  # the second may be a link in the first
        for path in sorted(root.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def cached(what: tuple[Any, ...], device: Any, make: Callable[[], np.ndarray]) -> np.ndarray:
    """Return an array from the cache, or make and keep it.

    Args:
        what: everything that the array depends on, with a ``repr`` that tells; the text of this package, the version of
            Warp and the kind of device count too.
        device: Warp device that makes it.
        make: makes it.
    """
    kind = "cpu" if device.is_cpu else device.name
    key = hashlib.sha256(repr((what, _source(), wp.config.version, kind)).encode()).hexdigest()[:24]
    path = cache_folder() / f"starts-{key}.npy"
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):  # not there, or cut short by a full disk
        array = make()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".npy", delete=False) as file:
            np.save(file, array)
        os.replace(file.name, path)  # at once, so that nobody reads half of it
    except OSError:
        pass  # a folder that cannot be written to costs time at the next start, no more
    return array


class Handler:
    """A batch of copies of a scene in which a script lifts, carries and drops particles.

    Args:
        scene: what one copy holds; it must have at least one grip.
        positions: where the copies begin [m], shape (copies, n, 3).
        substeps: simulation steps per step.
        step_time: duration of a step [s].
        damping: rate at which particles lose velocity [1/s].
        device: Warp device.
    """

    def __init__(
        self, scene: Scene, positions: np.ndarray, substeps: int, step_time: float, damping: float, device: str
    ) -> None:
        # Sixteen lanes whatever the number of copies: the kernel is then always the same one.
        self.model = Model(scene, len(positions), device=device, lanes=None if "cuda" in device else 16)
        self.solver = Solver(self.model, substeps, damping=damping)
        self.state, self.control = self.solver.state(), self.solver.control()
        self.state.set_positions(positions)
        self.step_time = step_time

    def grasp(self, particles: np.ndarray) -> None:
        """Let the first grips hold particles, -1 for none, shape (copies, some grips), int; the rest is let go."""
        others = self.model.grip_count - particles.shape[1]  # a person's hand is of no concern to the task
        self.state.hold(np.pad(particles, ((0, 0), (0, others)), constant_values=-1))

    def move(self, shift: np.ndarray, steps: int) -> None:
        """Move the grips by a shift in equal steps [m], shape (copies, grips, 3) or what broadcasts to it."""
        self.control.move(np.asarray(shift, dtype=np.float64) / steps)
        for _ in range(steps):
            self.solver.step(self.state, self.control, self.step_time)

    def rest(self, steps: int) -> None:
        """Let everything come to rest."""
        self.move(np.zeros(3), steps)

    def positions(self) -> np.ndarray:
        """Return the positions [m], shape (copies, n, 3)."""
        return self.state.get_positions()
