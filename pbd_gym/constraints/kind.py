"""What a constraint kind consists of."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.kernels import sweep
from pbd_gym.kernels.wide import Wide


def _element(shape: tuple[int, ...], scalar: Any) -> Any:
    if not shape:
        return scalar
    return wp.types.vector(*shape, dtype=scalar) if len(shape) == 1 else wp.types.matrix(shape=shape, dtype=scalar)


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind of constraints: its numbers, and C with its gradients."""

    name: str
    """Name in :meth:`pbd_gym.scene.Scene.add_constraints`."""
    width: int
    """Particles of one constraint."""
    prepare: Callable[..., dict[str, np.ndarray]]
    """``prepare(positions, indices, **parameters)`` checks the parameters of new constraints and returns an array for
    each of ``fields`` and for ``compliance`` (inverse stiffness), with one row per constraint."""
    fields: Mapping[str, tuple[int, ...]]
    """Name and shape per constraint of each array that ``code`` reads besides ``compliance``: () is one number."""
    code: Callable[[Any], str]
    """From a scalar type to C++ statements for C and its gradients, see :func:`pbd_gym.kernels.sweep.make_sweep`."""
    solve: str = sweep.SOLVE
    """C++ statements for the step, where the general ones can be shortened."""

    @functools.cache  # noqa: B019 (kinds live as long as the program)
    def table_type(self, scalar: Any) -> Any:
        """Warp struct that carries the constraints of this kind into a kernel."""
        index = wp.types.vector(length=self.width, dtype=wp.int32)
        numbers = {name: wp.array(dtype=_element(shape, scalar)) for name, shape in self.fields.items()}
        fields = {
            "indices": wp.array(dtype=index),  # particles, shape (m,)
            "bounds": wp.array(dtype=wp.int32),  # first constraint of each colour, and the end, shape (colours + 1,)
            "first": wp.int32,  # index of the first multiplier of this kind
            "compliance": wp.array(dtype=scalar),  # inverse stiffness, shape (m,)
            "damping_time": wp.array(dtype=scalar),  # [s], shape (m,)
            "share": wp.array(dtype=scalar),  # of its correction that a Jacobi iteration may take, shape (m,)
            **numbers,
        }
        name = "".join(part.title() for part in self.name.split("_")) + "Table"
        return wp.struct(type(name, (), {"__annotations__": fields, "__module__": __name__}))

    def make_sweep(self, wide: Wide, data: Any, options: sweep.SweepOptions) -> Any:
        """Build the sweep over all constraints of this kind; see :func:`pbd_gym.kernels.sweep.make_sweep`."""
        return sweep.make_sweep(wide, data, options, self.name, self.width, self.code(wide.scalar), self.solve)
