"""Domain randomisation: parameters that differ from environment to environment, drawn when an episode begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.kernels import parameters as columns
from pbd_gym.parameters import LIMITS, check_factor

wp.set_module_options({"enable_backward": False})

NAMES = ("size", "density", "stiffness", "friction", "damping", "gravity")
"""What can differ in every task, in the order of columns; ``<label>_stiffness`` of each group of constraints follow."""
SIZE = wp.constant(0)
"""Column of the size."""


@dataclass(frozen=True)
class Uniform:
    """Numbers from ``low`` to ``high``, all equally likely.

    Raises:
        ValueError: if ``low`` is above ``high``, or one of them is negative or not finite.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.low) and np.isfinite(self.high) and 0.0 <= self.low <= self.high):
            raise ValueError(f"a range needs 0 <= low <= high, both finite, got {self.low} and {self.high}")


@dataclass(frozen=True)
class LogUniform(Uniform):
    """Numbers from ``low`` to ``high`` whose logarithm is uniform: as often between 1/2 and 1 as between 1 and 2.

    Raises:
        ValueError: as :class:`Uniform`, and if ``low`` is zero.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low == 0.0:
            raise ValueError("a logarithmic range needs low above zero")


Range = Uniform | tuple[float, float]


class Randomization:
    """Which parameters a batch draws, and from where. Each is a factor of the task's own number.

    Args:
        ranges: range per name; a pair of numbers stands for :class:`Uniform`.
        labels: names of the groups of constraints whose stiffness can differ by itself.

    Raises:
        ValueError: for a name that is not there, or a range out of the bounds of its parameter.
        TypeError: for a range that is not one.
    """

    def __init__(self, ranges: Mapping[str, Range], labels: tuple[str, ...]) -> None:
        self.names = (*NAMES, *(f"{label}_stiffness" for label in labels))
        """Names of all columns."""
        self.columns: dict[str, int] = {}
        """Column of each parameter that is drawn, by name."""
        self.table = np.zeros((len(self.names), 3), dtype=np.float32)
        """Low, high and whether it is logarithmic, shape (names, 3)."""
        self.table[:, :2] = 1.0
        for name, given in ranges.items():
            if name not in self.names:
                raise ValueError(f"there is no parameter {name!r} to randomize; there are {', '.join(self.names)}")
            if not isinstance(given, Uniform):
                try:
                    low, high = (float(number) for number in given)
                except (TypeError, ValueError):
                    raise TypeError(
                        f"randomize[{name!r}] must be a pair (low, high), Uniform or LogUniform, got {given!r}"
                    ) from None
                given = Uniform(low, high)
            check(name, [given.low, given.high], (2,))
            column = self.names.index(name)
            self.columns[name] = column
            self.table[column] = given.low, given.high, isinstance(given, LogUniform)

    def fixed(self, given: Mapping[str, Any], num_envs: int) -> np.ndarray:
        """Return values that are not to be drawn, NaN for the others, shape (num_envs, names), float32.

        Args:
            given: by name a number, or an array of shape (num_envs,).
            num_envs: environments in the batch.

        Raises:
            ValueError: for a parameter that is not drawn here, or a value out of its bounds or of a wrong shape.
        """
        values = np.full((num_envs, len(self.names)), np.nan, dtype=np.float32)
        for name, value in given.items():
            if name not in self.columns:
                raise ValueError(
                    f"parameter {name!r} is not declared: make the environment with randomize={{{name!r}: (low, high)}}"
                )
            values[:, self.columns[name]] = check(name, value, (num_envs,))
        return values


def check(name: str, values: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return values of a parameter as floats of ``shape``.

    Raises:
        ValueError: for a number that is not finite or out of its bounds, or a wrong shape.
    """
    kind = "stiffness" if name.endswith("_stiffness") else name
    return check_factor(name, values, shape, LIMITS.get(kind, 0.0))


def declared_size(ranges: Mapping[str, Range]) -> float:
    """Return the largest size that can be drawn; scenes and pictures leave room for it."""
    given = ranges.get("size", (1.0, 1.0))
    return float(given.high if isinstance(given, Uniform) else given[1])


@wp.func
def scaled(point: wp.vec3, anchor: wp.vec3, size: float):
    """Return where a point of the nominal task is in one of another size; ``anchor`` stays where it is."""
    if size == 1.0:
        return point  # to the last bit
    return anchor + size * (point - anchor)


@wp.kernel
def draw(
    # In:
    chosen: wp.array1d[wp.int32],
    seed: wp.array1d[wp.int32],
    episode: wp.array1d[wp.int32],
    ranges: wp.array2d[float],
    fixed: wp.array2d[float],
    gravity: wp.vec3,
    labels: int,
    lanes: int,
    # Out:
    values: wp.array2d[float],
    rows: wp.array3d[float],
):
    """Draw the parameters of the chosen environments, and write the rows that the physics reads."""
    env = wp.tid()
    if chosen[env] == 0:
        return
    # A stream of its own, with a number for each parameter whether it is used or not: goals and the other parameters do
    # not depend on which parameters are drawn.
    random = wp.rand_init(seed[env], ~episode[env])
    for k in range(ranges.shape[0]):
        share = wp.randf(random)
        low = ranges[k, 0]
        high = ranges[k, 1]
        value = low + share * (high - low)
        if ranges[k, 2] != 0.0:
            value = low * wp.pow(high / low, share)
        value = wp.clamp(value, low, high)
        if not wp.isnan(fixed[env, k]):
            value = fixed[env, k]
        values[env, k] = value
    group = env // lanes
    lane = env % lanes
    for axis in range(3):
        rows[group, columns.GRAVITY + axis, lane] = values[env, 5] * gravity[axis]
    rows[group, columns.SIZE, lane] = values[env, SIZE]
    rows[group, columns.INV_SIZE, lane] = 1.0 / values[env, SIZE]
    rows[group, columns.DENSITY, lane] = values[env, 1]
    rows[group, columns.FRICTION, lane] = values[env, 3]
    rows[group, columns.DAMPING, lane] = values[env, 4]
    for label in range(labels):
        rows[group, columns.COMPLIANCE + label, lane] = 1.0 / (values[env, 2] * values[env, 6 + label])
