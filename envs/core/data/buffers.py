"""Device arrays with one row per environment, read as NumPy arrays or torch tensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import warp as wp


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
        """Return the values for reading now: a view of the array on the CPU, a copy on CUDA."""
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
        """Let :meth:`peek` fetch each array once from CUDA meanwhile; nothing may be launched that changes one.

        Scripts look at one environment after the other, and each look would be a transfer of all of them.
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
        """Return copies of all arrays by name, without those that are shared."""
        return {name: self.read(name) for name in self.arrays if name not in self._shared}

    def load(self, saved: dict[str, np.ndarray], rows: np.ndarray) -> None:
        """Overwrite all arrays with ``rows`` of what :meth:`save` gave."""
        for name in self.arrays.keys() - self._shared:
            self.write(name, saved[name][rows])
