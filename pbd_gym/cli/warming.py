"""The command that fills caches ahead of time: ``warm``."""

from __future__ import annotations

import argparse
import time
from typing import Any

from pbd_gym.cli.command import add, count


def declare(commands: Any) -> None:
    """Declare the commands."""
    warm = add(commands, "warm", _warm, "compile kernels and make start states, for example before a cluster's jobs")
    warm.add_argument("ids", nargs="*", metavar="ID", help="environments (default: all of this package)")
    warm.add_argument(
        "--num-envs", type=count, nargs="+", default=[1, 64], metavar="N", help="sizes of batches (default 1 64)"
    )
    warm.add_argument("--device", default="cpu", help="Warp device (default cpu)")
    warm.add_argument("--env-kwargs", nargs="*", default=[], metavar="NAME VALUE", help="arguments of the environments")
    warm.add_argument("--no-pictures", action="store_true", help="do not draw a picture of each")


def _warm(args: argparse.Namespace, rest: list[str]) -> None:
    import gymnasium as gym

    from pbd_gym.registry import ENTRIES, find
    from pbd_gym.training.settings.arguments import named

    kwargs = named(args.env_kwargs)
    ids = list(dict.fromkeys(find(env_id).id for env_id in args.ids)) or [entry.id for entry in ENTRIES]
    pictures = not args.no_pictures and _can_draw()
    for env_id in ids:
        for num_envs in sorted(set(args.num_envs)):
            started = time.perf_counter()
            env: Any = gym.make_vec(env_id, num_envs, device=args.device, **kwargs)
            env.reset(seed=0)
            env.step(env.action_space.sample())
            if pictures and num_envs == min(args.num_envs):
                env.unwrapped.pictures.draw(64)
            env.close()
            print(f"{env_id:28} {num_envs:6} environments {time.perf_counter() - started:7.1f} s", flush=True)


def _can_draw() -> bool:
    """Return whether there is what pictures for people need."""
    from pbd_gym.rendering.pictures.renderer import require_pygame

    try:
        require_pygame()
    except ImportError:
        return False
    return True
