"""W6: water that has fallen into a tank; beside it hand-written C (``fluid_limit.c``) and other engines."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pbd_gym.bench import limit
from pbd_gym.bench.engine import Engine, sizes
from pbd_gym.bench.peers import Peer, maker
from pbd_gym.bench.rows import Options, Row
from pbd_gym.bench.scenes import CTRL_DT, SUBSTEPS
from pbd_gym.bench.timing import compare
from pbd_gym.bench.water import compression, level
from pbd_gym.colliders import Plane
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.upload.fluid import softness

SOURCE = Path(__file__).with_name("fluid_limit.c")
SPACING = 0.02
BLOCKS = ((10, 10, 10), (10, 5, 6))
"""Particles along each side of the column: 1,000 and 300."""
SETTLE = 0.7
"""Time to fall before anything is measured [s]."""
REST = 2.1
"""Time to come to rest before peers are measured [s]: levels can be compared then."""
PEERS = {
    "genesis": "pbd_gym.bench.genesis_peer:build",
    "splishsplash": "pbd_gym.bench.splishsplash_peer:pbf",
    "splishsplash-dfsph": "pbd_gym.bench.splishsplash_peer:dfsph",
    "taichi": "pbd_gym.bench.taichi_fluid_peer:build",
}
"""The function ``(scene, num_envs, device) -> Peer`` that builds each. They have to be installed by hand."""
FLOATS = ("radius", "support", "amplitude", "slope", "softness", "xsph", "gravity", "h")


class Parameters(ctypes.Structure):
    """What the C code is told."""

    _fields_ = (
        *((name, ctypes.c_float) for name in FLOATS), ("iterations", ctypes.c_int), ("planes", ctypes.c_int),
        ("plane", ctypes.c_float * 24),
    )  # fmt: skip


def tank(block: tuple[int, int, int]) -> Scene:
    """Return a column of water, so many particles along each side, in a tank twice as long and without friction."""
    scene = Scene()
    length, height, depth = (SPACING * count for count in block)
    for normal, offset in (
        ((0, 1, 0), 0.0), ((1, 0, 0), 0.0), ((-1, 0, 0), -2.0 * length), ((0, 0, 1), 0.0), ((0, 0, -1), -depth)
    ):  # fmt: skip
        scene.add_collider(Plane(normal, offset, friction=0.0))
    scene.add_fluid_block((0.0, 0.0, 0.0), (length, height, depth), spacing=SPACING)
    return scene


def build(scene: Scene, num_envs: int) -> Peer:
    """Set up hand-written C for a scene of water in a tank of planes.

    Raises:
        ValueError: where it cannot be compiled, with the reason.
    """
    fluid = scene.fluid
    assert fluid is not None
    function, smoothing = limit.load(SOURCE).control_step, fluid.smoothing
    given = Parameters(
        0.5 * fluid.spacing, smoothing.support, smoothing.amplitude, smoothing.slope, softness(fluid),
        fluid.material.xsph, float(scene.gravity[1]), CTRL_DT / SUBSTEPS, fluid.material.iterations,
        len(scene.colliders),
    )  # fmt: skip
    planes = [c for c in scene.colliders if isinstance(c, Plane)]
    given.plane[: 4 * len(planes)] = np.ravel([[*c.normal, c.offset] for c in planes]).tolist()
    x = np.tile(scene.positions.astype(np.float32), (num_envs, 1, 1))
    v = np.zeros_like(x)
    state = [array.ctypes.data_as(ctypes.c_void_p) for array in (x, v)]

    def step(keep: object = (x, v)) -> None:
        function(num_envs, scene.particle_count, SUBSTEPS, ctypes.byref(given), *state)

    return Peer("the C limit", step, lambda: x[0].copy())


def w6(options: Options) -> Iterator[Row]:
    """Water of 1,000 and of 300 particles at rest in a tank, four sweeps a substep.

    On one thread of a CPU, C (``--limit``) and peers take turns with it, and rates are per second of processor time.

    Raises:
        ModuleNotFoundError: for a peer that is not installed.
        ValueError: where a peer or the C limit cannot be had, with the reason.
    """
    makers = [maker(PEERS[name]) for name in options.peers]
    if options.is_cuda and makers:
        raise ValueError("peers of w6 are measured on a CPU")
    for block in BLOCKS:
        scene = tank(block)
        for num_envs, threads in sizes(options, [(32, 1), (32, 2)], [1024, 4096]):
            peers = [build(scene, num_envs)] if options.limit and threads == 1 and not options.is_cuda else []
            peers += [make(scene, num_envs, options.device) for make in makers if threads == 1]
            yield from _rows(Engine(scene, num_envs, options.device, threads), peers, options)


def _rows(engine: Engine, peers: list[Peer], options: Options) -> Iterator[Row]:
    scene, num_envs = engine.scene, engine.model.num_envs
    calls = [engine.step, *(peer.step for peer in peers)]
    reads = [lambda: engine.state.get_positions()[0], *(peer.positions for peer in peers)]
    ends = []
    for call, positions in zip(calls, reads, strict=True):
        for _ in range(round((REST if options.peers else SETTLE) / CTRL_DT)):
            call()
        ends.append((level(positions()), compression(scene, positions())))
    durations = compare(calls, options.repeats)
    clock = " of processor time" if peers else ""
    names = [engine.what, *(peer.what for peer in peers)]
    counts = [num_envs, *(1 if peer.alone else num_envs for peer in peers)]
    rates = [
        count * scene.particle_count * SUBSTEPS / (duration.cpu if peers else duration.median)
        for count, duration in zip(counts, durations, strict=True)
    ]
    size = f"{scene.particle_count:,} particles, "
    for k, (name, rate, duration, (height, excess)) in enumerate(zip(names, rates, durations, ends, strict=True)):
        share = rate / rates[1] if options.limit and peers and k == 0 else None
        yield Row("w6", size + name, rate, f"particle steps/s{clock}", duration.spread, limit_share=share,
                  level=height, compression=excess)  # fmt: skip
    for k in range(1 + options.limit, len(names)):  # the limit has its share already
        yield Row("w6", f"{size}pbd_gym over {names[k]}", rates[0] / rates[k], "x")
