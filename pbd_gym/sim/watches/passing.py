"""Passing: a warning when ropes have gone through each other, or particles of a body into a soft or rigid body.

Speeds (:mod:`pbd_gym.sim.watches.speeds`) and pulls (:mod:`pbd_gym.sim.watches.pulls`) are warned of before anything
passes, by laws that know of lines, impacts and cloth only. What hangs from a rope of springs, or lies on foam, can pass
without either. So the outcome is checked as well: segments of ropes that have crossed within a control step, and
particles of other bodies inside a tetrahedron, or a rigid body. Contacts that hold allow neither.

Both look at one environment in a step, each at its turn, so that the cost does not grow with the batch.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from pbd_gym.sim.watches.bodies import find_bodies
from pbd_gym.sim.watches.insides import RigidSolid, find_solids
from pbd_gym.sim.watches.meetings import segments_met

CHUNK = 8
"""Number of segments whose boxes are compared together."""
BESIDE = 2.0
"""Distance along a rope within which segments are not compared, in contact distances: a sharp bend is no passage."""
SELDOM = 4
"""Number of steps between checks of solids: what sinks into one stays there for longer."""
HELD = (
    "contacts did not keep them apart with substeps of {:.3g} ms. What they hold grows with the square of the number "
    "of substeps, and with the masses and radii of the particles that touch"
)
"""Reason where substeps are too long."""


class PassingWatch:
    """Checks after each step whether ropes, or bodies and solids, have passed into each other; warns once."""

    def __init__(self, model: Any, quiet: bool = False) -> None:
        """Find the ropes and solids that collide, unless nothing shall be said or reading would delay a GPU."""
        self.watching = not (quiet or model.device.is_cuda) and bool(model.contact_count)
        """Whether there is anything to check: a rope or solid that collides, and no warning so far."""
        self._steps, self._gaps = 0, ""
        if not self.watching:
            return
        scene, self._lanes, self._count = model.scene, model.lanes, model.num_envs
        self._millimetres = 1e3 / scene.meter
        bodies = self._bodies = find_bodies(scene)
        self._owner = bodies.owners(scene.particle_count)
        ends = bodies.rope_ends(scene)
        self._ends = ends[np.argsort(self._owner[ends[:, 0]], kind="stable")]
        # A segment of padding completes the last chunk.
        self._order = (
            np.pad(np.arange(len(self._ends)), (0, -len(self._ends) % CHUNK), mode="edge") if len(ends) else ends
        )
        self._spacing = self._find_spacing(scene)
        self._beside = self._find_beside()
        self._before = np.zeros(0)
        self._solids = find_solids(scene, bodies, self._owner)
        self._others = self._find_others(scene.positions)
        self.watching = len(self._ends) > 1 or bool(self._solids)

    def _find_spacing(self, scene: Any) -> np.ndarray:
        """Return the mean distance of neighbouring particles of each rope, 0 for other bodies, shape (bodies,) [m]."""
        found, owner = np.zeros(self._bodies.count), self._owner[self._ends[:, 0]]
        length = np.linalg.norm(np.diff(scene.positions[self._ends], axis=1)[:, 0], axis=1)
        for body in np.unique(owner).tolist():
            found[body] = length[owner == body].mean()
        return found

    def _find_beside(self) -> np.ndarray:
        """Return within how many segments those of each rope are not compared, shape (bodies,), int."""
        steps = 2.0 * BESIDE * self._bodies.radius / np.maximum(self._spacing, 1e-30)
        return np.where(self._spacing > 0.0, 1 + np.ceil(steps), 0).astype(np.int64)

    def _places(self, state: Any) -> np.ndarray:
        """Return the positions of the environment whose turn it is [m], shape (n, 3), without a copy."""
        env = self._steps % self._count
        found: np.ndarray = state.positions_scalar.numpy()[env // self._lanes, :, :, env % self._lanes]
        return found

    def begin(self, state: Any) -> None:
        """Note where ropes are before a step."""
        if len(self._ends) > 1:
            self._before = self._places(state)[self._ends].astype(np.float64)

    def look(self, state: Any, ctrl_dt: float, substeps: int) -> None:
        """Warn if something has passed in a step of ``ctrl_dt`` seconds."""
        said, env = "", self._steps % self._count
        if len(self._ends) > 1:
            said = self._look_at_ropes(self._places(state)[self._ends].astype(np.float64))
        if not said and self._solids and self._steps // self._count % SELDOM == 0:
            said = self._look_at_solids(self._places(state))
        self._steps += 1
        if said:
            self.watching = False
            warnings.warn(
                f"{said} in environment {env}: {self._gaps or HELD.format(1e3 * ctrl_dt / substeps)}",
                RuntimeWarning,
                stacklevel=3,
            )

    def _look_at_ropes(self, now: np.ndarray) -> str:
        """Return what to say of segments that have crossed, with their ends after the step, shape (s, 2, 3) [m]."""
        i, j = self._candidates(self._before, now)
        if not len(i):
            return ""
        start = [self._before[i, 1] - self._before[i, 0], self._before[j, 1] - self._before[j, 0],
                 self._before[j, 0] - self._before[i, 0]]  # fmt: skip
        end = [now[i, 1] - now[i, 0], now[j, 1] - now[j, 0], now[j, 0] - now[i, 0]]
        through = np.flatnonzero(segments_met(start, end) % 2)
        if not len(through):
            return ""
        one, other = self._owner[self._ends[i[through[0]], 0]], self._owner[self._ends[j[through[0]], 0]]
        self._note_gaps(one, other)
        if one == other:
            return f"{self._bodies.name(one)} has gone through itself"
        return f"{self._bodies.name(one)} and {self._bodies.name(other)} have gone through each other"

    def _note_gaps(self, one: int, other: int) -> None:
        """Note if strands of two ropes can cross halfway between their particles without touching any."""
        reach, gaps = self._bodies.radius[[one, other]].sum(), self._spacing[[one, other]]
        if reach < 0.5 * np.hypot(*gaps):
            self._gaps = (
                f"particles that are {self._millimetres * gaps.max():.3g} mm apart with a contact radius of "
                f"{self._millimetres * reach / 2.0:.3g} mm leave gaps through which strands slip, whatever the "
                "substeps; a radius above 0.36 of their distance leaves none"
            )

    def _candidates(self, before: np.ndarray, now: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs of segments whose swept boxes meet, but for those beside each other in a rope."""
        low = np.minimum(before, now).min(axis=1)
        high = np.maximum(before, now).max(axis=1)
        chunks = self._order.reshape(-1, CHUNK)
        lower, upper = low[chunks].min(axis=1), high[chunks].max(axis=1)
        a, b = np.triu_indices(len(chunks))
        near = ((lower[a] <= upper[b]) & (lower[b] <= upper[a])).all(axis=1)
        i = np.repeat(chunks[a[near]], CHUNK, axis=1).ravel()
        j = np.tile(chunks[b[near]], CHUNK).ravel()
        side = self._owner[self._ends[:, 0]]
        wanted = (side[i] != side[j]) | (j - i > self._beside[side[i]])
        i, j = i[wanted & (i < j)], j[wanted & (i < j)]
        meet = ((low[i] <= high[j]) & (low[j] <= high[i])).all(axis=1)
        i, j = i[meet], j[meet]
        joined = (self._ends[i][:, :, None] == self._ends[j][:, None, :]).any(axis=(1, 2))
        return i[~joined], j[~joined]

    def _look_at_solids(self, x: np.ndarray) -> str:
        """Return what to say of particles inside another body, with all positions [m]."""
        for solid, others in zip(self._solids, self._others, strict=True):
            inside = others[solid.holds(x, others)]
            if len(inside):
                other = self._owner[inside[0]]
                count = int((self._owner[inside] == other).sum())
                return f"{count} particles of {self._bodies.name(other)} are inside {self._bodies.name(solid.body)}"
        return ""

    def _find_others(self, x: np.ndarray) -> list[np.ndarray]:
        """Return the particles that do not belong in each solid: neither its own, nor what starts in a rigid body."""
        found = []
        for solid in self._solids:
            others = self._bodies.members[self._owner[self._bodies.members] != solid.body]
            if isinstance(solid, RigidSolid):  # what it carries may be a part of it
                rigid = self._bodies.rigid[self._owner[others]]
                others = others[~rigid & ~solid.holds(x, others)]
            found.append(others)
        return found
