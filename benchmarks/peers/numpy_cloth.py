"""Peer: XPBD in NumPy, one vectorised update per colour, environments on the contiguous axis."""

from __future__ import annotations

import itertools

import numpy as np

from benchmarks.peers.peer import Peer, springs
from pbd_gym.bench.scenes import CTRL_DT, SUBSTEPS
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.coloring import batches, greedy_colors

BLOCK = 32
"""Environments that advance together: their arrays then stay in cache (measured best of 8, 16, 32 and 64)."""


def build(scene: Scene, num_envs: int, device: str = "cpu") -> Peer:
    """Set NumPy up for a scene of springs.

    Args:
        scene: of distance constraints and pins only.
        num_envs: environments.
        device: ``"cpu"``.

    Raises:
        ValueError: for another device.
    """
    if device != "cpu":
        raise ValueError("NumPy is a peer on a CPU")
    parts = springs(scene)
    count = len(parts.inv_mass)
    permutation, bounds = batches(greedy_colors(parts.pairs, count))
    h = np.float32(CTRL_DT / SUBSTEPS)
    colors = []
    for begin, end in itertools.pairwise(bounds):
        chosen = permutation[begin:end]
        a, b = parts.pairs[chosen].T.astype(np.intp, order="C")
        weight = parts.inv_mass[a] + parts.inv_mass[b]
        alpha = parts.compliance[chosen] / h**2
        numbers = (parts.rest_length[chosen], 1.0 / (weight + alpha), parts.inv_mass[a], parts.inv_mass[b])
        columns = [np.ascontiguousarray(v[:, None, None]) for v in numbers]
        size = end - begin
        wide = [np.empty((size, 3, BLOCK), dtype=np.float32) for _ in range(4)]
        narrow = [np.empty((size, 1, BLOCK), dtype=np.float32) for _ in range(2)]
        colors.append((a, b, columns, wide, narrow))
    fall = np.where(parts.inv_mass > 0, h, 0).astype(np.float32)[:, None, None] * parts.gravity[:, None]
    blocks = []
    for _ in range(-(-num_envs // BLOCK)):
        x = np.repeat(parts.positions[:, :, None], BLOCK, axis=2)  # (n, 3, BLOCK)
        blocks.append((x, np.empty_like(x), np.zeros_like(x)))

    def sweep(x: np.ndarray) -> None:
        for a, b, (rest, inverse, wa, wb), (xa, xb, d, move), (length, s) in colors:
            np.take(x, a, axis=0, out=xa, mode="clip")
            np.take(x, b, axis=0, out=xb, mode="clip")
            np.subtract(xb, xa, out=d)
            np.multiply(d, d, out=move)
            np.add(move[:, :1], move[:, 1:2], out=length)
            length += move[:, 2:]
            np.sqrt(length, out=length)
            np.divide(rest, length, out=s)  # s = (l0 - l) / ((w + alpha) l)
            s -= 1.0
            s *= inverse
            d *= s
            np.multiply(d, wa, out=move)
            xa -= move
            x[a] = xa
            d *= wb
            xb += d
            x[b] = xb

    def step() -> None:
        for x, previous, velocity in blocks:
            for _ in range(SUBSTEPS):
                velocity += fall
                np.copyto(previous, x)
                np.multiply(velocity, h, out=velocity)
                x += velocity
                sweep(x)
                np.subtract(x, previous, out=velocity)
                velocity /= h

    return Peer(
        f"NumPy {np.__version__}, coloured, {num_envs} environments", step, lambda: blocks[0][0][:, :, 0].copy()
    )
