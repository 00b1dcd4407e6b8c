"""W1 by this engine and by others, measured in the same run: same substeps, each at its best settings."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from benchmarks.peers import limit as c
from benchmarks.peers.peer import maker, springs
from pbd_gym.bench.engine import Engine
from pbd_gym.bench.rows import Options, Row
from pbd_gym.bench.scenes import CTRL_DT, SUBSTEPS, hanging_cloth, strain
from pbd_gym.bench.timing import compare

PEERS = {
    "newton": "benchmarks.peers.newton:xpbd",
    "newton-vbd": "benchmarks.peers.newton:vbd",
    "numpy": "benchmarks.peers.numpy_cloth:build",
    "taichi": "benchmarks.peers.taichi_cloth:build",
}
"""The function ``(scene, num_envs, device) -> Peer`` that builds each. Newton and Taichi have to be installed by
hand."""


def rows(options: Options, peers: Sequence[str] = (), limit: bool = False) -> Iterator[Row]:
    """Measure W1 on one thread beside peers and, if asked for, hand-written C. All take turns.

    Rates are per second of processor time on a CPU, per second of the wall clock on a GPU.

    Args:
        options: what every workload is told.
        peers: names of the engines to measure beside this one.
        limit: whether to measure hand-written C.

    Raises:
        ModuleNotFoundError: for a peer that is not installed.
        ValueError: where the C limit is asked for and cannot be had, with the reason.
    """
    scene, num_envs = hanging_cloth(), options.num_envs or (16384 if options.is_cuda else 64)
    makers = [maker(PEERS[name]) for name in peers]
    if limit:
        if options.is_cuda:
            raise ValueError("the C limit is one of a CPU")
        makers = [functools.partial(c.cloth, order=order) for order in ("colored", "tiled")] + makers
    ours = Engine(scene, num_envs, options.device)
    others = [make(scene, num_envs, options.device) for make in makers]
    calls = [ours.step, *(peer.step for peer in others)]
    reads = [lambda: ours.state.get_positions()[0], *(peer.positions for peer in others)]
    strains = []
    for call, positions in zip(calls, reads, strict=True):
        for _ in range(round(1.0 / CTRL_DT)):
            call()
        strains.append(strain(scene, positions()))
    durations = compare(calls, options.repeats)
    seconds = [duration.median if options.is_cuda else duration.cpu for duration in durations]
    clock = "" if options.is_cuda else " of processor time"
    projections = len(springs(scene).pairs) * SUBSTEPS * num_envs
    names = [f"pbd_gym, {num_envs} environments", *(peer.what for peer in others)]
    for k, (name, duration, spent, left) in enumerate(zip(names, durations, seconds, strains, strict=True)):
        counts = k == 0 or others[k - 1].projects
        share = min(seconds[1:3]) / seconds[0] if limit and k == 0 else None
        yield Row("w1", name, num_envs / spent, "frames/s" + clock, duration.spread,
                  projections / spent if counts else None, share, left)  # fmt: skip
    first = 2 * limit  # the limit has its share already
    for peer, spent in zip(others[first:], seconds[1 + first :], strict=True):
        yield Row("w1", f"pbd_gym over {peer.what}", spent / seconds[0], "x")
