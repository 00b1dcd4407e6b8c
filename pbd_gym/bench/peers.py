"""Other engines on the scene of W1, measured in the same run: same substeps, each at its best settings."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from pbd_gym.bench.engine import Engine
from pbd_gym.bench.rows import Options, Row
from pbd_gym.bench.scenes import CTRL_DT, SUBSTEPS, hanging_cloth, strain
from pbd_gym.bench.timing import compare
from pbd_gym.scene.scene import Scene

PEERS = {
    "newton": "pbd_gym.bench.newton:xpbd",
    "newton-vbd": "pbd_gym.bench.newton:vbd",
    "numpy": "pbd_gym.bench.numpy_peer:build",
    "taichi": "pbd_gym.bench.taichi_peer:build",
}
"""Where each is made, by ``build(scene, num_envs, device) -> Peer``. Those with a name of their own are packages to be
installed by hand."""


@dataclass(frozen=True)
class Peer:
    """An engine that is set up for a scene."""

    what: str
    """Name and version."""
    step: Callable[[], object]
    """Does one control step of all environments, and waits for its end."""
    positions: Callable[[], np.ndarray]
    """Positions of the first environment [m], shape (n, 3)."""
    projects: bool = True
    """Whether it solves each constraint once per substep, as W1 does."""


@dataclass(frozen=True)
class Springs:
    """A scene of springs and pins in arrays, as other engines want it."""

    positions: np.ndarray
    """[m], shape (n, 3), float32."""
    inv_mass: np.ndarray
    """[1/kg], shape (n,), float32."""
    pairs: np.ndarray
    """Shape (m, 2), int32."""
    rest_length: np.ndarray
    """[m], shape (m,), float32."""
    compliance: np.ndarray
    """[m/N], shape (m,), float32."""
    gravity: np.ndarray
    """[m/s^2], shape (3,), float32."""


def springs(scene: Scene) -> Springs:
    """Take a scene of distance constraints apart."""
    batch = scene.constraints["distance"]
    rest_length, compliance = (np.concatenate(batch.values[name]) for name in ("rest_length", "compliance"))
    return Springs(
        scene.positions.astype(np.float32),
        scene.inv_mass.astype(np.float32),
        np.concatenate(batch.indices).astype(np.int32),
        rest_length.astype(np.float32),
        compliance.astype(np.float32),
        scene.gravity.astype(np.float32),
    )


def rows(options: Options) -> Iterator[Row]:
    """Measure W1 on one thread beside peers and, if asked for, hand-written C. All take turns.

    Rates are per second of processor time on a CPU, per second of the wall clock on a GPU.

    Raises:
        ModuleNotFoundError: for a peer that is not installed.
        ValueError: where the C limit is asked for and cannot be had, with the reason.
    """
    scene, num_envs = hanging_cloth(), options.num_envs or (16384 if options.is_cuda else 64)
    makers = [_maker(name) for name in options.peers]
    if options.limit:
        from pbd_gym.bench.limit import build

        if options.is_cuda:
            raise ValueError("the C limit is one of a CPU")
        makers = [functools.partial(build, order=order) for order in ("colored", "tiled")] + makers
    ours = Engine(scene, num_envs, options.device)
    peers = [maker(scene, num_envs, options.device) for maker in makers]
    calls = [ours.step, *(peer.step for peer in peers)]
    reads = [lambda: ours.state.get_positions()[0], *(peer.positions for peer in peers)]
    strains = []
    for call, positions in zip(calls, reads, strict=True):
        for _ in range(round(1.0 / CTRL_DT)):
            call()
        strains.append(strain(scene, positions()))
    durations = compare(calls, options.repeats)
    seconds = [duration.median if options.is_cuda else duration.cpu for duration in durations]
    clock = "" if options.is_cuda else " of processor time"
    projections = len(springs(scene).pairs) * SUBSTEPS * num_envs
    names = [f"pbd_gym, {num_envs} environments", *(peer.what for peer in peers)]
    for k, (name, duration, spent, left) in enumerate(zip(names, durations, seconds, strains, strict=True)):
        counts = k == 0 or peers[k - 1].projects
        share = min(seconds[1:3]) / seconds[0] if options.limit and k == 0 else None
        yield Row("w1", name, num_envs / spent, "frames/s" + clock, duration.spread,
                  projections / spent if counts else None, share, left)  # fmt: skip
    others = 2 * options.limit  # the limit has its share already
    for peer, spent in zip(peers[others:], seconds[1 + others :], strict=True):
        yield Row("w1", f"pbd_gym over {peer.what}", spent / seconds[0], "x")


def _maker(name: str) -> Callable[[Scene, int, str], Peer]:
    module, _, function = PEERS[name].partition(":")
    return getattr(importlib.import_module(module), function)
