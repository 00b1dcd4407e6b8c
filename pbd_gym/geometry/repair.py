"""Repair of meshes: removal of flat and duplicate triangles and tetrahedra, and correction of wrong orientations."""

from __future__ import annotations

from collections import deque

import numpy as np

from pbd_gym.geometry.edges import sides
from pbd_gym.geometry.solid_angles import winding_number

FLAT = 1e-9
"""Ratios that count as degenerate: triangle area to longest side squared, and tetrahedron volume to its cube."""


class CellError(ValueError):
    """Error for a mesh with bad cells, whose lines a reader may look up in its file."""

    def __init__(self, message: str, *cells: int) -> None:
        """Store the numbers of the cells that the message is about."""
        super().__init__(message)
        self.cells = cells


def flat_triangles(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return whether each triangle (t, 3) is degenerate, up to the rounding of three collinear points."""
    a, b, c = points[faces].swapaxes(0, 1)
    longest = np.stack([((b - a) ** 2).sum(axis=1), ((c - b) ** 2).sum(axis=1), ((a - c) ** 2).sum(axis=1)]).max(axis=0)
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1) <= FLAT * longest


def flat_tetrahedra(volumes: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Return whether each tetrahedron is degenerate; volumes (m,), corners (m, 4, 3)."""
    return np.abs(volumes) <= FLAT * np.ptp(corners, axis=1).max(axis=1) ** 3


def repaired_triangles(points: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict[str, int]]:
    """Return faces without flat and duplicate ones, with consistent orientation and closed parts facing outwards.

    A flat triangle whose middle corner lies on the side of a neighbour leaves no crack: that neighbour is cut there.
    In a part with both orientations the minority is flipped; a closed part that lies in no other ends up with a
    positive volume.

    Args:
        points: welded points [m], shape (v, 3).
        faces: shape (t, 3), int64.

    Returns:
        Faces, shape (u, 3), int64; the number of the given face that each is a part of, shape (u,); and the numbers of
        removed ``degenerate`` and ``doubled`` faces, and of ``flipped`` ones.

    Raises:
        CellError: for a one-sided part, such as a Moebius strip.
    """
    numbers = np.arange(len(faces))
    degenerate = doubled = 0
    while True:
        distinct = (faces != np.roll(faces, -1, axis=1)).all(axis=1)
        degenerate += int((~distinct).sum())
        faces, numbers = faces[distinct], numbers[distinct]
        first = np.sort(np.unique(np.sort(faces, axis=1), axis=0, return_index=True)[1])
        doubled += len(faces) - len(first)
        faces, numbers = faces[first], numbers[first]
        flat = flat_triangles(points, faces)
        if not flat.any():
            break
        before = int(flat.sum())
        faces, numbers = _without_caps(points, faces, numbers, flat)
        degenerate += before - int(flat_triangles(points, faces).sum())
    turn = _turned(points, faces)
    faces[turn] = faces[turn][:, ::-1]
    return faces, numbers, {"degenerate": degenerate, "doubled": doubled, "flipped": int(turn.sum())}


def _without_caps(
    points: np.ndarray, faces: np.ndarray, numbers: np.ndarray, flat: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Remove flat triangles, and cut the neighbour at the longest side of each at its third corner.

    A triangle with only flat neighbours there waits for a later call, unless all of them wait.
    """
    middle: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for row in np.flatnonzero(flat).tolist():
        face = faces[row].tolist()
        spans = [float(((points[face[k]] - points[face[k - 1]]) ** 2).sum()) for k in range(3)]
        longest = int(np.argmax(spans))
        middle.setdefault(_side(face[longest], face[longest - 1]), []).append((row, face[longest - 2]))
    kept: list[list[int]] = []
    owners: list[int] = []
    done: set[int] = set()
    for face, number in zip(faces[~flat].tolist(), numbers[~flat].tolist(), strict=True):
        for k in range(3):
            a, b, c = face[k], face[(k + 1) % 3], face[(k + 2) % 3]
            row, between = middle.get(_side(a, b), [(-1, c)])[0]
            if between != c:
                # One cut at a time; others follow in later calls.
                kept += [[a, between, c], [between, b, c]]
                owners += [number, number]
                done.add(row)
                break
        else:
            kept.append(face)
            owners.append(number)
    waiting = [row for row in np.flatnonzero(flat).tolist() if row not in done] if done else []
    kept += faces[waiting].tolist()
    owners += numbers[waiting].tolist()
    return np.array(kept, dtype=np.int64).reshape(-1, 3), np.array(owners, dtype=np.int64)


def _side(a: int, b: int) -> tuple[int, int]:
    return min(a, b), max(a, b)


def _turned(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return which faces to flip, shape (t,)."""
    which = sides(faces)[1]
    uses = np.bincount(which)
    order = np.argsort(which, kind="stable")
    start = np.cumsum(uses) - uses
    pairs = np.stack([order[start[uses == 2]], order[start[uses == 2] + 1]], axis=1)
    ahead = faces.reshape(-1)
    conflict = ahead[pairs[:, 0]] == ahead[pairs[:, 1]]
    near: list[list[tuple[int, bool]]] = [[] for _ in faces]
    for (f, g), odd in zip((pairs // 3).tolist(), conflict.tolist(), strict=True):
        near[f].append((g, odd))
        near[g].append((f, odd))
    turn = np.zeros(len(faces), dtype=bool)
    seen = np.zeros(len(faces), dtype=bool)
    parts: list[np.ndarray] = []
    for root in range(len(faces)):
        if seen[root]:
            continue
        seen[root] = True
        part, line = [root], deque([root])
        while line:
            face = line.popleft()
            for other, odd in near[face]:
                wanted = bool(turn[face]) ^ odd
                if not seen[other]:
                    seen[other], turn[other] = True, wanted
                    part.append(other)
                    line.append(other)
                elif turn[other] != wanted:
                    raise CellError(
                        f"the surface has only one side, like a Moebius strip: triangles {face} and {other} cannot "
                        "turn alike",
                        face,
                        other,
                    )
        members = np.array(part)
        if 2 * turn[members].sum() > len(members):
            turn[members] ^= True
        parts.append(members)
    closed = [m for m in parts if (uses[which.reshape(-1, 3)[m]] == 2).all()]
    now = faces.copy()
    now[turn] = now[turn][:, ::-1]
    for members in closed:
        corners = points[now[members]]
        if _volume(corners) < 0 and not any(
            np.abs(winding_number(corners[:1, 0], points[now[other]]))[0] > 0.5
            for other in closed
            if other is not members
        ):
            turn[members] ^= True
    return turn


def _volume(corners: np.ndarray) -> float:
    """Return the volume that triangles (t, 3, 3) enclose."""
    a, b, c = (corners - corners.mean(axis=(0, 1))).swapaxes(0, 1)
    return float((np.cross(a, b) * c).sum() / 6.0)


def repaired_tetrahedra(points: np.ndarray, tets: np.ndarray, volumes: np.ndarray) -> tuple[np.ndarray, dict[str, int]]:
    """Return which tetrahedra to keep, shape (m,), and how many were ``degenerate``, ``doubled`` and ``flipped``.

    The minority orientation is corrected later, when the mesh is made.
    """
    flat = flat_tetrahedra(volumes, points[tets])
    stays = np.zeros(len(tets), dtype=bool)
    stays[np.unique(np.sort(tets, axis=1), axis=0, return_index=True)[1]] = True
    doubled = int((~stays & ~flat).sum())
    stays &= ~flat
    left = np.sign(volumes[stays])
    flipped = int(min((left > 0).sum(), (left < 0).sum()))
    return stays, {"degenerate": int(flat.sum()), "doubled": doubled, "flipped": flipped}
