"""The C limit: W1 in hand-written C (``limit.c`` beside this file), by the system's compiler."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from pbd_gym.bench.peers import Peer, springs
from pbd_gym.bench.scenes import CTRL_DT, SUBSTEPS
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.coloring import batches, greedy_colors

SOURCE = Path(__file__).with_name("limit.c")
LANES = 16
CACHE_LINE = 64
TILE = 64
CONSTRAINT = np.dtype([("a", "i4"), ("b", "i4"), ("rest", "f4"), ("compliance", "f4")])


def unavailable(source: Path = SOURCE) -> str | None:
    """Return why the C limit cannot be measured here, or None if it can."""
    if not source.exists():
        return f"{source} is not there: the C limit needs a clone of the repository"
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
    reason = unavailable(source)
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


def build(scene: Scene, num_envs: int, device: str = "cpu", order: str = "colored") -> Peer:
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
