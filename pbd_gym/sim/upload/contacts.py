"""Upload of contacts between particles: the table that kernels read, and the lists of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.geometry.edges import both_ways, by_owner
from pbd_gym.geometry.trimeshes import groups as components
from pbd_gym.kernels.contacts.particles import ball_radius
from pbd_gym.kernels.data.particle_contacts import (
    ACTIVE,
    BALL,
    BOUNCING,
    CHUNK,
    INNER,
    KEPT,
    LISTED,
    NUMBERS,
    REBOUND,
    RIM,
    SCANNED,
    TOUCHING,
    lists_type,
    stranger_masks,
)
from pbd_gym.scene.base import BaseScene
from pbd_gym.scene.contacts import ParticleContacts
from pbd_gym.sim.upload.arrays import fill
from pbd_gym.sim.upload.feet import feet

CUSHION = 2.5
"""Distance from contact at which patches brake each other, in thicknesses. With 0.6, nearly twice as many towels pulled
about by hands end up passing through themselves.
"""
BRAKING_TIME = 0.03
"""Time in which their approach is damped [s]."""
ALIKE = 0.7
"""Share of the largest range down to which members' ranges count as equal in the candidate search: a few more
candidates cost less than checking each member.
"""
GRID_SKIN, PAIR_SKIN = 0.5, 0.25
"""Excess of the candidate search radius, relative to the largest distance at which two members touch, in blocks of
threads and on one thread. A wider skin means more candidates and fewer searches.
"""
MARGIN = 0.25
"""Distance beyond contact up to which lists of candidates are complete in blocks, relative to the same distance."""
RENEWED = 8
"""Substeps for which pairs of patches are active."""


def fill_contacts(table: Any, scene: BaseScene, device: Any, in_blocks: bool, first_memory: int) -> int:
    """Fill the table of particle contacts, and return its number of members.

    Args:
        table: see :func:`pbd_gym.kernels.data.particle_contacts.table_type`.
        scene: scene of one environment, with particle contacts.
        device: target device.
        in_blocks: whether a block of threads serves a group.
        first_memory: numbers that are remembered already.
    """
    groups = scene.particle_contacts
    sizes = [len(group.indices) for group in groups]
    members = np.concatenate([group.indices for group in groups])
    order = spatial_order(scene.positions[members])
    place = np.argsort(order)
    count = len(members)
    firsts = np.cumsum(sizes) - sizes
    kin = np.concatenate(
        [place[first + group.kin] for first, group in zip(firsts, groups, strict=True)]
        + [_apart(members[order], *sets) for sets in scene.apart]
    )
    radius = np.repeat([group.radius for group in groups], sizes)[order]
    extent = np.concatenate([group.extent for group in groups])[order]
    arrays = {
        "members": members[order],
        "chords": np.concatenate([group.chords for group in groups])[order].ravel(),
    }
    rows = {"kin": both_ways(kin)} | _rings(scene, firsts, place)
    for name, row in rows.items():
        found, starts = by_owner(row, count)
        arrays |= {name: found.ravel(), f"{name}_start": starts}
    owner, leverage = _owners(scene, members[order])
    # Above this many members, kernels compare owners.
    apart = [kin, _of_rigid_bodies(owner)] if count <= SCANNED else [kin]
    found, starts = by_owner(np.stack([owner, np.arange(count)], axis=1)[owner >= 0], len(scene.rigid_bodies))
    arrays |= {"owner": owner, "crowd": found.ravel(), "crowd_start": starts}
    friction = np.repeat([group.friction for group in groups], sizes)[order]
    role = np.concatenate([_roles(group) for group in groups])[order]
    restitution = np.repeat([group.restitution for group in groups], sizes)[order]
    cushion = CUSHION * 2.0 * float(radius[extent > 0].max(initial=0.0))
    fat = ball_radius(radius, extent)
    partners = radius[(owner < 0) & (extent == 0.0)]
    found_feet, reach = feet(scene.rigid_bodies, members[order], radius, partners, cushion)
    arrays |= found_feet
    arrays |= {
        "traits": np.column_stack([radius, extent, friction, role]).ravel(),
        "leverage": leverage,
        "restitution": np.where(role == BALL, restitution, -1.0),
        "halo": np.maximum(np.maximum(fat, np.hypot(radius + 0.5 * cushion, extent)), reach),
    }
    ends = scene.positions[arrays["chords"].reshape(-1, 4)]
    lines = np.stack([ends[:, 0] - ends[:, 1], ends[:, 2] - ends[:, 3]], axis=1)
    squares = np.maximum((lines * lines).sum(axis=2), 1e-30)
    arrays["chord_squares"] = np.ravel(1.0 / squares)
    widest = max(2.0 * float(fat.max()), float(np.hypot(2.0 * radius.max() + cushion, extent.max())))
    if len(partners):
        widest = max(widest, float(reach.max() + partners.max()))
    skin = (GRID_SKIN if in_blocks else PAIR_SKIN) * widest
    fill(
        table,
        device,
        **arrays,
        strangers=stranger_masks(count, np.concatenate(apart)) if count <= SCANNED else np.zeros(0, dtype=np.uint16),
        crowd_count=len(scene.rigid_bodies),
        capacity=scene.contact_capacity,
        cushion=cushion,
        braking_time=BRAKING_TIME,
        alike=int(2.0 * float(arrays["halo"].min()) > ALIKE * widest),
        skin=skin,
        renewal=RENEWED,
        margin=MARGIN * widest if extent.max() > 0.0 else 0.0,
        cell=widest + skin,
        # About as many cells as members, in a cube: 4^3 to 32^3.
        bits=int(np.clip(round(np.log2(max(4 * count, 2)) / 3.0), 2, 5)),
        first_memory=first_memory,
        separation_speed=5.0 * scene.meter,
        gentle_speed=2.0 * scene.meter,
    )
    return count


def may_lean(scene: BaseScene, lines: Sequence[np.ndarray]) -> bool:
    """Return whether lines may pull balls against other particles. If there are surfaces, lines do not check.

    Args:
        scene: scene of one environment.
        lines: particles of each line.
    """
    groups = scene.particle_contacts
    if not scene.has_particle_contacts or any(len(group.triangles) for group in groups):
        return False
    members = np.concatenate([group.indices for group in groups])
    return any(bool(np.isin(line, members).any()) for line in lines)


def spatial_order(positions: np.ndarray) -> np.ndarray:
    """Return an order in which particles near each other in the scene have numbers near each other.

    It sorts by Morton codes with ten bits per axis, stably.
    """
    low, high = positions.min(axis=0), positions.max(axis=0)
    spots = (1023.99 * (positions - low) / max(float((high - low).max()), 1e-30)).astype(np.int64)
    bits = [(spots[:, axis] >> bit & 1) << 3 * bit + axis for bit in range(10) for axis in range(3)]
    return np.argsort(sum(bits), kind="stable")


def _apart(members: np.ndarray, ones: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the pairs of members out of two sets of particles, shape (m, 2)."""
    a, b = (np.flatnonzero(np.isin(members, particles)) for particles in (ones, others))
    return np.stack(np.meshgrid(a, b, indexing="ij"), axis=-1).reshape(-1, 2)


def _owners(scene: BaseScene, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rigid body of each member, -1 for none, and its leverage for the table, shape (k,) each."""
    owner, leverage = np.full(scene.particle_count, -1), np.ones(scene.particle_count)
    for body in scene.rigid_bodies:
        owner[body.indices] = body.index
        leverage[body.indices] = scene.mass[body.indices] * body.mobility(body.rest)
    return owner[members], leverage[members]


def _of_rigid_bodies(owner: np.ndarray) -> np.ndarray:
    """Return the pairs of members of rigid bodies, shape (m, 2): two of these are separated as bodies, and in one of
    them only a hand that is torn out of it could touch others.
    """
    rigid = np.flatnonzero(owner >= 0)
    return np.stack([rigid[k] for k in np.triu_indices(len(rigid), 1)], axis=1)


def _roles(group: ParticleContacts) -> np.ndarray:
    """Return the type of each member of a body, shape (k,), int."""
    if not len(group.triangles):
        return np.full(len(group.indices), BALL)
    return np.where(group.rim, RIM, INNER)


def whole_bodies(scene: BaseScene) -> np.ndarray:
    """Return the first particle of the body that each particle belongs to, by constraints or as a rigid body, shape
    (n,).
    """
    links = [np.zeros((0, 2), dtype=np.int64)]
    for batch in scene.constraints.values():
        for members in batch.indices:
            rows = np.atleast_2d(members)
            links.append(np.stack([rows[:, :-1], rows[:, 1:]], axis=2).reshape(-1, 2))
    links += [np.stack([body.indices[:-1], body.indices[1:]], axis=1) for body in scene.rigid_bodies]
    return components(scene.particle_count, np.concatenate(links))


def pierced_edges(scene: BaseScene) -> list[np.ndarray]:
    """Return the edges of each group of members that are checked against surfaces, as positions in it, shape (e, 2)
    each.

    These are the edges of surfaces; and, if there is a surface, the lines between neighbours in ropes and bodies:
    constraints hold them together, or they are one rigid body, so cloth in between has gone through.
    """
    groups = scene.particle_contacts
    if not any(len(group.triangles) for group in groups):
        return [group.edges for group in groups]
    whole = whole_bodies(scene)
    found = []
    for group in groups:
        label = whole[group.indices[group.kin]]
        found.append(group.edges if len(group.triangles) else group.kin[label[:, 0] == label[:, 1]])
    return found


def _rings(scene: BaseScene, firsts: np.ndarray, place: np.ndarray) -> dict[str, np.ndarray]:
    """Return the edges and triangles around members, with a member first in each row.

    Args:
        scene: scene with its members, body by body.
        firsts: number of the first member of each group, in the order of addition.
        place: table index of each member in that order.
    """
    ring, fan, edge_count = [np.zeros((0, 3), dtype=int)], [np.zeros((0, 3), dtype=int)], 0
    for first, group, pairs in zip(firsts, scene.particle_contacts, pierced_edges(scene), strict=True):
        corners, edges = place[first + group.triangles], place[first + pairs]
        numbers = edge_count + np.arange(len(edges))
        edge_count += len(edges)
        ring += [np.column_stack([edges[:, [a, 1 - a]], numbers]) for a in (0, 1)]
        fan += [np.roll(corners, -a, axis=1) for a in range(3)]
    return {"ring": np.concatenate(ring), "fan": np.concatenate(fan)}


def contact_lists(model: Any) -> Any:
    """Create empty lists of particle contacts, with anchors that make the first step search.

    Args:
        model: the :class:`pbd_gym.sim.model.Model`.
    """
    lists = lists_type(model.vec)()
    table = model.data.particle_contacts if model.contact_count else None
    groups, count, capacity = (model.group_count, model.contact_count, table.capacity) if table else (1, 1, 1)
    lanes, chunks = model.lanes, -(-count // CHUNK)
    patches = model.has_surfaces
    active, renewed, kept, pairs = (1, 1), 1, 1, 1
    if not table:
        near, touching, counts, rows, spots, cells = (1, 1), (1, 1), (1, 1), 1, 1, 1
    elif model.in_blocks:
        near, touching, counts = (capacity, count), (capacity, count), (3, count)
        rows, spots = 1, 4 * count
        cells = 2 ** (3 * table.bits) + 1 + count
        if patches:
            renewed = 11 * count * lanes
            if lanes == 1:
                active, pairs = (capacity, count), count * min(capacity, ACTIVE)
    else:
        near = (1, 1) if patches else (lanes, 2 * (count * min(capacity, LISTED) + 1))
        # One more than there are: members are noted before it is known whether they already were.
        touching, counts = (3, count * min(capacity, TOUCHING) + 1), (lanes, 2 if patches else 1)
        kept = KEPT * -(-touching[1] // CHUNK) if patches else KEPT
        active = (lanes, 3 * (count * min(capacity, ACTIVE) + CHUNK) if patches else 3 * CHUNK)
        boxed = CHUNK * -(-chunks // CHUNK)
        rows, cells = lanes * (NUMBERS * count + 16), 1
        renewed = rows if patches else 1
        spots = 12 * CHUNK * chunks + 6 * boxed + (6 + 4 * patches + 3 * model.has_rigid) * count
    valences = count * (1 + 4 * model.has_rigid + 3 * patches)
    lists.near = wp.zeros((groups, *near), dtype=wp.int32)
    lists.touching = wp.zeros((groups, *touching), dtype=wp.int32)
    lists.active = wp.zeros((groups, *active), dtype=wp.int32)
    lists.pairs = wp.zeros((groups, 4, pairs), dtype=wp.int32)
    lists.impulses = wp.zeros((groups, 3, pairs), dtype=model.scalar)
    lists.pair_counts = wp.zeros(groups, dtype=wp.int32)
    lists.renewed = wp.zeros((groups, renewed), dtype=model.scalar)
    lists.spread = wp.zeros((groups, lanes), dtype=model.scalar)
    lists.kept = wp.zeros((groups, kept), dtype=model.scalar)
    lists.counts = wp.full((groups, *counts), -1, dtype=wp.int32)  # no list yet
    lists.valence = wp.zeros((groups, valences if model.in_blocks else 1), dtype=model.vec)
    lists.anchors = wp.full((groups, count, 3), model.vec(np.nan), dtype=model.vec)
    lists.patches = wp.zeros((groups, count if model.has_surfaces else 1, 4), dtype=model.vec)
    lists.rows = wp.zeros((groups, rows), dtype=model.scalar)
    lists.spots = wp.zeros((groups, spots), dtype=model.scalar)
    bouncing = BOUNCING * count * REBOUND + lanes if model.is_bouncy else 1
    lists.rebounds = wp.zeros((groups, bouncing), dtype=model.scalar)
    lists.cells = wp.zeros((groups, cells), dtype=wp.int32)
    lists.pierced = wp.zeros((groups, max(model.surface_edge_count, 1)), dtype=wp.int32)
    lists.asleep = wp.zeros((model.group_count * model.lanes, 2), dtype=wp.int32)
    lists.piercings = wp.zeros(model.group_count * model.lanes, dtype=wp.int32)
    lists.stale = wp.full(groups, 1, dtype=wp.int32)
    lists.overflow = wp.zeros(model.group_count * model.lanes, dtype=wp.int32)
    return lists
