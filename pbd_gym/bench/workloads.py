"""Named workloads. Each is a function that yields rows of the table."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
import warp as wp

from pbd_gym.bench.timing import Duration, measure
from pbd_gym.kernels.rotation import make_rotate
from pbd_gym.kernels.wide import wide
from pbd_gym.materials import ClothMaterial
from pbd_gym.model import Model
from pbd_gym.regions import lattice_regions
from pbd_gym.scene import Scene
from pbd_gym.solver import Solver
from pbd_gym.threads import default_threads

CTRL_DT = 1 / 30


@dataclass(frozen=True)
class Row:
    """One measurement."""

    workload: str
    what: str
    value: float
    unit: str
    spread: float = 0.0
    """Largest minus smallest run, as a share of the median."""
    extra: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Options:
    """What every workload is told."""

    repeats: int
    device: str


def towel(particles: int = 32) -> Scene:
    """Scene of W1: a square cloth of structural and shear constraints, hanging by two corners (3,906 at 32 x 32)."""
    scene = Scene()
    cloth = scene.add_cloth(particles, particles, (1.0, 1.0), ClothMaterial(0.2, 1e-5, 1e-5, None), (0.0, 1.5, 0.0))
    scene.pin(cloth.corners[:2])
    return scene


def engine(
    scene: Scene, num_envs: int, options: Options, threads: int, substeps: int = 10, lanes: int | None = None
) -> tuple[Duration, int, np.ndarray]:
    """Time one control step of the bare engine.

    Returns:
        The duration, the projections that a step does, and the positions [m] at the end, shape (num_envs, n, 3).
    """
    model = Model(scene, num_envs, device=options.device, threads=threads, lanes=lanes)
    solver = Solver(model, substeps, threads=threads)
    state, control = solver.state(), solver.control()

    def step() -> None:
        solver.step(state, control, CTRL_DT)
        wp.synchronize_device(model.device)

    duration = measure(step, options.repeats)
    return duration, num_envs * model.constraint_count * substeps, state.get_positions()


def w1(options: Options) -> Iterator[Row]:
    """32 x 32 cloth, 10 substeps of one iteration: 64 environments on one thread and on two, and one alone."""
    cases = [(64, 1), (64, 2), (1, 1)] if default_threads() > 1 else [(64, 1), (1, 1)]
    for num_envs, threads in cases if options.device == "cpu" else [(1024, 1), (16384, 1)]:
        time_, projections, _ = engine(towel(), num_envs, options, threads)
        name = f"{num_envs} env{'s'[: num_envs > 1]}, {threads} thread{'s'[: threads > 1]}"
        yield Row("w1", name, projections / time_.median / 1e9, "G projections/s", time_.spread,
                  {"frames_per_s": num_envs / time_.median})  # fmt: skip


def lanes(options: Options) -> Iterator[Row]:
    """W1 for one group of each lane count: what the choice of lanes rests on."""
    for count in (1, 4, 8, 16):
        time_, _, _ = engine(towel(), count, options, 1, lanes=count)
        yield Row("lanes", f"L = {count}", 1e3 * time_.median, "ms per group step", time_.spread,
                  {"frames_per_s": count / time_.median})  # fmt: skip


def cloth_vec(options: Options) -> Iterator[Row]:
    """PBDCloth-v0 through make_vec, against the bare engine on the same scene."""
    env: Any = gym.make_vec("PBDCloth-v0", num_envs=256, device=options.device)
    env.reset(seed=0)
    actions = env.action_space.sample()
    step = measure(lambda: env.step(actions), options.repeats)
    yield Row("cloth-vec", "make_vec, 256 envs", 256 / step.median, "env-steps/s", step.spread)

    env.reset(seed=0)
    env.control.motion.zero_()  # hands at rest: otherwise they would travel on for ever

    def bare_step() -> None:
        env.solver.step(env.state, env.control, env.config.ctrl_dt)
        wp.synchronize_device(env.model.device)

    bare = measure(bare_step, options.repeats)
    yield Row("cloth-vec", "bare engine, 256 envs", 256 / bare.median, "env-steps/s", bare.spread)
    yield Row("cloth-vec", "share of the bare engine", 100 * bare.median / step.median, "%")
    env.close()


def cloth_single(options: Options) -> Iterator[Row]:
    """PBDCloth-v0 through gym.make, with all the wrappers that puts around it."""
    env = gym.make("PBDCloth-v0", device=options.device)
    env.reset(seed=0)
    action = env.action_space.sample()

    def step() -> None:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()

    time_ = measure(step, options.repeats)
    yield Row("cloth-single", "gym.make", 1 / time_.median, "steps/s", time_.spread)
    env.close()


def rotations(options: Options) -> Iterator[Row]:
    """Rotations of 3x3 matrices alone, in cache, and those of shape matching: a block of regions of 27 particles."""
    cuda = options.device != "cpu"
    width, count = (1, 2**20) if cuda else (16, 1024)
    wide_ = wide(width, wp.float32)
    matrices = np.random.default_rng(0).normal(size=(count, 9, width))
    with wp.ScopedDevice(options.device):
        given = wp.array(matrices, dtype=wide_.vec)
        launch = wp.launch(make_rotate(wide_), dim=count, inputs=[given, wp.empty_like(given)], record_cmd=True)

    def rotate() -> None:
        launch.launch()
        wp.synchronize_device(options.device)

    time_ = measure(rotate, options.repeats)
    yield Row("rotations", f"L = {width}", count * width / time_.median / 1e6, "M rotations/s", time_.spread)

    scene, size = Scene(), 8
    block = np.stack(np.meshgrid(*[np.arange(size) * 0.1] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    scene.add_shape_matching(block, regions=lattice_regions((size,) * 3), mass=0.01)
    num_envs = 1024 if cuda else 64
    time_, regions, _ = engine(scene, num_envs, options, 1)
    yield Row("rotations", f"regions of a block of 512, {num_envs} envs", regions / time_.median / 1e6, "M regions/s",
              time_.spread)  # fmt: skip


def startup(options: Options) -> Iterator[Row]:
    """Import, and the first step in a fresh process with and without compiled kernels."""

    def run(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        return time.perf_counter() - start

    bare = float(np.median([run("pass") for _ in range(options.repeats)]))
    imports = float(np.median([run("import pbd_gym") for _ in range(options.repeats)]))
    yield Row("startup", "import pbd_gym", imports - bare, "s")
    first = (
        "import tempfile, warp as wp, gymnasium as gym, pbd_gym\n"
        "{cache}"
        "env = gym.make('PBDCloth-v0'); env.reset(seed=0); env.step(env.action_space.sample())"
    )
    yield Row("startup", "first step, kernels compile", run(first.format(
        cache="wp.config.kernel_cache_dir = tempfile.mkdtemp()\n")), "s")  # fmt: skip
    run(first.format(cache=""))
    yield Row("startup", "first step, later starts", run(first.format(cache="")), "s")


WORKLOADS: dict[str, Callable[[Options], Iterator[Row]]] = {
    "w1": w1,
    "lanes": lanes,
    "cloth-vec": cloth_vec,
    "cloth-single": cloth_single,
    "rotations": rotations,
    "startup": startup,
}
