"""Device arrays with one row per environment, and kernel launches prepared once for them and replayed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import warp as wp

from pbd_gym.sim.model import Model


class Buffers:
    """Named device arrays, shape (num_envs, ...), that tasks and the core share.

    On the CPU reading costs a copy of the row data and writing goes straight into the array; on CUDA each read is one
    transfer.
    """

    def __init__(self, num_envs: int, device: Any) -> None:
        self.num_envs = num_envs
        self.device = device
        self.arrays: dict[str, Any] = {}
        self._views: dict[str, np.ndarray] = {}
        self._shared: set[str] = set()
        self._tensors: dict[str, Any] = {}
        self._kept: dict[str, np.ndarray] | None = None

    def add(self, name: str, shape: tuple[int, ...] = (), dtype: Any = wp.float32) -> Any:
        """Make an array of zeros, shape ``(num_envs, *shape)``, and return it.

        Raises:
            ValueError: if the name is taken.
        """
        if name in self.arrays:
            raise ValueError(f"there is a buffer {name!r} already")
        array = wp.zeros((self.num_envs, *shape), dtype=dtype, device=self.device)
        self.arrays[name] = array
        if self.device.is_cpu:
            self._views[name] = array.numpy()
        return array

    def share(self, name: str, array: Any) -> None:
        """Add an array that another object computes from the others; it can be read, but is not saved.

        Raises:
            ValueError: if the name is taken.
        """
        if name in self.arrays:
            raise ValueError(f"there is a buffer {name!r} already")
        self.arrays[name] = array
        self._shared.add(name)
        if self.device.is_cpu:
            self._views[name] = array.numpy()

    def __getitem__(self, name: str) -> Any:
        return self.arrays[name]

    def peek(self, name: str) -> np.ndarray:
        """Return the values for immediate reading: a view of the array on the CPU, a copy on CUDA."""
        view = self._views.get(name)
        if view is not None:
            return view
        if self._kept is None:
            return self.arrays[name].numpy()
        if name not in self._kept:
            self._kept[name] = self.arrays[name].numpy()
        return self._kept[name]

    @contextmanager
    def still(self) -> Iterator[None]:
        """Context in which :meth:`peek` fetches each array only once from CUDA; no launch may change one meanwhile.

        Scripts read one environment after the other, and each read would transfer all of them.
        """
        before = self._kept
        self._kept = {} if before is None else before
        try:
            yield
        finally:
            self._kept = before

    def read(self, name: str) -> np.ndarray:
        """Return the values as a fresh NumPy array."""
        view = self._views.get(name)
        return self.arrays[name].numpy() if view is None else view.copy()

    def write(self, name: str, values: Any) -> None:
        """Overwrite the values with a NumPy array or a number that broadcasts."""
        view = self._views.get(name)
        if view is not None:
            view[...] = values
        else:
            array = self.arrays[name]
            array.assign(np.broadcast_to(np.asarray(values, dtype=wp.dtype_to_numpy(array.dtype)), array.shape))
            if self._kept is not None:
                self._kept.pop(name, None)

    def write_rows(self, name: str, chosen: Any, values: Any) -> None:
        """Overwrite the rows of some environments.

        Args:
            name: name of the array. chosen: mask of the environments, bool, shape (num_envs,); a tensor on CUDA avoids
            waiting for the device. values: values that broadcast to the array; other rows are ignored.
        """
        rows = chosen.reshape(-1, *[1] * (self.arrays[name].ndim - 1))
        if isinstance(chosen, np.ndarray):
            self.write(name, np.where(rows, values, self.peek(name)))
            return
        tensor = self.tensor(name)
        tensor.copy_(rows.new_tensor(values, dtype=tensor.dtype).where(rows, tensor))

    def tensor(self, name: str) -> Any:
        """Return the array as a torch tensor that shares its memory."""
        found = self._tensors.get(name)
        if found is None:
            found = self._tensors[name] = wp.to_torch(self.arrays[name])
        return found

    def torch(self, name: str) -> Any:
        """Return the values as a fresh torch tensor on the same device."""
        return self.tensor(name).clone()

    def save(self) -> dict[str, np.ndarray]:
        """Return copies of all arrays by name, except shared ones."""
        return {name: self.read(name) for name in self.arrays if name not in self._shared}

    def load(self, saved: dict[str, np.ndarray], rows: np.ndarray) -> None:
        """Overwrite all arrays with ``rows`` of a result of :meth:`save`."""
        for name in self.arrays.keys() - self._shared:
            self.write(name, saved[name][rows])


class Simulated(Protocol):
    """A batch of environments that has its model."""

    num_envs: int
    model: Model


class Launches(list[Any]):
    """Launches to replay one after the other."""

    def launch(self) -> None:
        """Replay them."""
        for one in self:
            one.launch()


def prepare(batch: Simulated, kernel: Any, *inputs: Any, dim: Any = None) -> Any:
    """Prepare a launch of a kernel over the environments of a batch, without running it yet.

    Args:
        batch: the environments.
        kernel: Warp kernel.
        *inputs: its arguments, outputs included.
        dim: number of threads, if not one per environment.
    """
    return wp.launch(
        kernel, batch.num_envs if dim is None else dim, list(inputs), device=batch.model.device, record_cmd=True
    )


def filled(kind: Any, **values: Any) -> Any:
    """Return a kernel struct with the given values."""
    made = kind()
    for name, value in values.items():
        setattr(made, name, value)
    return made


def of_buffers(kind: Any, buffers: Buffers) -> Any:
    """Return a kernel struct whose fields are the buffers of the same names."""
    return filled(kind, **{name: buffers[name] for name in kind.vars})


def device_indices(batch: Simulated, particles: Any) -> Any:
    """Return particle numbers as a flat device array, int32."""
    return wp.array(np.asarray(particles, dtype=np.int32).ravel(), device=batch.model.device)


def device_points(batch: Simulated, points: np.ndarray) -> Any:
    """Return sets of points [m], shape (sets, k, 3), as a device array of vectors, shape (sets, k)."""
    return wp.array(points, dtype=wp.vec3, ndim=2, device=batch.model.device)
