"""Colliding bodies, as data for the detection of passages through them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from pbd_gym.sim.upload.contacts import whole_bodies

ROPE, SHEET, SOLID = 1, 2, 3
"""Resistance of bodies: like a line, like a surface, or rigid (a solid or a rigid body)."""


@dataclass(frozen=True)
class Bodies:
    """Colliding bodies: arrays with an entry for each, in the order of their first particles."""

    members: np.ndarray
    """Colliding particles, body by body, shape (k,), int."""
    parts: list[slice]
    """Slice of ``members`` for each body."""
    radius: np.ndarray
    """Smallest radius of its balls, or half the thickness of a surface [m]."""
    extent: np.ndarray
    """Largest radius of its patches [m], 0 for balls."""
    disc: np.ndarray
    """Mean radius of its patches [m]."""
    kind: np.ndarray
    """:data:`ROPE`, :data:`SHEET` or :data:`SOLID`."""
    rigid: np.ndarray
    """Whether it is a rigid body, bool."""
    mass: np.ndarray
    """Mass of the whole body [kg]."""
    measure: np.ndarray
    """Area of a surface [m^2], length of a rope [m]; 0 for a solid."""
    size: np.ndarray
    """Diagonal of its bounding box at the time of addition [m]."""

    @property
    def count(self) -> int:
        """Number of bodies."""
        return len(self.parts)

    def owners(self, particle_count: int) -> np.ndarray:
        """Return the body of each particle of a scene, -1 for those that do not collide, shape (n,), int."""
        found = np.full(particle_count, -1)
        found[self.members] = np.repeat(np.arange(self.count), [part.stop - part.start for part in self.parts])
        return found

    def rope_ends(self, scene: Any) -> np.ndarray:
        """Return the ends of the segments of all ropes, in the order of the scene, shape (s, 2), int."""
        ropes = np.flatnonzero(self.kind == ROPE)
        ends: np.ndarray = scene.lines[np.isin(self.owners(scene.particle_count)[scene.lines], ropes).all(axis=1)]
        return ends

    def name(self, body: int) -> str:
        """Return what to call a body: its kind and particles."""
        members = self.members[self.parts[body]]
        kind = ("the rope", "the cloth", "the rigid body" if self.rigid[body] else "the body")[self.kind[body] - ROPE]
        return f"{kind} of particles {members.min()} to {members.max()}"


def find_bodies(scene: Any) -> Bodies:
    """Return the colliding bodies of a scene: particles connected by constraints, or a rigid body, form one."""
    groups = scene.particle_contacts
    label = whole_bodies(scene)
    owner = np.full(scene.particle_count, -1)
    for body in scene.rigid_bodies:
        owner[body.indices] = body.index
    members = np.concatenate([np.zeros(0, dtype=np.int64), *(group.indices for group in groups)]).astype(np.int64)
    order = np.argsort(label[members], kind="stable")
    members = members[order]
    sizes = [len(group.indices) for group in groups]
    radius = np.repeat([group.radius for group in groups], sizes)[order]
    extent = np.concatenate([np.zeros(0), *(group.extent for group in groups)])[order]
    area = _areas(scene)[members]
    starts = np.flatnonzero(np.diff(label[members], prepend=-1))
    parts = [slice(int(a), int(b)) for a, b in itertools.pairwise([*starts, len(members)])]
    rows = []
    for part in parts:
        mine = members[part]
        places = scene.positions[np.sort(mine)]
        rigid = int(owner[mine[0]])
        thin = not area[part].any() and rigid < 0 and bool((scene.dimensions[mine] == 1).all())
        length = float(np.linalg.norm(np.diff(places, axis=0), axis=1).sum()) if thin else 0.0
        rows.append(
            (
                radius[part].min(),
                extent[part].max(),
                extent[part].mean(),
                SHEET if area[part].any() else ROPE if thin else SOLID,
                rigid >= 0,
                scene.rigid_bodies[rigid].mass if rigid >= 0 else scene.mass[label == label[mine[0]]].sum(),
                max(length, 2.0 * float(radius[part].min())) if thin else area[part].sum(),
                np.linalg.norm(np.ptp(places, axis=0)),
            )
        )
    columns = [np.array(column) for column in zip(*rows, strict=True)] or [np.zeros(0)] * 8
    return Bodies(members, parts, *columns)


def _areas(scene: Any) -> np.ndarray:
    """Return the surface area that each particle represents [m^2], shape (n,)."""
    found = np.zeros(scene.particle_count)
    for group in scene.particle_contacts:
        a, b, c = (scene.positions[group.indices[group.triangles[:, k]]] for k in range(3))
        third = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 6.0
        for k in range(3):
            np.add.at(found, group.indices[group.triangles[:, k]], third)
    return found
