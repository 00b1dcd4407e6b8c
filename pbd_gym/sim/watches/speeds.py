"""Speeds that substeps can resolve: a warning where bodies are about to collide too fast to be kept apart.

Contacts use the positions at the end of a substep. A ball that moves by more than its contact distance with another may
then be beyond the other's middle, and is pushed out there. A patch of a surface also knows the side on which everything
within its disc was at the start, and reaches as far as its disc.

A heavier body that hits cloth or a rope is not stopped within one substep either. In each, constraints pull the
particles that it touches, of total mass m, back to where the cloth is taut, and contacts press them out again by some
depth d. That is a push of m d / h^2: a spring that is softer for longer substeps. The body sinks in until the spring
has absorbed its energy, and passes if that takes it farther than a stroke D, :data:`CLOTH_STROKE` or
:data:`ROPE_STROKE`. With the mass mu that has to be stopped, it is held if

    mu (v^2 + 2 g D) h^2 <= 2 integral of m(d) d from 0 to D.

So the largest resolved speed scales with the root of the density of the cloth over the mass of the falling body.
"""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np

from pbd_gym.sim.upload.arrays import to_rows
from pbd_gym.sim.watches.bodies import ROPE, SHEET, Bodies, find_bodies

CLOTH_STROKE = 2.0
"""Largest stroke of cloth in a substep, in radii of its patches. Balls, boxes, rods and needles of 5 g to 2 kg went
through cotton, silk and denim with 9 to 34 mm between particles from 2.4 to 5.6 on.
"""
COARSE_STROKE = 2.7
"""Largest stroke in contact distances of the two bodies, if that is less: thin bodies slip between the particles of
coarse cloth.
"""
ROPE_STROKE = 1.2
"""Largest stroke of ropes, in contact distances with the other body: bodies of 5 to 500 g went through from 1.3 to 2.8
on.
"""
MARGIN = 1.1
"""Margin of the suggested number of substeps: the body may still gain speed, and turn."""
SECTIONS = 8
"""Number of depths at which the cross-section of the moving body is computed."""
FIRST, SELDOM = 8, 8
"""Number of checks without findings after which checks are made only every so many steps, and that interval: each check
takes a few dozen microseconds.
"""


class SpeedWatch:
    """Checks before each step whether bodies collide faster than substeps can resolve; warns once.

    Matrices have a row for the body that is hit, and a column for the moving body.
    """

    def __init__(self, model: Any) -> None:
        """Find the colliding bodies, and the resistance of each to each other."""
        scene = model.scene
        bodies = self._bodies = find_bodies(scene)
        self._meter = scene.meter
        self._gravity = float(np.linalg.norm(scene.gravity))
        self._reach = bodies.radius[:, None] + bodies.radius
        wide = np.maximum(bodies.extent[:, None], bodies.extent)
        self._swept = np.where(wide > 0.0, np.hypot(self._reach, wide), self._reach)
        on = bodies.count > 1 and not model.device.is_cuda
        self.watching = on
        """Whether there is anything to check: two colliding bodies, not on a GPU, which reading would delay, and no
        warning so far.
        """
        self._looks = self._steps = 0
        if on:
            rope = bodies.kind[:, None] == ROPE
            cloth = np.minimum(CLOTH_STROKE * bodies.disc[:, None], COARSE_STROKE * self._reach)
            self._stroke = np.where(rope, ROPE_STROKE * self._reach, cloth)
            self._coming = _coming(bodies)
            self._springs = self._find_springs(scene.positions[bodies.members])
            held = np.minimum(self._swept, np.sqrt(self._springs / self._coming))
            self._least = float(held[~np.eye(bodies.count, dtype=bool)].min())

    def _find_springs(self, x: np.ndarray) -> np.ndarray:
        """Return how much of ``mu v^2 h^2`` each body can absorb from each other at least, from any direction.

        Args:
            x: initial particles of all bodies [m], shape (k, 3).
        """
        ways = np.array([way for way in itertools.product((-1.0, 0.0, 1.0), repeat=3) if any(way)])
        ways /= np.linalg.norm(ways, axis=1)[:, None]
        found = np.full(self._reach.shape, np.inf)
        for a, b in itertools.permutations(range(self._bodies.count), 2):
            sections = self._bodies.kind[a] == SHEET and self._bodies.kind[b] != SHEET
            found[a, b] = min(
                self._spring(a, b, x[self._bodies.parts[b]], way) for way in ways[: None if sections else 1]
            )
        return found

    def _spring(self, a: int, b: int, points: np.ndarray, way: np.ndarray) -> float:
        """Return how much of ``mu v^2 h^2`` a body absorbs from another, touching more of it as it gives way.

        Args:
            a: body that is hit.
            b: moving body.
            points: particles of the moving body [m], shape (k, 3).
            way: its direction, a unit vector.
        """
        bodies, stroke = self._bodies, float(self._stroke[a, b])
        if bodies.kind[a] == ROPE:
            along = 2.0 * float(self._reach[a, b])
            if bodies.kind[b] == SHEET:
                along = max(along, float(min(bodies.size[a], bodies.size[b])))
            return float(bodies.mass[a] / bodies.measure[a]) * min(along, float(bodies.measure[a])) * stroke**2
        if bodies.kind[a] != SHEET:
            return math.inf
        density = float(bodies.mass[a] / bodies.measure[a])
        if bodies.kind[b] == SHEET:
            return density * float(min(bodies.measure[a], bodies.measure[b])) * stroke**2
        depths = stroke * (np.arange(SECTIONS) + 0.5) / SECTIONS
        moment = (_sections(points, way, depths, float(bodies.disc[a])) * depths).sum() * stroke / SECTIONS
        return 2.0 * density * float(moment)

    def _excess(self, a: Any, b: Any, speed: Any, h: float, spring: Any, held: np.ndarray) -> Any:
        """Return the factor by which a substep is too long for a body at a given speed [m/s].

        Args:
            a: body that is hit: an index, or several.
            b: moving body.
            speed: [m/s].
            h: substep [s].
            spring: see :meth:`_spring`.
            held: whether a particle of a body is held or pinned.
        """
        coming, mine = self._coming[a, b], self._bodies.mass[a]
        stopped = np.where(held[a], coming, coming * mine / (coming + mine))
        energy = stopped * (speed * speed + 2.0 * self._gravity * self._stroke[a, b])
        return np.maximum(speed * h / self._swept[a, b], h * np.sqrt(energy / spring))

    def look(self, state: Any, ctrl_dt: float, substeps: int) -> None:
        """Warn if bodies are about to collide faster than substeps of ``ctrl_dt / substeps`` seconds can resolve."""
        self._steps += 1
        if self._looks >= FIRST and self._steps % SELDOM:
            return
        h = ctrl_dt / substeps
        raw = state.velocities_scalar.numpy()
        spread = [float(raw[:, :, axis].max() - raw[:, :, axis].min()) for axis in range(3)]
        if math.hypot(*spread) * h <= self._least:
            return
        self._looks += 1
        count, members = state.model.num_envs, self._bodies.members
        velocities = to_rows(raw, count)[:, members].astype(np.float64)
        positions = to_rows(state.positions_scalar.numpy(), count)[:, members].astype(np.float64)
        fixed = to_rows(state.inv_mass_scalar.numpy(), count)[:, members] == 0.0
        wide = np.linalg.norm(np.ptp(velocities, axis=1), axis=1) * h > self._least
        worst = (1.0, 0.0, 0)
        for env in np.flatnonzero(wide).tolist():
            held = np.array([fixed[env, part].any() for part in self._bodies.parts])
            worst = max(worst, (*self._worst(positions[env], velocities[env], held, ctrl_dt, h), env))
        excess, speed, env = worst
        if excess > 1.0:
            self.watching = False
            wanted, speed = math.ceil(MARGIN * excess * substeps), speed / self._meter
            warnings.warn(
                f"bodies meet at {speed:.3g} m/s in environment {env}, which is {1e3 * speed * h:.3g} mm in a substep "
                f"of {1e3 * h:.3g} ms, more than contacts hold: they may go through each other. With substeps={wanted} "
                f"they could not; thicker contacts need fewer",
                RuntimeWarning,
                stacklevel=3,
            )

    def _worst(self, x: np.ndarray, v: np.ndarray, held: np.ndarray, ctrl_dt: float, h: float) -> tuple[float, float]:
        """Return the factor by which two bodies of one environment are too fast for each other, and the speed [m/s]."""
        parts = self._bodies.parts
        low = np.array([x[part].min(axis=0) for part in parts])
        high = np.array([x[part].max(axis=0) for part in parts])
        mean = np.array([v[part].mean(axis=0) for part in parts])
        fast = np.array([np.linalg.norm(v[part] - mean[k], axis=1).max() for k, part in enumerate(parts)])
        speeds = np.linalg.norm(mean[:, None] - mean, axis=2) + fast[:, None] + fast
        gaps = np.maximum(low[:, None] - high, low - high[:, None]).max(axis=2)
        a, b = (~np.eye(len(parts), dtype=bool)).nonzero()
        excess = self._excess(a, b, speeds[a, b], h, self._springs[a, b], held)
        may = (excess > 1.0) & (gaps < self._reach + speeds * ctrl_dt)[a, b]
        worst = (0.0, 0.0)
        for one, other in zip(a[may].tolist(), b[may].tolist(), strict=True):
            # Particles of the moving body that may get into the box of the other within a step.
            part = parts[other]
            rush = v[part] - mean[one]
            ways = np.linalg.norm(rush, axis=1)
            then = x[part] + ctrl_dt * rush
            beyond = np.maximum(low[one] - np.maximum(x[part], then), np.minimum(x[part], then) - high[one]).max(axis=1)
            nearer = (rush * (0.5 * (low[one] + high[one]) - x[part])).sum(axis=1) > 0.0
            meets = nearer & (beyond < self._reach[one, other])
            if meets.any():
                # On average: a light particle that is flung aside for a moment is not a body coming through.
                speed = float(ways[meets].mean())
                way = rush[meets].mean(axis=0)
                spring = self._spring(one, other, x[part], way / max(float(np.linalg.norm(way)), 1e-30))
                worst = max(worst, (float(self._excess(one, other, speed, h, spring, held)), speed))
        return worst


def _coming(bodies: Bodies) -> np.ndarray:
    """Return the mass with which each body hits each other [kg], shape (bodies, bodies).

    It is the whole mass, except that a rope counts only with the length of the body it meets: the rest flies on to
    either side.
    """
    share = np.minimum(1.0, bodies.size[:, None] / np.maximum(bodies.size, 1e-30))
    found: np.ndarray = np.where(bodies.kind == ROPE, share, 1.0) * bodies.mass
    return found


def _sections(points: np.ndarray, way: np.ndarray, depths: np.ndarray, disc: float) -> np.ndarray:
    """Return the cross-section of a body up to some depths from its tip [m^2], shape (d,).

    It is that of an ellipse with the same second moments, at least as wide as a patch of the body it meets.

    Args:
        points: points of the body [m], shape (k, 3).
        way: direction, a unit vector.
        depths: [m], shape (d,).
        disc: radius of such a patch [m].
    """
    along = points @ way
    across = points - np.outer(along, way)
    below = along.max() - along
    found = np.empty(len(depths))
    for n, depth in enumerate(depths):
        among = across[below <= depth]
        spread = np.linalg.eigvalsh(np.atleast_2d(np.cov(among.T, bias=True)))[1:]
        wide = np.maximum(2.0 * np.sqrt(np.maximum(spread, 0.0)), disc)
        found[n] = math.pi * wide[0] * wide[1]
    return found
