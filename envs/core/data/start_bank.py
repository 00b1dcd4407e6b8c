"""Start states of episodes: made once in one batch, and cached on disk under a digest of what determines them."""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.envs.core.data.identity import identity_of, package_digest
from pbd_gym.runtime.files import locked, replacing
from pbd_gym.runtime.messages import announced
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver

_LOGGER = logging.getLogger(__name__)
_DIGEST = 32
"""Number of bytes of the digest at the end of each file."""
DELAY = 5.0
"""Duration above which making states is announced [s]."""
_TEXT = "making the states that episodes start from (once; they are kept for later starts) ..."


def cache_folder() -> Path:
    """Return the folder of cached states: ``PBD_GYM_CACHE``, or ``pbd_gym`` in the user's cache folder."""
    folder = os.environ.get("PBD_GYM_CACHE")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")  # empty is as good as unset
    return Path(folder) if folder else home / "pbd_gym"


def cached(
    what: tuple[Any, ...],
    device: Any,
    make: Callable[[], np.ndarray],
    shape: tuple[int, ...] | None = None,
    dtype: Any = np.float32,
) -> np.ndarray:
    """Return an array from the cache, or make and keep it.

    A file is valid only if it is complete, was stored for the same inputs, and holds finite numbers of the right shape
    and dtype. Otherwise a message is logged, and the array is made and stored again. One process makes it while others
    that need it wait.

    Args:
        what: everything that the array depends on; see :func:`pbd_gym.envs.core.data.identity.identity_of`. The text of
            this package, the versions of Warp and NumPy and the kind of device are included too.
        device: Warp device that makes it.
        make: function that makes it.
        shape: shape of the array; None for any.
        dtype: dtype of the array.

    Raises:
        ValueError: if the new array has a wrong shape or dtype, or numbers that are not finite.
    """
    kind = "cpu" if device.is_cpu else device.name
    key = identity_of((what, package_digest(), wp.config.version, np.__version__, kind))
    path = cache_folder() / f"starts-{key[:24]}.npy"
    with contextlib.suppress(OSError, ValueError):
        return _checked(_read(path, key), shape, dtype)
    with announced(_TEXT, DELAY), locked(path.with_suffix(".lock")):
        try:  # again: another process may have made it meanwhile
            return _checked(_read(path, key), shape, dtype)
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            _LOGGER.warning("pbd_gym: %s is not used, and made again: %s", path, error)
        array = _checked(make(), shape, dtype)
        try:
            _write(path, key, array)
        except OSError as error:  # only costs time at the next start
            _LOGGER.warning("pbd_gym: start states are not kept: %s; PBD_GYM_CACHE can name another folder", error)
    return array


def _write(path: Path, key: str, array: np.ndarray) -> None:
    """Write an array, followed by a digest of its bytes and of its inputs."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    with replacing(path) as file:
        file.write(buffer.getvalue())
        file.write(_digest(key, buffer.getvalue()))


def _read(path: Path, key: str) -> np.ndarray:
    """Read a file from :func:`_write`.

    Raises:
        OSError: if it cannot be read.
        ValueError: if any bit has changed, or it was made for other inputs.
    """
    data = path.read_bytes()
    if _digest(key, data[:-_DIGEST]) != data[-_DIGEST:]:
        raise ValueError("it is damaged, or belongs to another task")
    array: np.ndarray = np.load(io.BytesIO(data[:-_DIGEST]), allow_pickle=False)
    return array


def _digest(key: str, data: bytes) -> bytes:
    return hashlib.sha256(key.encode() + data).digest()


def _checked(array: np.ndarray, shape: tuple[int, ...] | None, dtype: Any) -> np.ndarray:
    """Return an array after checking it.

    Raises:
        ValueError: if it is invalid.
    """
    if array.dtype != dtype or (shape is not None and array.shape != shape):
        wanted = "" if shape is None else f" {shape}"
        raise ValueError(f"start states must be {np.dtype(dtype)}{wanted}, got {array.dtype} {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("start states must be finite")
    return array


class Handler:
    """A batch of copies of a scene in which a script lifts, carries and drops particles.

    Args:
        scene: scene of one copy, with at least one grip.
        positions: initial positions of the copies [m], shape (copies, n, 3).
        substeps: simulation steps per step.
        step_time: duration of a step [s].
        damping: rate at which particles lose velocity [1/s].
        device: Warp device.
        starts: number of states of the whole bank, if larger than the number of copies, so that all its batches share
            one kernel.
        compensate: as in :class:`pbd_gym.Solver`.
    """

    def __init__(
        self,
        scene: Scene,
        positions: np.ndarray,
        substeps: int,
        step_time: float,
        damping: float,
        device: str,
        starts: int = 0,
        compensate: bool = False,
    ) -> None:
        copies = len(positions)
        self.model = Model(
            scene, copies, device=device, lanes=None if "cuda" in device else _lanes(max(copies, starts))
        )
        self.solver = Solver(self.model, substeps, damping=damping, piercings=False, compensate=compensate, quiet=True)
        self.state, self.control = self.solver.state(), self.solver.control()
        self.state.set_positions(positions)
        self.step_time = step_time

    def grasp(self, particles: np.ndarray) -> None:
        """Make the first grips hold particles, -1 for none, shape (copies, some grips), int; the others release."""
        others = self.model.grip_count - particles.shape[1]  # a person's hand does not concern the task
        self.state.hold(np.pad(particles, ((0, 0), (0, others)), constant_values=-1))

    def move(self, shift: np.ndarray, steps: int) -> None:
        """Move the grips by a shift in equal steps [m], broadcast to shape (copies, grips, 3)."""
        self.control.move(np.asarray(shift, dtype=np.float64) / steps)
        for _ in range(steps):
            self.solver.step(self.state, self.control, self.step_time)

    def rest(self, steps: int) -> None:
        """Let everything come to rest."""
        self.move(np.zeros(3), steps)

    def positions(self) -> np.ndarray:
        """Return the positions [m], shape (copies, n, 3)."""
        return self.state.get_positions()


def _lanes(starts: int) -> int:
    """Return the lane count for a number of states: sixteen, or for few states, that of as few environments.

    Sixteen lanes would then be slightly faster, but need one more kernel, whose compilation takes longer than that.
    """
    return 1 if starts <= 5 else 8 if starts <= 40 else 16
