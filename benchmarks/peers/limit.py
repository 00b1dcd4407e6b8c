"""The C limit: W1 (``limit.c`` beside this file) and W6 (``fluid_limit.c``) in C by hand."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.peers.peer import Peer, springs
from pbd_gym.bench.scenes import CTRL_DT, SUBSTEPS
from pbd_gym.colliders import Plane
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.coloring import batches, greedy_colors
from pbd_gym.sim.upload.fluid import softness

SOURCE = Path(__file__).with_name("limit.c")
WATER_SOURCE = Path(__file__).with_name("fluid_limit.c")
LANES = 16
CACHE_LINE = 64
TILE = 64
FLOATS = ("radius", "support", "amplitude", "slope", "softness", "xsph", "gravity", "h")
CONSTRAINT = np.dtype([("a", "i4"), ("b", "i4"), ("rest", "f4"), ("compliance", "f4")])


class Parameters(ctypes.Structure):
    """What the C code is told."""

    _fields_ = (
        *((name, ctypes.c_float) for name in FLOATS), ("iterations", ctypes.c_int), ("planes", ctypes.c_int),
        ("plane", ctypes.c_float * 24),
    )  # fmt: skip


def unavailable() -> str | None:
    """Return why the C limit cannot be measured here, or None if it can."""
    if compiler() is None:
        return "there is no C compiler: set CC, or install cc, gcc or clang"
    return None


def compiler() -> str | None:
    """Return the C compiler of the system, or None."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and shutil.which(name):
            return name
    return None


def load(source: Path = SOURCE) -> ctypes.CDLL:
    """Compile and load C code for this machine.

    Raises:
        ValueError: where that is not possible, with the reason.
    """
    reason = unavailable()
    if reason:
        raise ValueError(reason)
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    flags = ["-march=native", "-mprefer-vector-width=512"] if x86 else ["-mcpu=native"]
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "limit.so"
        command = [str(compiler()), "-O3", *flags, "-Wno-psabi", "-shared", "-fPIC", "-o", str(library), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ValueError(f"{' '.join(command)} failed:\n{done.stderr}")
        return ctypes.CDLL(str(library))


def _order(pairs: np.ndarray, order: str) -> np.ndarray:
    """Return the order in which constraints are swept."""
    labels = greedy_colors(pairs, int(pairs.max()) + 1)
    if order == "tiled":
        labels = labels + (labels.max() + 1) * (pairs.min(axis=1) // TILE)
    return batches(labels)[0]


def aligned(values: np.ndarray) -> np.ndarray:
    """Return a float32 copy that begins on a cache line: vectors that straddle two cost a quarter of the speed."""
    size = 4 * values.size
    memory = np.empty(size + CACHE_LINE, dtype=np.uint8)
    first = -memory.ctypes.data % CACHE_LINE
    copy = memory[first : first + size].view(np.float32).reshape(values.shape)
    copy[...] = values
    return copy


def cloth(scene: Scene, num_envs: int, device: str = "cpu", order: str = "colored") -> Peer:
    """Set up hand-written C for a scene of springs.

    Args:
        scene: of distance constraints and pins only.
        num_envs: environments; whole groups of 16 are advanced.
        device: ``"cpu"``.
        order: ``"colored"``, or ``"tiled"``: colours of one stretch of particles after another, which stays in cache.
    """
    function = load().control_step
    parts = springs(scene)
    groups, count = -(-num_envs // LANES), len(parts.inv_mass)
    chosen = _order(parts.pairs, order)
    constraints = np.empty(len(chosen), dtype=CONSTRAINT)
    constraints["a"], constraints["b"] = parts.pairs[chosen].T
    constraints["rest"], constraints["compliance"] = parts.rest_length[chosen], parts.compliance[chosen]

    def spread(values: np.ndarray) -> np.ndarray:
        return aligned(np.broadcast_to(values[None, ..., None], (groups, *values.shape, LANES)))

    x, w = spread(parts.positions), spread(parts.inv_mass)
    previous, velocity = aligned(x), aligned(np.zeros_like(x))
    arrays = [parts.gravity, x, previous, velocity, w]
    gravity, *state = (a.ctypes.data_as(ctypes.c_void_p) for a in arrays)

    def step(keep: object = (constraints, arrays)) -> None:
        function(groups, count, len(constraints), constraints.ctypes.data_as(ctypes.c_void_p), gravity,
                 SUBSTEPS, ctypes.c_float(CTRL_DT / SUBSTEPS), *state)  # fmt: skip

    return Peer(f"the C limit, {order} order", step, lambda: x[0, ..., 0].copy())


def water(scene: Scene, num_envs: int) -> Peer:
    """Set up hand-written C for a scene of water in a tank of planes.

    Raises:
        ValueError: where it cannot be compiled, with the reason.
    """
    fluid = scene.fluid
    assert fluid is not None
    function, smoothing = load(WATER_SOURCE).control_step, fluid.smoothing
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
