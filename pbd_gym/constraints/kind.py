"""Definition of a constraint kind, and the field that one-sided kinds share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.solve import sweep
from pbd_gym.kernels.solve.projection import GIVEN, Inputs, needs
from pbd_gym.runtime.checks import finite

_TAKEN = frozenset(
    ("indices", "bounds", "first_color", "first", "first_memory", "damping_time", "label", "share", "kept", "side",
     "offsets", "mass", "part")
)  # fmt: skip
"""Reserved names, which the tables of all kinds use."""


def _element(shape: tuple[int, ...], scalar: Any) -> Any:
    if not shape:
        return scalar
    return wp.types.vector(*shape, dtype=scalar) if len(shape) == 1 else wp.types.matrix(shape=shape, dtype=scalar)


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind of constraints: its numbers, and its formula.

    Raises:
        ValueError: for a name that is not an identifier, or a formula with an unknown argument.
    """

    name: str
    """Name in :meth:`pbd_gym.scene.scene.Scene.add_constraints`."""
    width: int | None
    """Number of particles of one constraint; None for clusters and lines, each of which has any number."""
    prepare: Callable[..., dict[str, np.ndarray]]
    """Function ``prepare(positions, indices, **parameters)`` that checks the parameters of new constraints and returns
    an array for each of ``fields`` and for ``compliance`` (inverse stiffness), with one row per constraint.
    """
    fields: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Name and shape per constraint of each number that the formula reads: () is a number, (3,) a vector, (k,) a tuple,
    and (k, l) a matrix."""
    formula: Callable[..., Any] | None = None
    """C as a function of the positions of its particles, a list of :class:`pbd_gym.formulas.Vec3`, and of any fields,
    which it takes by name. It returns a traced number, or a :class:`pbd_gym.kernels.solve.projection.Residual`.

    It may also take ``size``, the size of the environment (1 unless set), and ``inv_size``; ``before``, the positions
    at the start of the substep; ``inv_h``, one over the time step [1/s]; ``memory``, a number that lasts from substep
    to substep, 0 at first; and ``first_iteration``, a condition that holds in the first iteration of a substep. None
    where a ``text`` takes its place."""
    compliance_power: int = 0
    """Power of an environment's size that the compliance grows with."""
    one_sided: bool = False
    """Whether a field ``side`` says on which side a constraint acts: 1 for ``C <= 0``, -1 for ``C >= 0``, 0 for both;
    see :func:`pbd_gym.kernels.solve.projection.one_sided`."""
    member_fields: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Name and shape per row of the arrays with one row per particle of a cluster, those of the first cluster first."""
    text: Callable[[SweepOptions, Any], str] | None = None
    """Function from options and scalar type to C++ on lanes that projects one constraint of any number of particles, in
    place of a formula; like :func:`pbd_gym.kernels.solve.clusters.cluster_text`.
    """
    damping_text: Callable[[SweepOptions, Any], str] | None = None
    """Function like ``text`` for damping a constraint, like
    :func:`pbd_gym.kernels.solve.clusters.cluster_damping_text`.
    """
    rescue: tuple[Callable[..., Any], Callable[..., Any]] | None = None
    """Two formulas for kinds that can collapse into a state without gradient: one that is below zero there, and an
    energy that leads out of it, see :func:`pbd_gym.kernels.solve.sweep.rescue_text`.
    """
    chain: bool = False
    """Whether neighbours along its particles are separate constraints, each with its own multiplier."""

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise ValueError(f"the name of a kind must be an identifier, got {self.name!r}")
        if (self.formula is None) != (self.width is None) or (self.formula is None) == (self.text is None):
            raise ValueError(f"kind {self.name} needs a width and a formula, or a text")
        if (self.text is None) != (self.damping_text is None):
            raise ValueError(f"kind {self.name} needs a text and a damping_text, or neither")
        taken = sorted(_TAKEN.union(GIVEN).intersection({*self.fields, *self.member_fields}))
        if taken:
            raise ValueError(f"a field of {self.name} cannot be called {taken[0]!r}")
        for name in needs(self.formula) if self.formula else ():
            if (name in GIVEN) == (name in self.fields):
                known = ", ".join([*self.fields, *GIVEN])
                raise ValueError(f"the formula of {self.name} takes {name!r}, which is not one of {known}")

    @property
    def remembers(self) -> bool:
        """Whether each constraint has a number that lasts from substep to substep."""
        return self.formula is not None and "memory" in needs(self.formula)

    def numbers(
        self, positions: np.ndarray, indices: np.ndarray | list[np.ndarray], **parameters: Any
    ) -> dict[str, np.ndarray]:
        """Return the arrays of :attr:`prepare` for new constraints, after a check for completeness.

        Raises:
            ValueError: for a field that is missing, unknown or of the wrong shape.
        """
        values = self.prepare(positions, indices, **parameters)
        shapes: dict[str, tuple[int, ...]] = {
            "compliance": (),
            **self.fields,
            **({"side": ()} if self.one_sided else {}),
        }
        wanted = {name: (len(indices), *shape) for name, shape in shapes.items()}
        wanted |= {name: (sum(map(len, indices)), *shape) for name, shape in self.member_fields.items()}
        if values.keys() != wanted.keys():
            raise ValueError(f"prepare of {self.name} must return {', '.join(wanted)}, got {', '.join(values)}")
        for name, shape in wanted.items():
            if np.shape(values[name]) != shape:
                raise ValueError(f"{name} of {self.name} must have the shape {shape}, got {np.shape(values[name])}")
        return values

    def check(self) -> None:
        """Trace the formula, so that errors in it show before a kernel is built."""
        if self.formula is not None and self.width is not None:
            inputs = Inputs(SweepOptions(varied=True))
            inputs.residual(self.formula, self.width, self.fields).gradients(inputs.positions(self.width))

    @functools.cache  # noqa: B019 (kinds live as long as the program)
    def table_type(self, scalar: Any) -> Any:
        """Warp struct that passes the constraints of this kind to a kernel."""
        shapes = {**self.fields, **({"side": ()} if self.one_sided else {}), **self.member_fields}
        numbers = {name: wp.array(dtype=_element(shape, scalar)) for name, shape in shapes.items()}
        if self.width is None:
            index: Any = wp.int32
            numbers |= {
                "offsets": wp.array(dtype=wp.int32),  # first member of each cluster, and the end, shape (m + 1,)
                "mass": wp.array(dtype=scalar),  # mass that a particle lends the cluster [kg], one for each member
                "part": wp.array(
                    dtype=scalar
                ),  # share of its mass that it lends, one for each member; of lines the least
            }
        else:
            index = wp.types.vector(length=self.width, dtype=wp.int32)
        fields = {
            "indices": wp.array(dtype=index),  # particles, shape (m,), or of all clusters together
            "bounds": wp.array(dtype=wp.int32),  # first constraint of each colour, and the end, shape (colours + 1,)
            "first_color": wp.int32,  # number of its first colour among those of all kinds
            "first": wp.int32,  # index of the first multiplier of this kind
            "first_memory": wp.int32,  # index of the first number of its memory
            "compliance": wp.array(dtype=scalar),  # inverse stiffness, shape (m,)
            "damping_time": wp.array(dtype=scalar),  # [s], shape (m,)
            "label": wp.array(dtype=wp.int32),  # which of the scene's stiffness labels, shape (m,)
            "share": wp.array(dtype=scalar),  # share of its correction that a Jacobi iteration may take, shape (m,)
            "kept": wp.array(dtype=scalar),  # share of its weight, beside the compliance, after one sweep, shape (m,)
            **numbers,
        }
        name = "".join(part.title() for part in self.name.split("_")) + "Table"
        return wp.struct(type(name, (), {"__annotations__": fields, "__module__": __name__}))

    def make_sweep(self, wide: Wide, data: Any, options: SweepOptions, damping: bool = False) -> Any:
        """Build the sweep over all constraints of this kind; see :func:`pbd_gym.kernels.solve.sweep.make_sweep`.

        Args:
            wide: lane count and precision.
            data: struct of the whole model.
            options: options to compile for.
            damping: whether the sweep damps velocities; otherwise it corrects positions.
        """
        text = self.damping_text if damping else self.text
        if text is not None:
            return sweep.make_sweep(wide, data, options, self.name, text(options, wide.scalar))
        assert self.formula is not None and self.width is not None
        text_ = sweep.element_text(
            self.formula, self.width, self.fields, options, wide.scalar, self.compliance_power, self.one_sided,
            damping, self.rescue,
        )  # fmt: skip
        return sweep.make_sweep(wide, data, options, self.name, text_, self.width)


def sides(unilateral: ArrayLike, side: float, count: int) -> np.ndarray:
    """Return the field ``side`` of a one-sided kind, shape (count,).

    Args:
        unilateral: whether a constraint acts on one side only, one value or shape (count,).
        side: 1 for ``C <= 0``, -1 for ``C >= 0``.
        count: of constraints.

    Raises:
        TypeError: for anything but truth values and numbers.
        ValueError: for a wrong shape.
    """
    given = np.asarray(unilateral)
    return side * (finite("unilateral", given.astype(np.float64) if given.dtype == bool else given, (count,)) != 0.0)
