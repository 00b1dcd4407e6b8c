"""Parameters: values that may differ between environments of a batch, as factors of the scene's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from pbd_gym.kernels.data.fluid import FLUID_DENSITY, VISCOSITY
from pbd_gym.kernels.data.parameters import COMPLIANCE, DAMPING, DENSITY, FRICTION, GRAVITY, INV_SIZE, SIZE
from pbd_gym.runtime.checks import LARGEST, finite
from pbd_gym.sim.model import Model
from pbd_gym.sim.upload.arrays import by_scalar, scatter, to_rows

LIMITS = {
    "size": 1e-3, "density": 1e-6, "stiffness": 1e-6, "friction": 0.0, "damping": 0.0, "viscosity": 0.0,
    "fluid_density": 1e-6,
}  # fmt: skip
"""Smallest value of each factor; the largest is :data:`pbd_gym.runtime.checks.LARGEST`."""

Stiffness = ArrayLike | Mapping[str, ArrayLike]


def check_factor(name: str, values: ArrayLike, shape: tuple[int, ...], least: float) -> np.ndarray:
    """Return checked factors as float64 of ``shape``.

    Raises:
        TypeError: for anything but real numbers.
        ValueError: for a number that is not finite or out of its range, or a wrong shape.
    """
    given = finite(name, values, shape)
    outside = (given < float(np.nextafter(np.float32(least), np.float32(-1.0)))) | (given > LARGEST)  # float32
    if outside.any():
        worst = given[outside][0]
        raise ValueError(f"{name} is a factor from {least:g} to {LARGEST:g}, got {worst}")
    return given


class Parameters:
    """One row of numbers per environment, in lanes.

    Args:
        model: model that it belongs to.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        count = int(COMPLIANCE) + len(model.labels) + model.fluid_columns
        self.rows = wp.empty((model.group_count, count), dtype=model.vec, device=model.device)
        """Columns as named by :mod:`pbd_gym.kernels.data.parameters`, shape (groups, columns)."""
        self.rows_scalar = by_scalar(model, self.rows)
        """The same memory, shape (groups, columns, lanes)."""
        self.nominal = np.ones(count, dtype=model.dtype)
        """Row of the defaults, which changes nothing."""
        self.nominal[int(GRAVITY) : int(GRAVITY) + 3] = model.gravity.numpy()
        first = int(COMPLIANCE) + len(model.labels)
        self.columns = {"size": int(SIZE), "damping": int(DAMPING), "friction": int(FRICTION), "density": int(DENSITY)}
        """Column of each factor."""
        if model.fluid_columns:
            self.columns |= {"viscosity": first + VISCOSITY, "fluid_density": first + FLUID_DENSITY}
        self.varied = False
        """Whether kernels must read the rows."""
        self.reset()

    def reset(self) -> None:
        """Reset every environment to the scene's numbers."""
        self.varied = False
        self._write(np.broadcast_to(self.nominal, (self.model.num_envs, len(self.nominal))))

    def read(self) -> np.ndarray:
        """Return a copy of the rows, shape (num_envs, columns)."""
        return to_rows(self.rows_scalar.numpy(), self.model.num_envs)

    def check(self, rows: np.ndarray) -> None:
        """Check rows from :meth:`read`, possibly of another batch, shape (num_envs, columns).

        Raises:
            ValueError: for a number that is not finite or out of the range of its column.
        """
        first = int(COMPLIANCE)
        bounds: dict[str, tuple[int | slice, float, float]] = {
            "gravity": (slice(int(GRAVITY), int(GRAVITY) + 3), -LARGEST, LARGEST),
            **{name: (column, LIMITS[name], LARGEST) for name, column in self.columns.items()},
            # Environments multiply two factors of the stiffness, that of all constraints and that of a label.
            "stiffness": (
                slice(first, first + len(self.model.labels)), LARGEST**-2, LIMITS["stiffness"] ** -2
            ),
        }  # fmt: skip
        for name, (columns, least, most) in bounds.items():
            values = np.asarray(rows[:, columns], dtype=np.float64)
            slack = 1e-5 * np.abs([least, most])  # of rounding to float32
            if not ((values >= least - slack[0]) & (values <= most + slack[1])).all():
                raise ValueError(f"parameters: {name} is not finite or out of its range")
        product = rows[:, int(SIZE)].astype(np.float64) * rows[:, int(INV_SIZE)]
        if not (np.abs(product - 1.0) < 1e-4).all():
            raise ValueError("parameters: the inverse of the size is not that of the size")

    def write(self, rows: np.ndarray) -> None:
        """Overwrite the rows, shape (num_envs, columns)."""
        self.varied |= bool((rows != self.nominal).any())
        self._write(rows)

    def changed(
        self,
        gravity: ArrayLike | None,
        stiffness: Stiffness | None,
        factors: dict[str, ArrayLike | None],
    ) -> np.ndarray:
        """Return the rows with some numbers replaced; see :meth:`pbd_gym.sim.state.State.set_parameters`."""
        model, rows, labels = self.model, self.read(), self.model.labels
        shape = (model.num_envs,)
        for name, values in factors.items():
            if values is not None:
                if name not in self.columns:
                    raise ValueError(f"{name} is a parameter of fluid, and the scene has none")
                rows[:, self.columns[name]] = check_factor(name, values, shape, LIMITS[name])
        rows[:, int(INV_SIZE)] = 1.0 / rows[:, int(SIZE)]
        if gravity is not None:
            given = finite("gravity", gravity, (*shape, 3), model.dtype, LARGEST)
            rows[:, int(GRAVITY) : int(GRAVITY) + 3] = given
        if stiffness is not None:
            for label, values in (
                stiffness if isinstance(stiffness, Mapping) else dict.fromkeys(labels, stiffness)
            ).items():
                if label not in labels:
                    raise ValueError(f"no constraints are labelled {label!r}; there are {', '.join(labels) or 'none'}")
                given = check_factor("stiffness", values, shape, LIMITS["stiffness"])
                rows[:, int(COMPLIANCE) + labels.index(label)] = 1.0 / given
        return rows

    def get(self) -> dict[str, Any]:
        """Return the current settings; see :meth:`pbd_gym.sim.state.State.get_parameters`."""
        rows = self.read()
        first = int(COMPLIANCE)
        return {
            "gravity": rows[:, int(GRAVITY) : int(GRAVITY) + 3].copy(),
            **{name: rows[:, column].copy() for name, column in self.columns.items()},
            "stiffness": {label: 1.0 / rows[:, first + k] for k, label in enumerate(self.model.labels)},
        }

    def _write(self, rows: np.ndarray) -> None:
        scatter(self.model, self.rows_scalar, rows.astype(self.model.dtype))
