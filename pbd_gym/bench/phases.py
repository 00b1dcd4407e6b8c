"""Where the time of a crumpled towel's step goes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym

from pbd_gym.bench.rows import Options, Row
from pbd_gym.sim.costs import phase_times
from pbd_gym.sim.solver import Solver

SHOWN = 8
"""Phases that take longest."""
HEAPS = 16
"""Start states: fewer than the task has by default, which take a minute to make."""


def rows(options: Options) -> Iterator[Row]:
    """Time the phases of a substep of PBDClothFlatten-v0 under random actions, as launches of their own."""
    num_envs = options.num_envs or (1024 if options.is_cuda else 16)
    made: Any = gym.make_vec("PBDClothFlatten-v0", num_envs, device=options.device, threads=1, starts=HEAPS)
    env = made.unwrapped
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(3):
        env.step(env.action_space.sample())
    solver = Solver(env.model, env.solver.substeps, damping=env.config.damping, threads=1, schedule="colors")
    state, control = solver.state(), solver.control()
    state.set_positions(env.state.get_positions())
    found = phase_times(solver, state, control, env.config.ctrl_dt)
    env.close()
    whole = sum(found.values())
    yield Row("phases", f"all, {num_envs:,} environments", 1e6 * whole / solver.substeps, "us a substep")
    for name, seconds in list(found.items())[:SHOWN]:
        yield Row("phases", f"{name}: {seconds / whole:.0%}", 1e6 * seconds / solver.substeps, "us a substep")
