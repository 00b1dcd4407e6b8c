"""Whole environments: through ``make_vec`` beside the bare engine on the same scene, and through ``gym.make``."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import warp as wp

from pbd_gym.bench.engine import sizes
from pbd_gym.bench.rows import Options, Row
from pbd_gym.bench.timing import compare, measure

VECTOR_IDS = {
    "cloth-vec": "PBDCloth-v0",
    "rope-vec": "PBDRope-v0",
    "soft-vec": "PBDSoftBody-v0",
    "pendulum-vec": "PBDPendulum-v0",
}
"""Workload of each environment."""


def vector(name: str, options: Options) -> Iterator[Row]:
    """Time a batch of an environment and its bare engine, whose steps take turns."""
    for num_envs, threads in sizes(options, [(256, 1), (256, 2)], [1024, 16384]):
        extra: dict[str, Any] = {"output": "torch"} if options.is_cuda else {}
        env: Any = gym.make_vec(
            VECTOR_IDS[name], num_envs=num_envs, device=options.device, threads=threads, **extra
        ).unwrapped
        env.reset(seed=0)
        env.action_space.seed(0)
        actions = env.action_space.sample()
        if options.is_cuda:
            actions = wp.to_torch(wp.array(actions, device=options.device))
        # The same physics in a state of its own, with its hands at rest.
        solver = copy.copy(env.solver)
        state, control = solver.state(), solver.control()
        state.load(env.state.save())

        def step(env: Any = env, actions: Any = actions) -> None:
            env.step(actions)
            wp.synchronize_device(env.model.device)

        def bare_step(env: Any = env, solver: Any = solver, state: Any = state, control: Any = control) -> None:
            solver.step(state, control, env.config.ctrl_dt)
            wp.synchronize_device(env.model.device)

        whole, bare = compare([step, bare_step], options.repeats)
        what = f"{num_envs:,} environments" + (f", {threads} thread{'s'[: threads > 1]}" if not options.is_cuda else "")
        yield Row(name, f"make_vec, {what}", num_envs / whole.median, "env-steps/s", whole.spread)
        yield Row(name, f"bare engine, {what}", num_envs / bare.median, "env-steps/s", bare.spread)
        share = bare.median / whole.median if options.is_cuda else bare.cpu / whole.cpu
        yield Row(name, f"share of the bare engine, {what}", 100.0 * share, "%")
        yield Row(name, f"overhead per vector step, {what}", 1e6 * (whole.median - bare.median), "us")
        env.close()


def cloth_single(options: Options) -> Iterator[Row]:
    """PBDCloth-v0 through gym.make, with all the wrappers that puts around it."""
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
