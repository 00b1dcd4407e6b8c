"""Buffers that are reused from picture to picture: making a Warp array takes longer than filling one."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp


class Buffers:
    """Arrays in main memory, by name. They grow when they must and never shrink."""

    def __init__(self) -> None:
        self._arrays: dict[str, tuple[Any, np.ndarray]] = {}

    def rows(self, name: str, count: int, dtype: Any, columns: int | None = None) -> tuple[Any, np.ndarray]:
        """Return an array with at least ``count`` rows, and a view of these rows; their contents are old."""
        array, view = self._arrays.get(name, (None, np.zeros(0)))
        if array is None or len(view) < count:
            room = max(16, 1 << (count - 1).bit_length()) if count else 16
            array = wp.empty(room if columns is None else (room, columns), dtype=dtype, device="cpu")
            view = array.numpy()
            self._arrays[name] = array, view
        return array, view[:count]

    def grid(self, name: str, shape: tuple[int, int], dtype: Any) -> Any:
        """Return an array of exactly this shape; its contents are old."""
        array, view = self._arrays.get(name, (None, np.zeros((0, 0))))
        if array is None or view.shape != shape:
            array = wp.empty(shape, dtype=dtype, device="cpu")
            self._arrays[name] = array, array.numpy()
        return array

    def put(self, name: str, values: np.ndarray, dtype: Any, columns: int | None = None) -> Any:
        """Return an array whose first rows hold ``values``."""
        array, view = self.rows(name, len(values), dtype, columns)
        np.copyto(view, values, casting="unsafe")
        return array
