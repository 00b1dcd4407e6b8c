"""Kernel launches that are prepared once and replayed in every step: replaying one costs a microsecond or two."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import warp as wp

from pbd_gym.sim.model import Model


class Simulated(Protocol):
    """A batch of environments that has its model."""

    num_envs: int
    model: Model


class Launches(list[Any]):
    """Launches that are replayed one after the other."""

    def launch(self) -> None:
        """Replay them."""
        for one in self:
            one.launch()


def prepare(batch: Simulated, kernel: Any, *inputs: Any, dim: Any = None) -> Any:
    """Prepare a launch of a kernel over the environments of a batch, and do not run it yet.

    Args:
        batch: the environments.
        kernel: Warp kernel.
        *inputs: its arguments, outputs included.
        dim: threads, if not one per environment.
    """
    return wp.launch(
        kernel, batch.num_envs if dim is None else dim, list(inputs), device=batch.model.device, record_cmd=True
    )


def device_indices(batch: Simulated, particles: Any) -> Any:
    """Return particle numbers as a flat device array, int32."""
    return wp.array(np.asarray(particles, dtype=np.int32).ravel(), device=batch.model.device)


def device_points(batch: Simulated, points: np.ndarray) -> Any:
    """Return sets of points [m], shape (sets, k, 3), as a device array of vectors, shape (sets, k)."""
    return wp.array(points, dtype=wp.vec3, ndim=2, device=batch.model.device)
