"""Benchmarks of whole environments: ``make_vec`` and the share of the bare engine, ``gym.make``, and single phases."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import warp as wp

from pbd_gym.bench.engine import sizes
from pbd_gym.bench.rows import Options, Row
from pbd_gym.bench.timing import Duration, measure
from pbd_gym.sim.costs import phase_times
from pbd_gym.sim.solver import Solver

VECTOR_IDS = {
    "cloth-vec": "PBDCloth-v0",
    "rope-vec": "PBDRope-v0",
    "soft-vec": "PBDSoftBody-v0",
    "pendulum-vec": "PBDPendulum-v0",
    "flatten-vec": "PBDClothFlatten-v0",
}
"""Benchmark name of each vector environment."""
SHOWN = 8
"""Phases that take longest and are shown."""
DRAWN = 64
"""Number of actions drawn beforehand and played in turn. A single repeated action would not be random, and hands that
close in it would hold on.
"""
HEAPS = 16
"""Number of start states: fewer than the task's default, which take a minute to make."""


class Stopwatch:
    """A callable that adds up the processor time spent in it [s].

    Args:
        call: what is called.
    """

    def __init__(self, call: Callable[..., None]) -> None:
        self.call = call
        self.seconds = 0.0

    def __call__(self, *arguments: Any) -> None:
        start = time.process_time()
        self.call(*arguments)
        self.seconds += time.process_time() - start


def vector(name: str, options: Options) -> Iterator[Row]:
    """Time a batch of an environment under random actions, and the bare engine's part of the same steps."""
    for num_envs, threads in sizes(options, [(256, 1), (256, 2)], [1024, 16384]):
        what = f"{num_envs:,} environments" + ("" if options.is_cuda else f", {threads} thread{'s'[: threads > 1]}")
        whole, share = _timed(name, num_envs, threads, options)
        yield Row(name, f"make_vec, {what}", num_envs / whole.median, "env-steps/s", whole.spread)
        yield Row(name, f"bare engine, {what}", num_envs / (whole.median * share), "env-steps/s")
        yield Row(name, f"share of the bare engine, {what}", 100.0 * share, "%")
        yield Row(name, f"all but the engine per vector step, {what}", 1e6 * whole.median * (1.0 - share), "us")
    # Besides the physics, a single environment costs only Python's own time, whatever the size of the batch.
    whole, share = _timed(name, 1, 1, options)
    yield Row(name, "overhead of Python per vector step", 1e6 * whole.median * (1.0 - share), "us", whole.spread)


def _timed(name: str, num_envs: int, threads: int, options: Options) -> tuple[Duration, float]:
    """Return the duration of a step and the share of it that the bare engine takes."""
    extra: dict[str, Any] = {"output": "torch"} if options.is_cuda else {}
    env: Any = gym.make_vec(
        VECTOR_IDS[name], num_envs=num_envs, device=options.device, threads=threads, **extra
    ).unwrapped
    env.reset(seed=0)
    env.action_space.seed(0)
    drawn = [env.action_space.sample() for _ in range(DRAWN)]
    if options.is_cuda:
        drawn = [wp.to_torch(wp.array(actions, device=options.device)) for actions in drawn]
    step = functools.partial(_step, env, itertools.cycle(drawn))
    whole = measure(step, options.repeats)
    if options.is_cuda:  # a step is a graph by now, including the engine, which is therefore measured separately
        share = measure(functools.partial(_physics, env), options.repeats).median / whole.median
    else:
        watched, physics = Stopwatch(step), Stopwatch(env.solver.step)
        env.solver.step = physics
        measure(watched, options.repeats)
        share = physics.seconds / watched.seconds
    env.close()
    return whole, share


def _physics(env: Any) -> None:
    """Run the engine's part of a step and wait until it has finished."""
    for _ in range(env.actions.repeat):
        env.solver.step(env.state, env.control, env.config.ctrl_dt)
    wp.synchronize_device(env.model.device)


def _step(env: Any, actions: Iterator[Any]) -> None:
    """Run a step with the next actions and wait until it has finished."""
    env.step(next(actions))
    wp.synchronize_device(env.model.device)


def cloth_single(options: Options) -> Iterator[Row]:
    """Time PBDCloth-v0 through gym.make, with all the wrappers that it adds."""
    env = gym.make("PBDCloth-v0", device=options.device)
    env.reset(seed=0)
    env.action_space.seed(0)
    action = env.action_space.sample()

    def step() -> None:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()

    duration = measure(step, options.repeats)
    yield Row("cloth-single", "gym.make", 1 / duration.median, "steps/s", duration.spread)
    env.close()


def phases(options: Options) -> Iterator[Row]:
    """Time the phases of a substep of PBDClothFlatten-v0 under random actions, each launched separately."""
    num_envs = options.num_envs or (1024 if options.is_cuda else 16)
    made: Any = gym.make_vec("PBDClothFlatten-v0", num_envs, device=options.device, threads=1, starts=HEAPS)
    env = made.unwrapped
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(3):
        env.step(env.action_space.sample())
    solver = Solver(
        env.model,
        env.solver.substeps,
        damping=env.config.damping,
        threads=1,
        schedule="colors",
        compensate=False,
        quiet=True,
    )
    state, control = solver.state(), solver.control()
    state.set_positions(env.state.get_positions())
    found = phase_times(solver, state, control, env.config.ctrl_dt)
    env.close()
    whole = sum(found.values())
    yield Row("phases", f"all, {num_envs:,} environments", 1e6 * whole / solver.substeps, "us a substep")
    for name, seconds in list(found.items())[:SHOWN]:
        yield Row("phases", f"{name}: {seconds / whole:.0%}", 1e6 * seconds / solver.substeps, "us a substep")
