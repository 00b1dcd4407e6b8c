"""Speeds that substeps can hold: a warning where bodies are about to meet too fast to be kept apart.

Contacts look at where particles are at the end of a substep. Of two balls, the one that goes on by more than the
distance at which they touch may be beyond the other's middle then, and is pushed out there. A patch of a surface also
knows the side on which all within its disc were at the start, so that nothing light passes. But one substep does not
stop what is heavier than the surface: it has to be met several times within the thickness.
"""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np

from pbd_gym.sim.upload.arrays import to_rows
from pbd_gym.sim.upload.contacts import whole_bodies

HEAVY = 0.5
"""How far what is heavier than a surface may approach it in a substep, in distances at which they touch. Balls of 12 cm
and 0.25 kg fall through 20 g of cotton at 0.8, and not at 0.5."""
FIRST, SELDOM = 8, 8
"""Looks that find nothing after which there is a look every so many steps only: each takes a few dozen microseconds."""


class SpeedWatch:
    """Looks after each step whether bodies meet faster than substeps can hold; warns once."""

    def __init__(self, model: Any) -> None:
        """Find the bodies that collide."""
        groups = model.scene.particle_contacts
        members = np.concatenate([np.zeros(0, dtype=np.int64), *(group.indices for group in groups)]).astype(np.int64)
        sizes = [len(group.indices) for group in groups]
        radius = np.repeat([group.radius for group in groups], sizes)
        sheet = np.repeat([len(group.triangles) > 0 for group in groups], sizes)
        body = whole_bodies(model.scene)[members]
        order = np.argsort(body, kind="stable")
        self._members = members[order]
        starts = np.flatnonzero(np.diff(body[order], prepend=-1))
        self._parts = [slice(a, b) for a, b in itertools.pairwise([*starts, len(order)])]
        self._radius = np.array([radius[order][part].min() for part in self._parts])
        self._sheet = np.array([sheet[order][part].any() for part in self._parts], dtype=bool)
        self._held = self._holds(model.scene, order)
        on = len(self._parts) > 1 and not model.device.is_cuda
        self.watching = on
        """Whether there is anything to look at: two bodies that collide, not on a GPU, which a look would hold up, and
        no warning so far."""
        self._looks = self._steps = 0
        self._least = float(self._held[~np.eye(len(self._parts), dtype=bool)].min()) if on else 0.0

    def _holds(self, scene: Any, order: np.ndarray) -> np.ndarray:
        """Return how far two bodies may approach in a substep [m], shape (bodies, bodies)."""
        extent = np.concatenate([np.zeros(0), *(group.extent for group in scene.particle_contacts)])[order]
        wide = np.array([extent[part].max() for part in self._parts])
        mass = np.array([scene.mass[self._members[part]].sum() for part in self._parts])
        sheet = self._sheet
        reach = self._radius[:, None] + self._radius
        swept = np.hypot(reach, np.maximum(wide[:, None], wide))
        heavy = (sheet[:, None] & ~sheet & (mass > mass[:, None])) | (sheet & ~sheet[:, None] & (mass[:, None] > mass))
        held: np.ndarray = np.where(heavy, HEAVY * reach, np.where(sheet[:, None] | sheet, swept, reach))
        return held

    def look(self, state: Any, ctrl_dt: float, substeps: int) -> None:
        """Warn if bodies are about to meet faster than substeps of ``ctrl_dt / substeps`` seconds can hold."""
        self._steps += 1
        if self._looks >= FIRST and self._steps % SELDOM:
            return
        h = ctrl_dt / substeps
        raw = state.velocities_scalar.numpy()
        spread = [float(raw[:, :, axis].max() - raw[:, :, axis].min()) for axis in range(3)]
        if math.hypot(*spread) * h <= self._least:
            return
        self._looks += 1
        count = state.model.num_envs
        velocities = to_rows(raw, count)[:, self._members].astype(np.float64)
        positions = to_rows(state.positions_scalar.numpy(), count)[:, self._members].astype(np.float64)
        wide = np.linalg.norm(np.ptp(velocities, axis=1), axis=1) * h > self._least
        worst = (1.0, 0.0, 0)
        for env in np.flatnonzero(wide).tolist():
            worst = max(worst, (*self._worst(positions[env], velocities[env], ctrl_dt, h), env))
        excess, speed, env = worst
        if excess > 1.0:
            self.watching = False
            # Each substep accelerates a little, too.
            wanted = math.ceil(1.02 * excess * substeps)
            warnings.warn(
                f"bodies meet at {speed:.3g} m/s in environment {env}, which is {1e3 * speed * h:.3g} mm in a substep "
                f"of {1e3 * h:.3g} ms, more than contacts hold: they may go through each other. With substeps={wanted} "
                f"they could not; thicker contacts need fewer",
                RuntimeWarning,
                stacklevel=3,
            )

    def _worst(self, x: np.ndarray, v: np.ndarray, ctrl_dt: float, h: float) -> tuple[float, float]:
        """Return by what factor two bodies of one environment are too fast for each other, and how fast [m/s]."""
        low = np.array([x[part].min(axis=0) for part in self._parts])
        high = np.array([x[part].max(axis=0) for part in self._parts])
        mean = np.array([v[part].mean(axis=0) for part in self._parts])
        fast = np.array([np.linalg.norm(v[part] - mean[k], axis=1).max() for k, part in enumerate(self._parts)])
        reach = self._radius[:, None] + self._radius
        held = self._held
        speeds = np.linalg.norm(mean[:, None] - mean, axis=2) + fast[:, None]
        gaps = np.maximum(low[:, None] - high, low - high[:, None]).max(axis=2)
        may = (speeds * h > held) & (gaps < reach + speeds * ctrl_dt)
        np.fill_diagonal(may, False)
        worst = (0.0, 0.0)
        for a, b in np.argwhere(may).tolist():
            # Particles of the one that may get into the box of the other within a step.
            part = self._parts[a]
            rush = v[part] - mean[b]
            ways = np.linalg.norm(rush, axis=1)
            then = x[part] + ctrl_dt * rush
            beyond = np.maximum(low[b] - np.maximum(x[part], then), np.minimum(x[part], then) - high[b]).max(axis=1)
            nearer = (rush * (0.5 * (low[b] + high[b]) - x[part])).sum(axis=1) > 0.0
            meets = nearer & (beyond < reach[a, b])
            if meets.any():
                # On average: a light particle that is flung aside for a moment is no body that comes through.
                speed = float(ways[meets].mean())
                worst = max(worst, (speed * h / float(held[a, b]), speed))
        return worst
