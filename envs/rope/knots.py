"""Knots in ropes: crossings seen from above, and the invariant that tells a knot from a tangle.

A rope is knotted or not whatever shape it is pulled into, as long as its ends stay where they are. Seen from above, the
signs of its crossings and their order along the rope give the invariant v2: 0 for a rope that can be shaken out, 1 for
the overhand knot of either hand, -1 for the figure-eight (Polyak and Viro 1994, "Gauss diagram formulas for Vassiliev
invariants", doi:10.1155/S1073792894000486). Each of its two formulas continues the ends in one way, straight up or
straight down. An end that has not come out of the knot is above or below some strand, and then the two differ.
"""

from __future__ import annotations

from typing import Any, NamedTuple, no_type_check

import numpy as np
import warp as wp

from pbd_gym.envs.core.data.buffers import Buffers, prepare
from pbd_gym.envs.core.parts.measures import point
from pbd_gym.envs.core.task import Condition, Part, World

wp.set_module_options({"enable_backward": False})

MOST_CROSSINGS = wp.constant(48)
"""Number of crossings that are looked at. A rope with more of them is neither tied nor untied."""


class Crossings(NamedTuple):
    """Crossings of a rope with itself, seen from above."""

    over: np.ndarray
    """Place of the upper strand along the rope [particles], shape (k,)."""
    under: np.ndarray
    """Place of the lower strand, likewise."""
    signs: np.ndarray
    """1 or -1, shape (k,)."""


def find_crossings(x: np.ndarray) -> Crossings:
    """Return the crossings of one rope.

    Args:
        x: particles [m], shape (n, 3).
    """
    way = np.diff(x, axis=0)
    i, j = np.triu_indices(len(way), 2)
    area = _area(way[i], way[j])
    parallel = np.abs(area) < 1e-14
    shares = np.stack([_area(x[j] - x[i], way[j]), _area(x[j] - x[i], way[i])]) / np.where(parallel, 1.0, area)
    meet = ((shares >= 0.0) & (shares < 1.0)).all(axis=0) & ~parallel
    i, j, (t, u), area = i[meet], j[meet], shares[:, meet], area[meet]
    above = x[i, 1] + t * way[i, 1] > x[j, 1] + u * way[j, 1]
    return Crossings(np.where(above, i + t, j + u), np.where(above, j + u, i + t), np.sign(area) * (2.0 * above - 1.0))


def _area(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the cross products of vectors seen from above, shape (k,)."""
    return np.asarray(a[:, 0] * b[:, 2] - a[:, 2] * b[:, 0])


def v2(crossings: Crossings) -> tuple[int, int]:
    """Return the invariant v2 of a rope whose ends go straight up, and straight down."""
    over, under = crossings.over, crossings.under
    first = (under[:, None] < over) & (over < over[:, None]) & (over[:, None] < under)
    last = (over[:, None] < under) & (under < under[:, None]) & (under[:, None] < over)
    products = crossings.signs[:, None] * crossings.signs
    return int((products * first).sum()), int((products * last).sum())


@wp.func
@no_type_check
def area(a: wp.vec3, b: wp.vec3):
    """Return the cross product of two vectors seen from above."""
    return a[0] * b[2] - a[2] * b[0]


@wp.kernel
@no_type_check
def look_at_knot(
    # In:
    count: int,
    lanes: int,
    positions: wp.array4d[float],
    # Scratch, shape (environments, MOST_CROSSINGS):
    over: wp.array2d[float],
    under: wp.array2d[float],
    signs: wp.array2d[float],
    # Out:
    knot: wp.array2d[wp.int32],
):
    """Find the number of crossings, and v2 with the ends going up and down: :func:`find_crossings`, :func:`v2`."""
    env = wp.tid()
    group = env // lanes
    lane = env % lanes
    found = int(0)
    for i in range(count - 1):
        p = point(positions, group, i, lane)
        a = point(positions, group, i + 1, lane) - p
        low = wp.vec3(wp.min(0.0, a[0]), 0.0, wp.min(0.0, a[2]))
        high = wp.vec3(wp.max(0.0, a[0]), 0.0, wp.max(0.0, a[2]))
        between = point(positions, group, wp.min(i + 2, count - 1), lane) - p
        for j in range(i + 2, count - 1):
            following = point(positions, group, j + 1, lane) - p
            b = following - between
            if (
                wp.max(between[0], following[0]) >= low[0]
                and wp.min(between[0], following[0]) <= high[0]
                and wp.max(between[2], following[2]) >= low[2]
                and wp.min(between[2], following[2]) <= high[2]
            ):
                whole = area(a, b)
                if wp.abs(whole) > 1.0e-14:
                    t = area(between, b) / whole
                    u = area(between, a) / whole
                    if t >= 0.0 and t < 1.0 and u >= 0.0 and u < 1.0:
                        if found < MOST_CROSSINGS:
                            here = float(i) + t
                            there = float(j) + u
                            above = t * a[1] > between[1] + u * b[1]
                            over[env, found] = wp.where(above, here, there)
                            under[env, found] = wp.where(above, there, here)
                            signs[env, found] = wp.where(above, wp.sign(whole), -wp.sign(whole))
                        found += 1
            between = following
    up = float(0.0)
    down = float(0.0)
    for m in range(wp.min(found, MOST_CROSSINGS)):
        for k in range(wp.min(found, MOST_CROSSINGS)):
            product = signs[env, m] * signs[env, k]
            if under[env, m] < over[env, k] and over[env, k] < over[env, m] and over[env, m] < under[env, k]:
                up += product
            if over[env, m] < under[env, k] and under[env, k] < under[env, m] and under[env, m] < over[env, k]:
                down += product
    knot[env, 0] = found
    knot[env, 1] = int(up)
    knot[env, 2] = int(down)


@wp.func
@no_type_check
def is_value(knot: wp.array2d[wp.int32], env: int, value: int):
    """Return whether v2 has a value, wherever the ends go, in a rope without more crossings than are looked at."""
    return knot[env, 0] <= MOST_CROSSINGS and knot[env, 1] == value and knot[env, 2] == value


@wp.kernel
@no_type_check
def rate_knot(knot: wp.array2d[wp.int32], value: int, progress: wp.array1d[float]):
    """Return 1 for a knot of this value of v2, and a third for each of the first two crossings of any other rope."""
    env = wp.tid()
    progress[env] = wp.where(is_value(knot, env, value), 1.0, float(wp.min(knot[env, 0], 2)) / 3.0)


@wp.kernel
@no_type_check
def check_knot(knot: wp.array2d[wp.int32], value: int, met: wp.array1d[wp.int32]):
    """Check that v2 has a value, wherever the ends go."""
    env = wp.tid()
    met[env] = wp.where(is_value(knot, env, value), 1, 0)


@wp.kernel
@no_type_check
def forget_passages(chosen: wp.array1d[wp.int32], passed: wp.array1d[wp.int32]):
    """Forget the passages of earlier episodes."""
    env = wp.tid()
    if chosen[env] != 0:
        passed[env] = 0


@wp.kernel
@no_type_check
def add_passages(passages: wp.array1d[wp.int32], passed: wp.array1d[wp.int32], met: wp.array1d[wp.int32]):
    """Add the passages of an action to those of the episode, and check that there are none."""
    env = wp.tid()
    passed[env] = wp.min(passed[env] + passages[env], 1000)
    met[env] = wp.where(passed[env] == 0, 1, 0)


class KnotWatch(Part):
    """Watch of a rope's knot: buffers ``knot``, the crossings and v2 of each rope, and ``passed``.

    A rope that has gone through itself since the episode began has not been tied or untied by the hands: the solver
    counts passages, and ``passed`` sums them up.

    Args:
        particles: number of particles of the rope, the first ones of the scene.
    """

    def __init__(self, particles: int) -> None:
        self.particles = particles

    def add_buffers(self, buffers: Buffers) -> None:
        buffers.add("knot", (3,), wp.int32)
        buffers.add("passed", (), wp.int32)

    def begin(self, world: World, chosen: Any) -> list[Any]:
        """Return the launches that forget the passages of earlier episodes."""
        return [prepare(world, forget_passages, chosen, world.buffers["passed"])]

    def look(self, world: World) -> Any:
        """Return the launch that fills ``knot``."""
        shape = (world.num_envs, int(MOST_CROSSINGS))
        scratch = [wp.zeros(shape, dtype=float, device=world.model.device) for _ in range(3)]
        return prepare(
            world, look_at_knot, self.particles, world.model.lanes, world.state.positions_scalar, *scratch,
            world.buffers["knot"],
        )  # fmt: skip

    def is_knot(self, name: str, value: int) -> Condition:
        """Return the condition that v2 has a value, wherever the ends go."""
        return Condition(name, lambda world, met: prepare(world, check_knot, world.buffers["knot"], value, met))

    def unpassed(self) -> Condition:
        """Return the condition ``unpassed``: the rope has not gone through itself in this episode."""

        def check(world: World, met: Any) -> Any:
            return prepare(world, add_passages, world.buffers["passages"], world.buffers["passed"], met)

        return Condition("unpassed", check)
