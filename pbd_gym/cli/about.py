"""Commands about environments and this machine: ``list``, ``info``, ``doctor``."""

from __future__ import annotations

import argparse
import inspect
from typing import Any

from pbd_gym.cli.command import add


def declare(commands: Any) -> None:
    """Declare the commands."""
    add(commands, "list", _list, "list the environment ids")
    info = add(commands, "info", _info, "describe an environment and its spaces")
    info.add_argument("id")
    add(commands, "doctor", _doctor, "show versions, devices, and missing packages")


def _list(args: argparse.Namespace, rest: list[str]) -> None:
    from pbd_gym.registry import entries

    for entry in entries():
        print(f"{entry.id:24} {entry.max_episode_steps:4} steps  {entry.summary}")


def _info(args: argparse.Namespace, rest: list[str]) -> None:
    import gymnasium as gym

    from pbd_gym.envs.core.data.presets import preset_names
    from pbd_gym.registry import find

    entry = find(args.id)
    env: Any = gym.make(entry.id)
    batch = env.unwrapped.batch
    print(f"{entry.id}\n\n{inspect.cleandoc(type(batch).__doc__ or '')}\n")
    print(f"action space       {env.action_space}\nobservation space  {env.observation_space}")
    print(f"particles          {batch.model.particle_count}\nconstraints        {batch.model.constraint_count}")
    print(f"memory             {batch.memory_report().per_env / 1024:.1f} KiB per environment of a batch")
    print(f"time limit         {entry.max_episode_steps} steps of {batch.action_time:.4g} s")
    presets = preset_names(batch.presets, entry.kwargs.get("action_mode"))
    print(f"presets            {', '.join(presets) or 'none'}")
    env.close()


def _doctor(args: argparse.Namespace, rest: list[str]) -> int:
    from pbd_gym import doctor

    return doctor.main()
