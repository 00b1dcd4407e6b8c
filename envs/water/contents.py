"""Contents of cups: the shares of the water in them, on which ratings and observations of these tasks are based."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, no_type_check

import numpy as np
import warp as wp

from pbd_gym.envs.core.data.buffers import Buffers, Launches, device_indices, prepare
from pbd_gym.envs.core.data.modes import Modes
from pbd_gym.envs.core.parts.manipulation import Measure, WeightedMeasures
from pbd_gym.envs.core.parts.measures import depot_of, is_there
from pbd_gym.envs.core.spaces.observations import bounded
from pbd_gym.envs.core.task import Condition, Part, World
from pbd_gym.envs.water.body import WaterTaskConfig
from pbd_gym.envs.water.cup import Cup, CupRow, is_inside, rim_above, tilt

wp.set_module_options({"enable_backward": False})

FIRST, SECOND, POURED, LEVEL, COUNT = (wp.constant(k) for k in range(5))
"""Columns of the buffer ``contents``: shares of the particles in the first cup, in the second, and in the second but
not in the first; height of the highest one in the first cup [m]; and their number.
"""
COLUMNS = 5


@wp.kernel
@no_type_check
def look_into(
    # In:
    members: wp.array1d[wp.int32],
    depot: wp.vec3,
    first: CupRow,
    second: CupRow,
    poses: wp.array3d[float],
    lanes: int,
    positions: wp.array4d[float],
    # Out:
    contents: wp.array2d[float],
):
    """Count the particles in both cups; those in the depot do not count."""
    env = wp.tid()
    group = env // lanes
    lane = env % lanes
    rim1 = rim_above(poses, env, first)
    rim2 = rim_above(poses, env, second)
    in_first = int(0)
    in_second = int(0)
    poured = int(0)
    count = int(0)
    level = float(0.0)
    for n in range(members.shape[0]):
        x = positions[group, members[n], 0, lane]
        y = positions[group, members[n], 1, lane]
        z = positions[group, members[n], 2, lane]
        if is_there(depot, x, y, z):
            count += 1
            inside2 = is_inside(poses, env, second, rim2, x, y, z)
            if inside2:
                in_second += 1
            if is_inside(poses, env, first, rim1, x, y, z):
                in_first += 1
                level = wp.max(level, y)
            elif inside2:
                poured += 1
    whole = float(wp.max(count, 1))
    contents[env, FIRST] = float(in_first) / whole
    contents[env, SECOND] = float(in_second) / whole
    contents[env, POURED] = float(poured) / whole
    contents[env, LEVEL] = level
    contents[env, COUNT] = float(count)


@wp.kernel
@no_type_check
def share_of(contents: wp.array2d[float], column: int, missing: int, out: wp.array1d[float]):
    """Return the share of the particles that a column counts or, if ``missing`` is not 0, of all others."""
    env = wp.tid()
    found = contents[env, column]
    out[env] = wp.where(missing != 0, 1.0 - found, found)


@wp.kernel
@no_type_check
def little_spilled(contents: wp.array2d[float], most: float, met: wp.array1d[wp.int32]):
    """Check that the share of the particles in neither cup is at most ``most``."""
    env = wp.tid()
    met[env] = wp.where(1.0 - contents[env, FIRST] - contents[env, POURED] <= most, 1, 0)


@wp.kernel
@no_type_check
def both(other: wp.array1d[wp.int32], met: wp.array1d[wp.int32]):
    """Check that a condition is met, and the other one as well."""
    env = wp.tid()
    met[env] = met[env] * other[env]


@wp.kernel
@no_type_check
def distance_from(poses: wp.array3d[float], cup: CupRow, goal: float, out: wp.array1d[float]):
    """Return the distance of a cup from a place along x [m]."""
    env = wp.tid()
    out[env] = wp.abs(goal - poses[env, cup.floor, 0])


@wp.kernel
@no_type_check
def error_of_share(contents: wp.array2d[float], targets: wp.array2d[float], out: wp.array1d[float]):
    """Return the difference between the poured and the required number of particles, as a share of all.

    The required number is rounded down to whole particles.
    """
    env = wp.tid()
    wanted = wp.floor(contents[env, COUNT] * targets[env, 0]) / wp.max(contents[env, COUNT], 1.0)
    out[env] = wp.abs(contents[env, POURED] - wanted)


@wp.kernel
@no_type_check
def draw_shares(
    # In:
    chosen: wp.array1d[wp.int32],
    start: wp.array1d[wp.int32],
    table: wp.array1d[float],
    # Out:
    targets: wp.array2d[float],
):
    """Set the share required by the start state of each chosen environment."""
    env = wp.tid()
    if chosen[env] != 0:
        targets[env, 0] = table[start[env] % table.shape[0]]


@wp.kernel
@no_type_check
def observe_one(
    # In:
    contents: wp.array2d[float],
    cup: CupRow,
    goal: float,
    width: float,
    poses: wp.array3d[float],
    first: int,
    # Out:
    observation: wp.array2d[float],
):
    """Write x, the inner width, height and length, the remaining way, the level of the water, and its share."""
    env = wp.tid()
    x = poses[env, cup.floor, 0]
    observation[env, first] = bounded(x)
    observation[env, first + 1] = width
    observation[env, first + 2] = bounded(rim_above(poses, env, cup))
    observation[env, first + 3] = width
    observation[env, first + 4] = bounded(goal - x)
    observation[env, first + 5] = bounded(contents[env, LEVEL])
    observation[env, first + 6] = contents[env, FIRST]


@wp.kernel
@no_type_check
def observe_two(
    # In:
    contents: wp.array2d[float],
    cup: CupRow,
    other: CupRow,
    width: float,
    other_width: float,
    poses: wp.array3d[float],
    first: int,
    # Out:
    observation: wp.array2d[float],
):
    """Write x, y, angle, floor lengths and height of a cup, x, height and floor lengths of the other, and contents.

    These are the level of the water in the first cup, and the shares in both.
    """
    env = wp.tid()
    observation[env, first] = bounded(poses[env, cup.floor, 0])
    observation[env, first + 1] = bounded(poses[env, cup.floor, 1])
    observation[env, first + 2] = tilt(poses, env, cup.floor)
    observation[env, first + 3] = width
    observation[env, first + 4] = width
    observation[env, first + 5] = bounded(rim_above(poses, env, cup))
    observation[env, first + 6] = bounded(poses[env, other.floor, 0])
    observation[env, first + 7] = bounded(rim_above(poses, env, other))
    observation[env, first + 8] = other_width
    observation[env, first + 9] = other_width
    observation[env, first + 10] = bounded(contents[env, LEVEL])
    observation[env, first + 11] = contents[env, FIRST]
    observation[env, first + 12] = contents[env, SECOND]


@wp.kernel
@no_type_check
def observe_column(values: wp.array2d[float], column: int, first: int, observation: wp.array2d[float]):
    """Write one more number: a column of a buffer."""
    env = wp.tid()
    observation[env, first] = bounded(values[env, column])


class TargetShares(Part):
    """Share of the water required by each start state, in the buffer ``targets``.

    Args:
        shares: share of each start state, shape (starts,).
    """

    def __init__(self, shares: np.ndarray) -> None:
        self.shares = shares

    def add_buffers(self, buffers: Buffers) -> None:
        buffers.add("targets", (1,))

    def begin(self, world: World, chosen: Any) -> Sequence[Any]:
        """Return the launch that sets the shares."""
        b, table = world.buffers, wp.array(self.shares, dtype=float, device=world.model.device)
        return [prepare(world, draw_shares, chosen, b["start"], table, b["targets"])]


class Contents(Part):
    """Counts the contents of two cups, in a buffer of :data:`COLUMNS` columns.

    Args:
        first: cup that the agent moves.
        second: another cup, or the same one if there is only one.
        members: particles to count, shape (k,), int.
        name: name of the buffer.
    """

    def __init__(self, first: Cup, second: Cup, members: np.ndarray, name: str = "contents") -> None:
        self.first, self.second, self.members, self.name = first, second, members, name

    def add_buffers(self, buffers: Buffers) -> None:
        buffers.add(self.name, (COLUMNS,))

    def look(self, world: World) -> Any:
        """Return the launch that counts."""
        model = world.model
        return prepare(
            world, look_into, device_indices(world, self.members), depot_of(world),
            self.first.row(model), self.second.row(model), world.state.poses, model.lanes,
            world.state.positions_scalar, world.buffers[self.name],
        )  # fmt: skip

    def share(self, name: str, weight: float, column: int, missing: bool = False) -> Measure:
        """Return a measure of the share that a column counts, or of the rest."""
        return Measure(name, weight, partial(self._share, int(column), missing))

    def _share(self, column: int, missing: bool, world: World, out: Any) -> Any:
        return prepare(world, share_of, world.buffers[self.name], column, int(missing), out)


class CupScore(WeightedMeasures):
    """Weighted measures, preceded by counting the contents of the cups.

    Args:
        config: the task's numbers.
        modes: modes of actions, observations and rewards.
        contents: counter of the contents.
        measures: terms of the performance.
        best: performance that counts as 1 when normalised.
        dry: whether success requires that hardly anything is spilled; otherwise that is merely reported.
    """

    def __init__(
        self,
        config: WaterTaskConfig,
        modes: Modes,
        contents: Sequence[Contents],
        measures: Sequence[Measure],
        best: float = 0.0,
        dry: bool = True,
    ) -> None:
        super().__init__(config, modes, measures, best=best, conditions=[Condition("unspilled", self.unspilled, dry)])
        self.contents, self.spilled = contents, config.most_spilled

    def add_buffers(self, buffers: Buffers) -> None:
        super().add_buffers(buffers)
        buffers.add("expert_memory")  # of its last action: a state that is restored has it, too
        for part in self.contents:
            part.add_buffers(buffers)

    def unspilled(self, world: World, met: Any) -> Any:
        """Return the launches that check, for each of the contents, that hardly any is in neither cup."""
        others = [wp.zeros(world.num_envs, dtype=wp.int32, device=world.model.device) for _ in self.contents[1:]]
        checks = [
            prepare(world, little_spilled, world.buffers[part.name], self.spilled, out)
            for part, out in zip(self.contents, (met, *others), strict=True)
        ]
        return Launches([*checks, *(prepare(world, both, other, met) for other in others)])

    def rate(self, world: World) -> Launches:
        """Return the launches that rate every environment."""
        return Launches([*(part.look(world) for part in self.contents), *super().rate(world)])
