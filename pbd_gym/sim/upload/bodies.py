"""Upload of rigid bodies and of triangles with air drag, and the scratch memory of a batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import warp as wp

from pbd_gym.kernels.data.air import air_type
from pbd_gym.kernels.data.rigid import COLUMNS, NUMBERS, ROOM, SLOTS, WIDTH, scratch_type
from pbd_gym.scene.base import BaseScene, ConstraintBatch
from pbd_gym.scene.contacts import ParticleContacts
from pbd_gym.scene.rigid_bodies import RigidBody
from pbd_gym.sim.upload.arrays import fill

HEAVY = 1e3
"""Mass that a held or pinned particle counts as, in masses of its body: the body turns about it."""

NOTHING = 1e-6
"""Mass of a particle that a body shares with another object, in masses of the body."""


def fill_rigid(table: Any, scene: BaseScene, device: Any) -> None:
    """Fill the table of rigid bodies.

    Args:
        table: see :func:`pbd_gym.kernels.data.rigid.table_type`.
        scene: scene of one environment, with rigid bodies.
        device: target device.
    """
    bodies, joints = scene.rigid_bodies, scene.joints
    shared = [[one for one in scene.shared if one.body == body.index] for body in bodies]
    members = [
        np.append(body.indices, np.array([one.particle for one in ones], dtype=np.int32))
        for body, ones in zip(bodies, shared, strict=True)
    ]
    rest = [
        np.concatenate([body.rest, *(one.point[None] - body.center for one in ones)])
        for body, ones in zip(bodies, shared, strict=True)
    ]
    # Shared particles already have the weight of the body, for constraints that pull at them.
    mass = [
        np.append(scene.mass[body.indices], np.full(len(ones), NOTHING * body.mass))
        for body, ones in zip(bodies, shared, strict=True)
    ]
    points = [np.zeros(0)]
    for joint in joints:
        other = bodies[joint.second].center if joint.second >= 0 else 0.0
        points += [joint.point - bodies[joint.first].center, joint.point - other]
    fill(
        table,
        device,
        offsets=np.cumsum([0, *map(len, members)]),
        colliding=[len(body.samples) for body in bodies],
        members=np.concatenate(members),
        meets=_meets(scene),
        joints=[number for joint in joints for number in (joint.first, joint.second)],
        hinged=_hinged(scene),
        rest=np.concatenate(rest).ravel(),
        face_offsets=np.cumsum([0, *(len(body.faces) + len(body.corners) for body in bodies)]),
        face_body=np.repeat(np.arange(len(bodies)), [len(body.faces) + len(body.corners) for body in bodies]),
        solid=[not body.shell for body in bodies],
        corner_count=[len(body.corners) for body in bodies],
        face_members=np.concatenate(
            [first + _nearest(body) for body, first in zip(bodies, np.cumsum([0, *map(len, members)]), strict=False)]
        ),
        faces=np.concatenate([_faces(body) for body in bodies]),
        mass=np.concatenate(mass),
        push=scene.mass[np.concatenate(members)],
        radius=[body.radius for body in bodies],
        reach=[np.linalg.norm(body.rest, axis=1).max() + body.radius for body in bodies],
        heavy=[HEAVY * body.mass for body in bodies],
        friction=[max((group.friction for group in _balls(scene, body)), default=0.0) for body in bodies],
        restitution=[body.restitution for body in bodies],
        box=[corner for body in bodies for corner in _corners(body)],
        points=np.concatenate(points),
    )


def tetrahedra(scene: BaseScene, kinds: Iterable[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return all tetrahedra of a scene, each once.

    These are the tetrahedra of solids, and of constraints whose fields define a rest shape or volume.

    Args:
        scene: scene of one environment.
        kinds: kinds of its constraints.

    Returns:
        Particles, shape (m, 4), int32, and volumes at rest [m^3], shape (m,).
    """
    rows, volumes = [scene.tets], [scene.tet_volumes]
    for kind in kinds:
        batch = scene.constraints.get(kind.name, ConstraintBatch())
        if kind.fields.get("inv_rest") == (3, 3):
            volumes += [1.0 / (6.0 * np.linalg.det(part)) for part in batch.values["inv_rest"]]
            rows += batch.indices
        elif kind.width == 4 and "rest_volume" in kind.fields:
            volumes += batch.values["rest_volume"]
            rows += batch.indices
    tets, all_volumes = np.concatenate(rows), np.concatenate(volumes)
    first = np.unique(np.sort(tets, axis=1), axis=0, return_index=True)[1]
    first = first[all_volumes[first] > 0.0]  # points that keep their shape need none
    return tets[first], all_volumes[first]


def _balls(scene: BaseScene, body: RigidBody) -> list[ParticleContacts]:
    """Return the contact group of a body's balls, if they collide with particles."""
    return [group for group in scene.particle_contacts if len(group.indices) and group.indices[0] == body.samples[0]]


def _corners(body: RigidBody) -> np.ndarray:
    """Return the lower and the upper corner of a body's balls and faces [m], shape (6,)."""
    points = np.concatenate([body.rest[: len(body.samples)], body.faces.reshape(-1, 3)])
    return np.concatenate([points.min(axis=0), points.max(axis=0)])


def _faces(body: RigidBody) -> np.ndarray:
    """Return the middle, the reach and the corners of a body's faces [m], then its own corners, shape (f, 13)."""
    faces = _with_corners(body)
    middle = faces.mean(axis=1)
    reach = np.linalg.norm(faces - middle[:, None], axis=2).max(axis=1)
    return np.concatenate([middle, reach[:, None], faces.reshape(-1, 9)], axis=1)


def _with_corners(body: RigidBody) -> np.ndarray:
    """Return the corners of a body's faces, and three times each of its own corners [m], shape (f, 3, 3)."""
    return np.concatenate([body.faces, np.repeat(body.corners[:, None], 3, axis=1)])


def _nearest(body: RigidBody) -> np.ndarray:
    """Return the ball nearest to the middle of each of a body's faces, shape (f,), int."""
    balls = body.rest[: len(body.samples)]
    gaps = [np.linalg.norm(balls - middle, axis=1) for middle in _with_corners(body).mean(axis=1)]
    return np.array([int(gap.argmin()) for gap in gaps], dtype=np.int32)


def _hinged(scene: BaseScene) -> list[bool]:
    """Return which bodies joints tie to space, some of them through other bodies."""
    found = [False] * len(scene.rigid_bodies)
    for _ in found:
        for joint in scene.joints:
            tied = joint.second < 0 or found[joint.first] or found[joint.second]
            found[joint.first] |= tied
            if joint.second >= 0:
                found[joint.second] |= tied
    return found


def _meets(scene: BaseScene) -> np.ndarray:
    """Return the pairs of bodies whose balls collide, the lower index first, flattened."""
    colliding = [body.index for body in scene.rigid_bodies if _balls(scene, body)]
    owner = {int(body.samples[0]): body.index for body in scene.rigid_bodies}
    kept = {frozenset(owner.get(int(ones[0]), -1) for ones in both) for both in scene.apart}
    pairs = [(b, c) for b in colliding for c in colliding if b < c and frozenset((b, c)) not in kept]
    return np.array(pairs, dtype=np.int32).ravel()


def left_out(scene: BaseScene) -> np.ndarray:
    """Return which particles belong to a fluid or a rigid body, shape (n,), bool; shape (0,) if none do."""
    own = [body.indices for body in scene.rigid_bodies] + ([scene.fluid.indices] if scene.fluid else [])
    own += [np.array([one.particle for one in scene.shared], dtype=np.int32)] if scene.shared else []
    return np.isin(np.arange(scene.particle_count), np.concatenate(own)) if own else np.zeros(0, dtype=bool)


def rigid_scratch(model: Any) -> Any:
    """Allocate the scratch memory of rigid bodies; minimal without any."""
    scratch = scratch_type(model.vec)()
    bodies, groups = model.rigid_bodies, model.group_count
    if bodies:
        count = model.data.rigid.members.shape[0]
        scratch.bodies = wp.zeros((groups, len(bodies), COLUMNS), dtype=model.vec)
        scratch.contacts = wp.zeros((groups, ROOM * count, NUMBERS), dtype=model.vec)
        scratch.touching = wp.zeros((groups, ROOM * count, 2), dtype=wp.int32)
        meet = model.data.rigid.meets.shape[0] > 0
        points = count + model.data.rigid.face_body.shape[0]
        scratch.near = wp.zeros((groups, points * (SLOTS + 1) * model.lanes if meet else 1), dtype=wp.int32)
        scratch.meetings = wp.zeros((groups, 2 * points * WIDTH if meet else WIDTH), dtype=model.scalar)
        scratch.busy = wp.zeros(groups, dtype=model.vec)
        scratch.met = wp.zeros(groups, dtype=wp.int32)
    return scratch


class Dragged(NamedTuple):
    """Triangles of a scene with air drag."""

    triangles: np.ndarray
    """Shape (t, 3), int32."""
    coefficients: np.ndarray
    """Drag coefficients along the normal and tangentially, shape (t, 2)."""

    @classmethod
    def of(cls, scene: BaseScene) -> Dragged:
        """Return copies of a scene's triangles and coefficients."""
        return cls(scene.dragged_triangles.copy(), scene.drag_coefficients.copy())


def _lightness(model: Any) -> np.ndarray:
    """Return the ratio of each particle's mass to its effective mass where drag is stiff, shape (n,).

    It is 1 except for particles of rigid bodies, which do not move independently.
    """
    triangles, x = model.dragged.triangles, model.start_positions
    a, b, c = (x[triangles[:, corner]] for corner in range(3))
    areas = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    share = np.bincount(triangles.ravel(), np.repeat(areas, 3), model.particle_count)
    found = np.ones(model.particle_count)
    for body in model.rigid_bodies:
        felt = share[body.indices] > 0.0
        pushed, part = body.indices[felt], share[body.indices[felt]]
        found[pushed] = model.mass[pushed] * body.mobility(body.rest[felt]) * part.sum() / part
    return found


def make_air(model: Any) -> Any:
    """Return the struct of a batch's air with its scratch memory; at rest and without density.

    Args:
        model: the :class:`pbd_gym.sim.model.Model`.
    """
    triangles = model.dragged.triangles
    corners = triangles.ravel()
    counts = np.bincount(corners, minlength=model.particle_count)
    air = air_type(model.vec)()
    fill(
        air,
        model.device,
        triangles=triangles,
        coefficients=model.dragged.coefficients,
        first=np.concatenate([[0], np.cumsum(counts)]),
        around=np.argsort(corners, kind="stable") // 3,
        lightness=_lightness(model),
    )
    with wp.ScopedDevice(model.device):
        air.wind = wp.zeros((model.group_count, 4), dtype=model.vec)
        air.drag = wp.zeros((model.group_count, len(triangles), 4), dtype=model.vec)
        air.forces = wp.zeros((model.group_count, model.particle_count, 3), dtype=model.vec)
    return air
