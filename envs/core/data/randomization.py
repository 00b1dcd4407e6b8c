"""Domain randomisation: parameters that differ between environments, drawn when an episode begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, no_type_check

import numpy as np
import warp as wp

from pbd_gym.kernels.data import parameters as columns
from pbd_gym.runtime.checks import LARGEST, finite, real
from pbd_gym.sim.model import Model
from pbd_gym.sim.parameters import LIMITS, check_factor

wp.set_module_options({"enable_backward": False})

FACTORS = ("size", "density", "stiffness", "friction", "damping", "gravity")
"""Factors of the task's own numbers, in the order of columns."""
PLACES = ("tilt_x", "tilt_z", "ground_height")
"""Pose of the ground: its slopes towards +x and +z [rad], and its additional height [m]."""
FLUIDS = ("viscosity", "fluid_density")
"""Factors of the fluid's numbers, in tasks with fluid, in the order of the columns that the physics reads."""
PUSHES = ("push_x", "push_y", "push_z")
"""Force on the whole object, shared equally by its particles [N]."""
WINDS = ("wind_x", "wind_y", "wind_z")
"""Velocity of the air past cloth [m/s]; see :mod:`pbd_gym.kernels.motion.air_drag`."""
DISTURBANCES = (*PUSHES, *WINDS)
"""Parameters that have columns, the last ones, only if one of them is drawn."""
FIRST_LABEL = wp.constant(len(FACTORS) + len(PLACES))
"""Column of the first ``<label>_stiffness``: a factor for each group of constraints."""
SIZE = wp.constant(0)
"""Column of the size."""
STEEPEST = 1.0
"""Largest angle of the ground [rad]."""


@dataclass(frozen=True)
class Uniform:
    """Numbers from ``low`` to ``high``, all equally likely.

    Raises:
        TypeError: if one of them is not a number.
        ValueError: if ``low`` is above ``high``, or one of them is not finite.
    """

    low: float
    high: float
    scale: str = field(default="linear", init=False, repr=False)
    """Scale on which the distribution is uniform. It is a field, so that the JSON of an EnvSpec, in which classes
    become dicts, records it.
    """

    def __post_init__(self) -> None:
        low, high = real("low", self.low), real("high", self.high)
        if not (np.isfinite(low) and np.isfinite(high) and low <= high):
            raise ValueError(f"a range needs low <= high, both finite, got {self.low} and {self.high}")


@dataclass(frozen=True)
class LogUniform(Uniform):
    """Numbers from ``low`` to ``high`` whose logarithm is uniform: as often between 1/2 and 1 as between 1 and 2.

    Raises:
        ValueError: as :class:`Uniform`, and if ``low`` is not above zero.
    """

    scale: str = field(default="log", init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low <= 0.0:
            raise ValueError("a logarithmic range needs low above zero")


_SCALES = {"linear": Uniform, "log": LogUniform}
Range = Uniform | tuple[float, float]
NAMED: dict[str, dict[str, Range]] = {
    "sim2real": {
        "size": (0.95, 1.05),
        "density": (0.5, 1.5),
        "friction": (0.7, 1.3),
        "damping": LogUniform(0.3, 3.0),
        "gravity": (0.92, 1.08),
        "tilt_x": (-0.08, 0.08),
        "tilt_z": (-0.08, 0.08),
        "stiffness": LogUniform(0.2, 5.0),
        "viscosity": (0.3, 1.8),
    },
}
"""Ranges by their name in ``randomize``. docs/randomization.md names the source of each number.

Gravity: the source adds N(0, 0.4 m/s^2) to each coordinate, and two standard deviations are 0.08 of 9.81 m/s^2.
Stiffness: the source's code (``utils/mujoco_model_kwargs.py`` in hietalajulius/dynamic-cloth-folding) draws time
constants of cloth from 0.01 to 0.05 s, and MuJoCo's stiffness is their inverse square, a ratio of 25. Viscosity: water
has 0.28, 1.79 and 1.00 mPa s at 100, 0 and 20 degrees Celsius.
"""


class NamedRanges(dict[str, Range]):
    """Ranges behind a name: a task drops those that would have no effect in it."""


def as_range(name: str, given: Any) -> Uniform:
    """Return a parameter's declaration in ``randomize`` as a range.

    Raises:
        TypeError: for anything but a :class:`Uniform`, the dict of its fields, or a pair of numbers.
        ValueError: for an invalid pair.
    """
    if isinstance(given, Uniform):
        return given
    if isinstance(given, Mapping) and {"low", "high"} <= given.keys() <= {"low", "high", "scale"}:
        if given.get("scale", "linear") in _SCALES:
            return _SCALES[given.get("scale", "linear")](given["low"], given["high"])
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str) or len(given) != 2:
        raise TypeError(f"randomize[{name!r}] must be a pair (low, high), Uniform or LogUniform, got {given!r}")
    return Uniform(real(f"randomize[{name!r}]", given[0]), real(f"randomize[{name!r}]", given[1]))


def as_ranges(given: Mapping[str, Range] | str | None, grows: bool = True) -> dict[str, Range]:
    """Return declarations in ``randomize`` as ranges by name.

    Args:
        given: the user's declarations.
        grows: whether the size of the task can differ; otherwise a name stands for its remaining ranges.

    Raises:
        TypeError: for anything but a mapping or one of :data:`NAMED`, or an invalid range.
        ValueError: for an invalid pair, an unknown name, or a size that cannot differ.
    """
    if isinstance(given, str):
        if given not in NAMED:
            raise ValueError(
                f"randomize must be a dict of ranges or one of {', '.join(map(repr, NAMED))}, got {given!r}"
            )
        return NamedRanges({name: value for name, value in NAMED[given].items() if grows or name != "size"})
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"randomize must be a dict of ranges by name, got {given!r}")
    if not grows and "size" in (given or {}):
        raise ValueError("randomize: size cannot differ in this task, whose solids do not grow")
    return {name: as_range(name, value) for name, value in (given or {}).items()}


class Randomization:
    """Parameters that a batch draws, and their ranges.

    They are :data:`FACTORS`, :data:`PLACES`, a stiffness by label, :data:`FLUIDS` if there is a fluid, and
    :data:`DISTURBANCES`.

    The ground is tilted in the frame of the task, so gravity changes its direction.

    Args:
        ranges: range per name; a pair of numbers stands for :class:`Uniform`.
        labels: names of the groups of constraints with separately adjustable stiffness.
        ground: whether the height of the ground can differ.
        fluid: whether there is a fluid.
        without_effect: reasons why some parameters would have no effect, by name; :class:`NamedRanges` drop these.

    Raises:
        ValueError: for a name that is unknown or would have no effect, or a range out of its parameter's bounds.
        TypeError: for an invalid range.
    """

    def __init__(
        self,
        ranges: Mapping[str, Range],
        labels: tuple[str, ...],
        ground: bool,
        fluid: bool = False,
        without_effect: Mapping[str, str] | None = None,
    ) -> None:
        without_effect = without_effect or {}
        if isinstance(ranges, NamedRanges):
            ranges = {name: value for name, value in ranges.items() if name not in without_effect}
        known = (*FACTORS, *PLACES, *(f"{label}_stiffness" for label in labels), *(FLUIDS if fluid else ()))
        self.names = (*known, *(DISTURBANCES if any(name in ranges for name in DISTURBANCES) else ()))
        """Names of all columns."""
        self.columns: dict[str, int] = {}
        """Column of each parameter that is drawn, by name."""
        self.table = np.zeros((len(self.names), 3), dtype=np.float32)
        """Low, high and whether it is logarithmic, shape (names, 3)."""
        self.table[:, :2] = self.nominal[:, None]
        for name, given in ranges.items():
            if name not in self.names:
                there = ", ".join((*known, *DISTURBANCES))
                raise ValueError(f"there is no parameter {name!r} to randomize; there are {there}")
            if name in without_effect:
                raise ValueError(f"randomize: {name} would have no effect in this task,  {without_effect[name]}")
            if name == "ground_height" and not ground:
                raise ValueError("ground_height cannot differ in a task whose object lies on the ground at the start")
            given = as_range(name, given)
            check(name, [given.low, given.high], (2,))
            column = self.names.index(name)
            self.columns[name] = column
            self.table[column] = given.low, given.high, isinstance(given, LogUniform)

    @property
    def nominal(self) -> np.ndarray:
        """Values of the defaults, which change nothing, shape (names,), float32."""
        return np.array([name not in (*PLACES, *DISTURBANCES) for name in self.names], dtype=np.float32)

    def draws(self, names: tuple[str, ...]) -> bool:
        """Return whether any of these parameters are drawn."""
        return any(name in self.columns for name in names)

    def check_values(self, values: np.ndarray) -> None:
        """Check external values, shape (rows, names): parameters that are not drawn here could not be redrawn later.

        Raises:
            ValueError: if a parameter differs from its nominal value that is not declared, or is out of its bounds.
        """
        for column, name in enumerate(self.names):
            if name in self.columns:
                self._check_column(name, values[:, column])
            elif (values[:, column] != self.nominal[column]).any():
                raise ValueError(
                    f"parameters: {name!r} differs in this state: make the environment with randomize={{{name!r}: ...}}"
                )

    def check_fixed(self, values: np.ndarray) -> None:
        """Check external values that must not be drawn, NaN for the others, shape (rows, names).

        Raises:
            ValueError: if a parameter is fixed that is not declared, or is out of its bounds.
        """
        for column, name in enumerate(self.names):
            given = values[~np.isnan(values[:, column]), column]
            if given.size and name not in self.columns:
                raise ValueError(f"fixed_parameters: {name!r} is fixed in this state, and not declared here")
            if given.size:
                self._check_column(name, given)

    def _check_column(self, name: str, given: np.ndarray) -> None:
        check(f"{name!r} among the parameters", given, given.shape, name)
        largest = self.table[self.columns[name], 1]
        if name == "size" and given.max() > largest:  # the scene leaves room for that
            raise ValueError(f"parameters: size must be at most {largest:g}, the largest that was declared here")

    def fixed(self, given: Mapping[str, Any], num_envs: int) -> np.ndarray:
        """Return values that must not be drawn, NaN for the others, shape (num_envs, names), float32.

        Args:
            given: numbers by name, or arrays of shape (num_envs,).
            num_envs: environments in the batch.

        Raises:
            ValueError: for a parameter that is not drawn here, a value out of its bounds or of a wrong shape, or a size
                above the largest that was declared.
        """
        if not isinstance(given, Mapping):
            raise TypeError(f"the option parameters must be a dict of numbers by name, got {given!r}")
        values = np.full((num_envs, len(self.names)), np.nan, dtype=np.float32)
        for name, value in given.items():
            if name not in self.columns:
                raise ValueError(
                    f"parameter {name!r} is not declared: make the environment with randomize={{{name!r}: (low, high)}}"
                )
            values[:, self.columns[name]] = numbers = check(name, value, (num_envs,))
            if name == "size" and numbers.max() > self.table[self.columns[name], 1]:  # the scene leaves room for that
                largest = self.table[self.columns[name], 1]
                raise ValueError(f"size must be at most {largest:g}, the largest that was declared, got {value!r}")
        return values


def check(name: str, values: Any, shape: tuple[int, ...], kind: str | None = None) -> np.ndarray:
    """Return values of a parameter as floats of ``shape``.

    Args:
        name: its name in error messages.
        values: numbers.
        shape: shape to broadcast to.
        kind: name of the parameter, if different.

    Raises:
        TypeError: for anything but real numbers.
        ValueError: for a number that is not finite or out of its bounds, or a wrong shape.
    """
    kind = name if kind is None else kind
    if kind in PLACES:
        given = finite(name, values, shape)
        limit = 100.0 if kind == "ground_height" else STEEPEST
        if (np.abs(given) > limit).any():
            raise ValueError(f"{name} must be from {-limit:g} to {limit:g}, got {given[np.abs(given) > limit][0]}")
        return given
    if kind in DISTURBANCES:
        return finite(name, values, shape, largest=LARGEST)
    kind = "stiffness" if kind.endswith("_stiffness") else kind
    return check_factor(name, values, shape, LIMITS.get(kind, 0.0))


def without_effect(model: Model, damping: float) -> dict[str, str]:
    """Return the parameters that would have no effect, each with the reason.

    Args:
        model: model of the scene.
        damping: damping of the task [1/s].
    """
    fluid = model.scene.fluid
    viscous = fluid is not None and fluid.material.viscosity > 0.0
    found = {
        "stiffness": "which has no elastic constraints" if not model.labels else "",
        "damping": "whose damping is 0" if damping == 0.0 else "",
        "viscosity": "which has no viscous fluid" if not viscous else "",
    }
    return {name: reason for name, reason in found.items() if reason}


def declared_largest(ranges: Mapping[str, Range], name: str) -> float:
    """Return the largest value of a factor that can be drawn, 1 if it is not; scenes and limits leave room for it."""
    given = as_range(name, ranges.get(name, (1.0, 1.0)))
    return given.high


def strongest_wind(ranges: Mapping[str, Range]) -> float:
    """Return the largest air speed that can be drawn [m/s]."""
    found = [as_range(name, ranges.get(name, (0.0, 0.0))) for name in WINDS]
    return float(np.linalg.norm([max(abs(one.low), abs(one.high)) for one in found]))


@wp.func
@no_type_check
def random_stream(seed: wp.int32, episode: wp.int32):
    """Return the random state of one episode of one environment; it does not depend on the batch."""
    return wp.rand_init(seed, episode)


@wp.func
@no_type_check
def scaled(point: wp.vec3, anchor: wp.vec3, size: float):
    """Return the place of a nominal task's point in a task of another size; ``anchor`` stays in place."""
    if size == 1.0:
        return point  # to the last bit
    return anchor + size * (point - anchor)


@wp.struct
class Sampled:
    """Ranges from which parameters are sampled, and the numbers they change."""

    ranges: wp.array2d[float]
    """Low, high and whether it is logarithmic, for each parameter."""
    gravity: wp.vec3
    """Gravity of the task [m/s^2]."""
    labels: int
    """Number of groups of constraints."""
    fluids: int
    """Number of fluid parameters."""
    ground: int
    """Pose of the ground, -1 if its height is not sampled."""
    ground_height: float
    """[m]"""


@wp.kernel
@no_type_check
def sample(
    # In:
    chosen: wp.array1d[wp.int32],
    seed: wp.array1d[wp.int32],
    episode: wp.array1d[wp.int32],
    sampled: Sampled,
    fixed: wp.array2d[float],
    lanes: int,
    # Out:
    values: wp.array2d[float],
    rows: wp.array3d[float],
    poses: wp.array3d[float],
):
    """Sample the parameters of the chosen environments, and write the rows that the physics reads."""
    env = wp.tid()
    if chosen[env] == 0:
        return
    # A separate stream, with a number for each parameter whether it is used or not: goals and the other parameters do
    # not depend on which parameters are drawn.
    random = wp.rand_init(seed[env], ~episode[env])
    for k in range(sampled.ranges.shape[0]):
        share = wp.randf(random)
        low = sampled.ranges[k, 0]
        high = sampled.ranges[k, 1]
        value = low + share * (high - low)
        if sampled.ranges[k, 2] != 0.0:
            value = low * wp.pow(high / low, share)
        value = wp.clamp(value, low, high)
        if not wp.isnan(fixed[env, k]):
            value = fixed[env, k]
        values[env, k] = value
    group = env // lanes
    lane = env % lanes
    if sampled.ground >= 0:
        poses[env, sampled.ground, 1] = sampled.ground_height + values[env, 8]
    # Gravity turned about z, then about x.
    across = sampled.gravity[0] * wp.cos(values[env, 6]) - sampled.gravity[1] * wp.sin(values[env, 6])
    down = sampled.gravity[0] * wp.sin(values[env, 6]) + sampled.gravity[1] * wp.cos(values[env, 6])
    rows[group, columns.GRAVITY, lane] = values[env, 5] * across
    along = sampled.gravity[2] * wp.cos(values[env, 7]) - down * wp.sin(values[env, 7])
    down = down * wp.cos(values[env, 7]) + sampled.gravity[2] * wp.sin(values[env, 7])
    rows[group, columns.GRAVITY + 1, lane] = values[env, 5] * down
    rows[group, columns.GRAVITY + 2, lane] = values[env, 5] * along
    rows[group, columns.SIZE, lane] = values[env, SIZE]
    rows[group, columns.INV_SIZE, lane] = 1.0 / values[env, SIZE]
    rows[group, columns.DENSITY, lane] = values[env, 1]
    rows[group, columns.FRICTION, lane] = values[env, 3]
    rows[group, columns.DAMPING, lane] = values[env, 4]
    for label in range(sampled.labels):
        rows[group, columns.COMPLIANCE + label, lane] = 1.0 / (values[env, 2] * values[env, FIRST_LABEL + label])
    for k in range(sampled.labels, sampled.labels + sampled.fluids):
        rows[group, columns.COMPLIANCE + k, lane] = values[env, FIRST_LABEL + k]
