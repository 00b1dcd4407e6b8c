"""What a constraint kind consists of."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.kernels import sweep
from pbd_gym.kernels.clusters import cluster_text
from pbd_gym.kernels.wide import Wide


def _element(shape: tuple[int, ...], scalar: Any) -> Any:
    if not shape:
        return scalar
    return wp.types.vector(*shape, dtype=scalar) if len(shape) == 1 else wp.types.matrix(shape=shape, dtype=scalar)


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind of constraints: its numbers, and C with its gradients."""

    name: str
    """Name in :meth:`pbd_gym.scene.scene.Scene.add_constraints`."""
    width: int | None
    """Particles of one constraint; None for clusters, of which each has as many as it likes."""
    prepare: Callable[..., dict[str, np.ndarray]]
    """``prepare(positions, indices, **parameters)`` checks the parameters of new constraints and returns an array for
    each of ``fields`` and for ``compliance`` (inverse stiffness), with one row per constraint."""
    fields: Mapping[str, tuple[int, ...]]
    """Name and shape per constraint of each array that ``code`` reads besides ``compliance``: () is one number."""
    code: Callable[[Any], str]
    """From a scalar type to C++ statements for C and its gradients, see
    :func:`pbd_gym.kernels.sweep.element_text`; for clusters see :func:`pbd_gym.kernels.clusters.cluster_text`."""
    solve: str = sweep.SOLVE
    """C++ statements for the step, where the general ones can be shortened."""
    remembers: bool = False
    """Whether each constraint has a number that lasts from substep to substep, ``memory + LANES * c``; 0 at first."""
    branches: bool = False
    """Whether the code branches on a constraint's numbers, so that constraints cannot share the vector units."""
    member_fields: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Likewise for arrays with one row per particle of a cluster, those of the first cluster first."""

    @functools.cache  # noqa: B019 (kinds live as long as the program)
    def table_type(self, scalar: Any) -> Any:
        """Warp struct that carries the constraints of this kind into a kernel."""
        shapes = {**self.fields, **self.member_fields}
        numbers = {name: wp.array(dtype=_element(shape, scalar)) for name, shape in shapes.items()}
        if self.width is None:
            index: Any = wp.int32
            numbers |= {
                "offsets": wp.array(dtype=wp.int32),  # first member of each cluster, and the end, shape (m + 1,)
                "mass": wp.array(dtype=scalar),  # that a particle lends the cluster [kg], one for each member
                "part": wp.array(dtype=scalar),  # of its mass that it lends, one for each member
            }
        else:
            index = wp.types.vector(length=self.width, dtype=wp.int32)
        fields = {
            "indices": wp.array(dtype=index),  # particles, shape (m,), or of all clusters together
            "bounds": wp.array(dtype=wp.int32),  # first constraint of each colour, and the end, shape (colours + 1,)
            "first_color": wp.int32,  # number of its first colour among those of all kinds
            "first": wp.int32,  # index of the first multiplier of this kind
            "first_memory": wp.int32,  # likewise of the first number that it remembers
            "compliance": wp.array(dtype=scalar),  # inverse stiffness, shape (m,)
            "damping_time": wp.array(dtype=scalar),  # [s], shape (m,)
            "label": wp.array(dtype=wp.int32),  # which of the scene's stiffness labels, shape (m,)
            "share": wp.array(dtype=scalar),  # of its correction that a Jacobi iteration may take, shape (m,)
            **numbers,
        }
        name = "".join(part.title() for part in self.name.split("_")) + "Table"
        return wp.struct(type(name, (), {"__annotations__": fields, "__module__": __name__}))

    def make_sweep(self, wide: Wide, data: Any, options: sweep.SweepOptions) -> Any:
        """Build the sweep over all constraints of this kind; see :func:`pbd_gym.kernels.sweep.make_sweep`."""
        code = self.code(wide.scalar)
        text = sweep.element_text(self.width, code, self.solve) if self.width else cluster_text(code, self.solve)
        batched = options.packed and self.width is not None and not self.branches
        return sweep.make_sweep(wide, data, options, self.name, text, batched)
