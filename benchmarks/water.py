"""W6 beside hand-written C and other engines in the same run: water that has come to rest in a tank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.peers import limit as c
from benchmarks.peers.peer import Peer, maker
from pbd_gym.bench.engine import Engine, sizes
from pbd_gym.bench.rows import Options, Row
from pbd_gym.bench.scenes import CTRL_DT, SUBSTEPS, compression, level, tank
from pbd_gym.bench.timing import compare
from pbd_gym.bench.workloads import SETTLE, WATER_BLOCKS

REST = 2.1
"""Time to come to rest before peers are measured [s]: levels can be compared then."""
PEERS = {
    "genesis": "benchmarks.peers.genesis_water:build",
    "splishsplash": "benchmarks.peers.splishsplash_water:pbf",
    "splishsplash-dfsph": "benchmarks.peers.splishsplash_water:dfsph",
    "taichi": "benchmarks.peers.taichi_water:build",
}
"""The function ``(scene, num_envs, device) -> Peer`` that builds each. They have to be installed by hand."""


def rows(options: Options, peers: Sequence[str] = (), limit: bool = False) -> Iterator[Row]:
    """Measure water of 1,000 and of 300 particles on one thread of a CPU. C and peers take turns with the engine.

    Rates are per second of processor time.

    Args:
        options: what every workload is told.
        peers: names of the engines to measure beside this one.
        limit: whether to measure hand-written C.

    Raises:
        ModuleNotFoundError: for a peer that is not installed.
        ValueError: where a peer or the C limit cannot be had, with the reason.
    """
    if options.is_cuda:
        raise ValueError("peers of w6 and the C limit are measured on a CPU")
    makers = [maker(PEERS[name]) for name in peers]
    for block in WATER_BLOCKS:
        scene = tank(block)
        for num_envs, threads in sizes(options, [(32, 1)], []):
            others = [c.water(scene, num_envs)] if limit else []
            others += [make(scene, num_envs, options.device) for make in makers]
            seconds = REST if peers else SETTLE
            yield from _rows(Engine(scene, num_envs, options.device, threads), others, seconds, limit, options)


def _rows(engine: Engine, peers: list[Peer], seconds: float, limit: bool, options: Options) -> Iterator[Row]:
    scene, num_envs = engine.scene, engine.model.num_envs
    calls = [engine.step, *(peer.step for peer in peers)]
    reads = [lambda: engine.state.get_positions()[0], *(peer.positions for peer in peers)]
    ends = []
    for call, positions in zip(calls, reads, strict=True):
        for _ in range(round(seconds / CTRL_DT)):
            call()
        ends.append((level(positions()), compression(scene, positions())))
    durations = compare(calls, options.repeats)
    names = [engine.what, *(peer.what for peer in peers)]
    counts = [num_envs, *(1 if peer.alone else num_envs for peer in peers)]
    rates = [
        count * scene.particle_count * SUBSTEPS / duration.cpu
        for count, duration in zip(counts, durations, strict=True)
    ]
    size = f"{scene.particle_count:,} particles, "
    for k, (name, rate, duration, (height, excess)) in enumerate(zip(names, rates, durations, ends, strict=True)):
        share = rate / rates[1] if limit and k == 0 else None
        yield Row("w6", size + name, rate, "particle steps/s of processor time", duration.spread, limit_share=share,
                  level=height, compression=excess)  # fmt: skip
    for k in range(1 + limit, len(names)):  # the limit has its share already
        yield Row("w6", f"{size}pbd_gym over {names[k]}", rates[0] / rates[k], "x")
