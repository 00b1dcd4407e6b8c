"""Rods: a warning when a rope, cloth or body has gone through a thin collider.

Particles are swept against colliders, what is between them is not. A rod that is thin compared with their distance
passes between them, whatever the substeps; and of a rope that is fast, the particles beside a rod pull those that it
stops through it within a substep. The outcome is checked: whether an edge has crossed the spine of a collider, or a
triangle one of its ends, within a control step. One environment is looked at in a step, each at its turn.
"""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import numpy as np

from pbd_gym.colliders.solid import matrix_of
from pbd_gym.sim.upload.contacts import whole_bodies
from pbd_gym.sim.watches.meetings import segments_met, triangles_met

SHARE = 0.5
"""Share of the height over the middle of a rod, at which the particles on either side of it touch it, up to which what
is between them is held if it moves as far in a substep. Ropes with 5 to 20 mm between particles at 10 and 30 m/s went
through rods of 4 to 32 mm from 0.57 on.
"""
BETWEEN, ROUND_TIPS = 0.98, 0.8
"""Radius of a gap, from which on a rod fits in, or the end of one, which presses its particles apart: in the distance
from the middle of the rod at which particles touch it. Between two particles it is half their distance.
"""
EVEN = 0.75
"""Change of a motion within a step up to which it counts as even, in itself."""


class RodWatch:
    """Checks after each step whether edges have crossed the spines of colliders; warns once."""

    def __init__(self, model: Any, quiet: bool = False) -> None:
        """Find spines and edges, unless nothing shall be said or reading would delay a GPU."""
        scene = self._scene = model.scene
        spines = {k: scene.colliders[k].spine for k in range(model.collider_count)}
        self._numbers = [k for k, spine in spines.items() if spine is not None]
        self._declared = np.array([spines[k] for k in self._numbers]).reshape(-1, 2, 3)
        origins = np.array([scene.colliders[k].origin for k in self._numbers]).reshape(-1, 1, 3)
        self._offsets = self._declared - origins
        self._centers, self._radii = origins[:, 0], np.linalg.norm(self._offsets, axis=2).max(axis=1, initial=0.0)
        self._moving_rows = [row for row, k in enumerate(self._numbers) if k in model.moving_colliders]
        self._slots = [model.pose_index(self._numbers[row]) for row in self._moving_rows]
        self._triangles = scene.triangles.astype(np.int64)
        sides = [self._triangles[:, [a, b]] for a, b in ((0, 1), (1, 2), (0, 2))]
        self._edges = np.unique(np.sort(np.concatenate([scene.lines, *sides]), axis=1), axis=0)
        self.watching = bool(self._numbers) and len(self._edges) > 0 and not (quiet or model.device.is_cuda)
        """Whether there is anything to check, and no warning so far."""
        self._lanes, self._count, self._steps = model.lanes, model.num_envs, 0
        self._before = self._velocities = self._poses = np.zeros(0)

    def _take(self, array: Any) -> np.ndarray:
        """Return a copy of the positions or velocities of the environment whose turn it is, shape (n, 3)."""
        env = self._steps % self._count
        found: np.ndarray = array.numpy()[env // self._lanes, :, :, env % self._lanes].copy()
        return found

    def _find_poses(self, state: Any) -> np.ndarray:
        """Return a copy of the poses of moving spines in that environment, shape (moving, 7)."""
        found: np.ndarray = state.poses.numpy()[self._steps % self._count, self._slots].astype(np.float64)
        return found

    def _place(self, poses: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return where some spines are [m], shape (k, 2, 3).

        Args:
            poses: of all moving ones.
            rows: spines that are wanted, shape (k,).
        """
        found = self._declared[rows]
        for place, row in enumerate(rows.tolist()):
            if row in self._moving_rows:
                pose = poses[self._moving_rows.index(row)]
                found[place] = pose[:3] + self._offsets[row] @ matrix_of(pose[3:]).T
        return found

    def begin(self, state: Any) -> None:
        """Note where everything is before a step."""
        self._before, self._velocities = self._take(state.positions_scalar), self._take(state.velocities_scalar)
        self._poses = self._find_poses(state)

    def look(self, state: Any, ctrl_dt: float, substeps: int) -> None:
        """Warn if something has gone through a collider in a step of ``ctrl_dt`` seconds."""
        x = np.stack([self._before, self._take(state.positions_scalar)])
        poses = np.stack([self._poses, self._find_poses(state)])
        # Balls around the places of spines, before and after, tell at once which are away from everything.
        centers = np.repeat(self._centers[None], 2, axis=0)
        centers[:, self._moving_rows] = poses[:, :, :3]
        least, most = centers.min(axis=0) - self._radii[:, None], centers.max(axis=0) + self._radii[:, None]
        box = x.min(axis=0), x.max(axis=0)
        low, high = box[0].min(axis=0), box[1].max(axis=0)
        near = np.flatnonzero(((least <= high) & (most >= low)).all(axis=1))
        spines = np.stack([self._place(each, near) for each in poses])
        meet = ((spines.min(axis=(0, 2)) <= high) & (spines.max(axis=(0, 2)) >= low)).all(axis=1)
        near, spines = near[meet], spines[:, meet]
        for number, spine in zip((self._numbers[k] for k in near.tolist()), spines.swapaxes(0, 1), strict=True):
            through = self._find_through(x, box, spine)
            if through is None:
                continue
            ways = self._ways(state, x[:, through], through, ctrl_dt) - (spine[1] - spine[0]).mean(axis=0)
            if len(through) == 2 and not _certain(ways, 2.0 * self._reach(number)):
                continue
            speed = float(np.linalg.norm(ways, axis=1).max()) / ctrl_dt
            self.watching = False
            warnings.warn(
                f"{self._name(through[0])} has gone through collider {number} in environment "
                f"{self._steps % self._count}: {self._reason(number, through, speed, ctrl_dt, substeps)}",
                RuntimeWarning,
                stacklevel=3,
            )
            break
        self._steps += 1

    def _ways(self, state: Any, x: np.ndarray, through: np.ndarray, ctrl_dt: float) -> np.ndarray:
        """Return the way of an edge or triangle in a step, and at its speeds before and after it [m], shape (3, 3).

        Args:
            state: after the step.
            x: its particles before and after the step [m], shape (2, k, 3).
            through: their indices, shape (k,).
            ctrl_dt: time of the step [s].
        """
        after = self._take(state.velocities_scalar)[through]
        found = np.stack([x[1] - x[0], ctrl_dt * self._velocities[through], ctrl_dt * after])
        return np.asarray(found.mean(axis=1))

    def _find_through(self, x: np.ndarray, box: tuple[np.ndarray, np.ndarray], spine: np.ndarray) -> np.ndarray | None:
        """Return the particles of an edge or triangle that a spine has gone through, or None.

        Args:
            x: particles before and after the step [m], shape (2, n, 3).
            box: lower and upper corner of the box that each moves in [m], shape (n, 3).
            spine: its ends before and after the step [m], shape (2, 2, 3).
        """
        for members in (self._edges, self._triangles):
            columns = members.T
            low = functools.reduce(np.minimum, [box[0][column] for column in columns])
            high = functools.reduce(np.maximum, [box[1][column] for column in columns])
            meet = (low <= spine.max(axis=(0, 1))) & (high >= spine.min(axis=(0, 1)))
            members = members[meet.all(axis=1)]
            corners = x[:, members].astype(np.float64)
            if not len(members):
                continue
            if members.shape[1] == 2:
                along = np.broadcast_to((spine[:, 1] - spine[:, 0])[:, None], corners[:, :, 0].shape)
                vectors = [corners[:, :, 1] - corners[:, :, 0], along, spine[:, None, 0] - corners[:, :, 0]]
                met = segments_met([v[0] for v in vectors], [v[1] for v in vectors]) % 2
            else:
                met = np.zeros(len(members), dtype=np.int64)
                for end in (0, 1):
                    vectors = [corners[:, :, k] - corners[:, :, 0] for k in (1, 2)]
                    vectors.append(spine[:, None, end] - corners[:, :, 0])
                    met |= triangles_met([v[0] for v in vectors], [v[1] for v in vectors]) % 2
            if met.any():
                found: np.ndarray = members[met.argmax()]
                return found
        return None

    def _reach(self, collider: int) -> float:
        """Return the distance from the middle of a collider to that of a particle on it [m]."""
        found: float = self._scene.colliders[collider].half_thickness + self._scene.contact_radius
        return found

    def _name(self, particle: int) -> str:
        """Return what to call the body of a particle."""
        label = whole_bodies(self._scene)
        members = np.flatnonzero(label == label[particle])
        return f"the body of particles {members.min()} to {members.max()}"

    def _reason(self, collider: int, through: np.ndarray, speed: float, ctrl_dt: float, substeps: int) -> str:
        """Return why particles could not hold a collider off, and what would."""
        half, reach = self._scene.colliders[collider].half_thickness, self._reach(collider)
        millimetres = 1e3 / self._scene.meter
        gap = self._gap(through)
        left = math.sqrt(max(reach**2 - gap**2 / 4.0, 0.0))
        if gap > (ROUND_TIPS if len(through) == 3 else BETWEEN) * 2.0 * reach:
            return (
                f"{2.0 * millimetres * half:.3g} mm fit between particles that are {millimetres * gap:.3g} mm apart "
                f"and keep {millimetres * self._scene.contact_radius:.3g} mm off, whatever the substeps; "
                f"{1.5 * millimetres * reach:.3g} mm leave no gap"
            )
        wanted = math.ceil(speed * ctrl_dt / (SHARE * left))
        cure = f"with substeps={wanted} it could not at that speed" if wanted > substeps else "it is pressed or pulled"
        return (
            f"at {speed / self._scene.meter:.3g} m/s, which is {millimetres * speed * ctrl_dt / substeps:.3g} mm in a "
            f"substep. What is between particles is not swept; {cure}"
        )

    def _gap(self, through: np.ndarray) -> float:
        """Return the diameter of the circle through the corners of a triangle, or how near an edge's next ones are [m].

        The latter is the least among the edges that end at its particles: diagonals leave no wider gaps than rows do.
        """
        if len(through) == 3:
            a, b, c = self._scene.positions[through]
            sides = [float(np.linalg.norm(side)) for side in (b - a, c - b, a - c)]
            return math.prod(sides) / max(float(np.linalg.norm(np.cross(b - a, c - a))), 1e-30)
        beside = self._scene.positions[self._edges[np.isin(self._edges, through).any(axis=1)]]
        return float(np.linalg.norm(beside[:, 1] - beside[:, 0], axis=1).min())


def _certain(ways: np.ndarray, short: float) -> bool:
    """Return whether an edge moved evenly, or not far: else it may have swung round a rod within a step.

    Args:
        ways: way in a step, and what it would be at the speed before, and after it [m], shape (3, 3).
        short: distance within which any motion is told [m].
    """
    bends = np.linalg.norm(ways[1:] - ways[0], axis=1).max()
    return bool(np.linalg.norm(ways, axis=1).max() <= short or bends <= EVEN * np.linalg.norm(ways[0]))
