"""Contacts between particles: from the scene to the table that kernels read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.geometry.edges import both_ways, by_owner
from pbd_gym.kernels.contacts.particles import ball_radius
from pbd_gym.kernels.data.particle_contacts import BALL, INNER, RIM, SCANNED, stranger_masks
from pbd_gym.scene.base import BaseScene
from pbd_gym.scene.contacts import ParticleContacts

CUSHION = 2.5
"""How far from touching patches brake each other, in thicknesses. With 0.6, nearly twice as many towels that hands
have pulled about end up through themselves."""
BRAKING_TIME = 0.03
"""Time in which their approach fades away [s]."""
ALIKE = 0.7
"""Members whose ranges are no smaller than that share of the largest are taken for equal when candidates are looked
for: a few more of them cost less than to ask for each."""
GRID_SKIN, PAIR_SKIN = 0.5, 0.25
"""How much farther than they reach candidates may be, over the largest distance at which two members touch, in blocks
of threads and on one thread. The wider, the more candidates, and the fewer searches."""


def fill_contacts(table: Any, scene: BaseScene, scalar: Any, device: Any, in_blocks: bool) -> int:
    """Fill the table of particle contacts, and return how many members it has.

    Args:
        table: see :func:`pbd_gym.kernels.data.particle_contacts.table_type`.
        scene: what one environment holds, with particle contacts.
        scalar: ``wp.float32`` or ``wp.float64``.
        device: where it goes.
        in_blocks: whether a block of threads serves a group.
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
    integers = {
        "members": members[order],
        "chords": np.concatenate([group.chords for group in groups])[order].ravel(),
    }
    rows = {"kin": both_ways(kin)} | _rings(groups, firsts, place)
    for name, row in rows.items():
        found, starts = by_owner(row, count)
        integers |= {name: found.ravel(), f"{name}_start": starts}
    owner, leverage = _owners(scene, members[order])
    found, starts = by_owner(np.stack([owner, np.arange(count)], axis=1)[owner >= 0], len(scene.rigid_bodies))
    integers |= {"owner": owner, "crowd": found.ravel(), "crowd_start": starts}
    table.crowd_count = len(scene.rigid_bodies)
    friction = np.repeat([group.friction for group in groups], sizes)[order]
    role = np.concatenate([_roles(group) for group in groups])[order]
    cushion = CUSHION * 2.0 * float(radius[extent > 0].max(initial=0.0))
    fat = ball_radius(radius, extent)
    numbers = {
        "traits": np.column_stack([radius, extent, friction, role]).ravel(),
        "leverage": leverage,
        "halo": np.maximum(fat, np.hypot(radius + 0.5 * cushion, extent)),
    }
    ends = scene.positions[integers["chords"].reshape(-1, 4)]
    lines = np.stack([ends[:, 0] - ends[:, 1], ends[:, 2] - ends[:, 3]], axis=1)
    squares = np.maximum((lines * lines).sum(axis=2), 1e-30)
    numbers["chord_squares"] = np.ravel(1.0 / squares)
    for name, array in integers.items():
        setattr(table, name, wp.array(array, dtype=wp.int32, device=device))
    for name, array in numbers.items():
        setattr(table, name, wp.array(array, dtype=scalar, device=device))
    masks = np.zeros(0, dtype=np.uint16)
    if count <= SCANNED:
        masks = stranger_masks(count, kin)
    table.strangers = wp.array(masks, dtype=wp.uint16, device=device)
    table.capacity = scene.contact_capacity
    table.cushion = cushion
    table.braking_time = BRAKING_TIME
    widest = max(2.0 * float(fat.max()), float(np.hypot(2.0 * radius.max() + cushion, extent.max())))
    table.alike = int(2.0 * float(numbers["halo"].min()) > ALIKE * widest)
    table.skin = (GRID_SKIN if in_blocks else PAIR_SKIN) * widest
    table.cell = widest + table.skin
    # About as many cells as members, in a cube: 4^3 to 32^3.
    table.bits = int(np.clip(round(np.log2(max(4 * count, 2)) / 3.0), 2, 5))
    table.separation_speed = 5.0
    table.gentle_speed = 2.0
    return count


def spatial_order(positions: np.ndarray) -> np.ndarray:
    """Return an order in which what is near each other in the scene has numbers that are near each other.

    That of Morton codes of ten bits an axis, equal ones as they come.
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
    """Return the rigid body of each member, -1 for none, and the leverage that the table asks for, shape (k,) each."""
    owner, leverage = np.full(scene.particle_count, -1), np.ones(scene.particle_count)
    for body in scene.rigid_bodies:
        owner[body.indices] = body.index
        leverage[body.indices] = scene.mass[body.indices] * body.mobility(body.rest)
    return owner[members], leverage[members]


def _roles(group: ParticleContacts) -> np.ndarray:
    """Return what each member of a body is, shape (k,), int."""
    if not len(group.triangles):
        return np.full(len(group.indices), BALL)
    return np.where(group.rim, RIM, INNER)


def _rings(groups: Sequence[ParticleContacts], firsts: np.ndarray, place: np.ndarray) -> dict[str, np.ndarray]:
    """Return the edges and triangles around members, a member first in each row.

    Args:
        groups: members, body by body.
        firsts: number of the first member of each group, in the order in which they were added.
        place: number in the table of each member in that order.
    """
    ring, fan, edge_count = [np.zeros((0, 3), dtype=int)], [np.zeros((0, 3), dtype=int)], 0
    for first, group in zip(firsts, groups, strict=True):
        corners, edges = place[first + group.triangles], place[first + group.edges]
        numbers = edge_count + np.arange(len(edges))
        edge_count += len(edges)
        ring += [np.column_stack([edges[:, [a, 1 - a]], numbers]) for a in (0, 1)]
        fan += [np.roll(corners, -a, axis=1) for a in range(3)]
    return {"ring": np.concatenate(ring), "fan": np.concatenate(fan)}
