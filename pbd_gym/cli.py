"""The command ``pbd-gym``. A subcommand imports what it needs when it runs, and says what to install if it cannot."""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pbd_gym
from pbd_gym.runtime.errors import DisplayError
from pbd_gym.runtime.extras import install_hint


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="pbd-gym", description="Cloth, ropes and soft bodies under Gymnasium.")
    parser.add_argument("--version", action="version", version=f"pbd-gym {pbd_gym.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", help="the environment ids")
    info = commands.add_parser("info", help="what an environment is about, and its spaces")
    info.add_argument("id")
    for name, text in (
        ("train", "train PPO, SAC or SAC + HER on an environment"),
        ("sweep", "train ids, algorithms and seeds side by side, and draw learning curves"),
        ("evaluate", "evaluate a checkpoint on unseen seeds"),
        ("plan", "act by the cross-entropy method, which looks into the simulator"),
        ("collect", "write demonstrations as a Minari dataset"),
        ("demo", "look at a demonstration; without a name, list them"),
    ):
        commands.add_parser(name, help=text, add_help=False)
    _add_benchmark(commands)
    bench = commands.add_parser("bench", help="measure speed")
    bench.add_argument("workloads", nargs="*", help="some of them, for example w1 or scaling")
    bench.add_argument(
        "--peer", action="append", default=[], choices=["newton", "newton-vbd", "numpy", "taichi"],
        help="measure this engine beside, on w1",
    )  # fmt: skip
    bench.add_argument("--limit", action="store_true", help="measure hand-written C beside, on w1 or w6")
    bench.add_argument("--json", metavar="FILE", help="write the numbers here ('-' for the screen)")
    bench.add_argument("--csv", metavar="FILE", help="likewise, as comma-separated values")
    bench.add_argument("--plot", metavar="FILE", help="draw the workload scaling into this PNG")
    bench.add_argument("--repeats", type=int, default=5, help="runs to take the median of (default 5)")
    bench.add_argument("--device", default="cpu", help="Warp device (default cpu); all: for scaling")
    bench.add_argument("--threads", type=int, help="CPU threads (default: one, and all)")
    bench.add_argument("--num-envs", type=int, help="environments of a batch (default: each workload's own)")
    fabrics = commands.add_parser("fabrics", help="measure the preset fabrics as a textile laboratory does")
    fabrics.add_argument("names", nargs="*", help="some of the presets, for example towel (default: all)")
    fabrics.add_argument("--quick", action="store_true", help="with the coarser mesh only")
    fabrics.add_argument("--bending", help="constraint kind that bends (default: that of the preset)")
    fabrics.add_argument("--json", metavar="FILE", help="write the numbers here ('-' for the screen)")
    play = commands.add_parser("play", help="open a window and drag the particles with the mouse")
    play.add_argument("id", nargs="?", help="environment (default: PBDCloth-v0, or that of the checkpoint)")
    play.add_argument("--seed", type=int, default=0)
    play.add_argument("--action-mode", help="how hands act (default: the first that the task has)")
    play.add_argument("--policy", metavar="P", help="what acts: expert, random, or the model.zip of a training run")
    play.add_argument("--trust", action="store_true", help=_TRUST)
    play.add_argument("--save", metavar="FILE", help="write what was done here at the end (.npz)")
    replay = commands.add_parser("replay", help="do again what pbd-gym play has saved, and compare bit for bit")
    replay.add_argument("file")
    replay.add_argument("--minari", metavar="FOLDER", help="also write what actions alone did as a dataset, NAME-v0")
    enjoy = commands.add_parser("enjoy", help="watch an agent that comes with the package")
    enjoy.add_argument("id", help="an id, or the NAME.npz of an agent of your own")
    enjoy.add_argument("--seed", type=int, default=1_000_000, help="of the first episode (default 1000000)")
    enjoy.add_argument("--episodes", type=int, default=4, help="without a window (default 4)")
    enjoy.add_argument("--gif", type=Path, metavar="FILE", help="write a GIF, in place of a window")
    enjoy.add_argument("--headless", action="store_true", help="print numbers only")
    film = commands.add_parser("record", help="write an MP4 or GIF of episodes")
    mesh = commands.add_parser("export", help="write an episode as meshes: OBJ files, USD, or rerun's viewer")
    for name, command in (("FILE.mp4 or FILE.gif", film), ("FILE.usda, FILE.usdc, FILE.rrd or FOLDER.obj", mesh)):
        command.add_argument("id", nargs="?", help="environment; that of the checkpoint by default")
        command.add_argument(
            "--policy", default="expert", help="expert (default), random, trained, plan, or a file: model.zip"
        )
        command.add_argument("--trust", action="store_true", help=_TRUST)
        command.add_argument("--out", required=True, metavar="FILE", help=name)
        command.add_argument("--seed", type=int, default=0, help="of the first environment")
        command.add_argument("--every", type=int, default=1, help="of how many steps one is shown (default 1)")
        command.add_argument("--env-kwargs", nargs="*", default=[], metavar="NAME VALUE", help="of the environment")
    film.add_argument("--episodes", type=int, default=1, help="one after the other (default 1)")
    film.add_argument("--num-envs", type=int, default=1, help="environments side by side (default 1)")
    film.add_argument("--columns", type=int, help="of them in a row")
    film.add_argument("--size", type=int, default=512, help="width and height of each [pixels] (default 512)")
    film.add_argument("--colors", type=int, default=256, help="of a GIF (default 256)")
    film.add_argument("--color-by", default="sides", help="sides, stretch, velocity or contact (default sides)")
    film.add_argument("--wireframe", action="store_true", help="draw meshes as lines")
    commands.add_parser("doctor", help="versions, devices, and what is missing")
    args, rest = parser.parse_known_args(arguments)
    if rest and args.command not in _REST:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        if getattr(args, "id", None):
            args.id = _plain_id(args.id)
        return int(_COMMANDS[args.command](args, [_plain_id(word) for word in rest]) or 0)
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get(args.command)
        if args.command == "play" and not (error.name or "").startswith("pygame"):
            extra = "train"  # --policy with a checkpoint
        if (extra is None and args.command != "bench") or (error.name or "").startswith("pbd_gym"):
            raise
        hint = install_hint(extra) if extra else f"pip install {error.name}"  # bench's peers are in no extra
        print(f"pbd-gym {args.command} needs {error.name}: {hint}", file=sys.stderr)
    except (ValueError, TypeError, OSError, MemoryError, ImportError, DisplayError) as error:
        print(f"pbd-gym {args.command}: {error}", file=sys.stderr)
    except KeyboardInterrupt:  # the usual way to end a window or a training run from a terminal
        print(f"pbd-gym {args.command}: interrupted", file=sys.stderr)
        return 130
    return 1


def _add_benchmark(commands: Any) -> None:
    """Add the commands of the benchmark's protocol."""
    protocol = commands.add_parser("benchmark", help="evaluate an agent by the protocol of docs/benchmark.md")
    protocol.add_argument("ids", nargs="*", metavar="ID", help="environments (default: all that the policy can act in)")
    protocol.add_argument(
        "--policy", default="expert", help="expert (default), random, trained, plan, or a file: model.zip, NAME.npz"
    )
    protocol.add_argument("--name", help="what the result calls it (default: the policy, or its algorithm or file)")
    protocol.add_argument("--seed", type=int, help="of a random policy or a planner, or that an agent was trained with")
    protocol.add_argument("--out", type=Path, metavar="FILE", help="write the result here (.json)")
    protocol.add_argument("--trust", action="store_true", help=_TRUST)
    board = commands.add_parser("leaderboard", help="make a page of results of pbd-gym benchmark")
    board.add_argument("results", nargs="+", type=Path, metavar="FILE", help="JSON files of pbd-gym benchmark")
    board.add_argument("--out", type=Path, metavar="FILE", help="Markdown file (default: the screen)")


def _plain_id(word: str) -> str:
    """Return the ID of ``module:ID``, once the module has registered it, and any other word as it is."""
    from pbd_gym.registry import find

    return find(word).id if re.fullmatch(r"[\w.]+:[\w-]+-v\d+", word) else word


def _list(args: argparse.Namespace, rest: list[str]) -> None:
    from pbd_gym.registry import ENTRIES

    for entry in ENTRIES:
        print(f"{entry.id:24} {entry.max_episode_steps:4} steps  {entry.summary}")


def _info(args: argparse.Namespace, rest: list[str]) -> None:
    import gymnasium as gym

    from pbd_gym.registry import find

    entry = find(args.id)
    env: Any = gym.make(entry.id)
    batch = env.unwrapped.batch
    print(f"{entry.id}\n\n{inspect.cleandoc(type(batch).__doc__ or '')}\n")
    print(f"action space       {env.action_space}\nobservation space  {env.observation_space}")
    print(f"particles          {batch.model.particle_count}\nconstraints        {batch.model.constraint_count}")
    print(f"memory             {batch.memory_report().per_env / 1024:.1f} KiB per environment of a batch")
    print(f"time limit         {entry.max_episode_steps} steps of {batch.action_time:.4g} s")
    presets = [name for name in batch.presets if isinstance(name, str)]
    print(f"presets            {', '.join(presets) or 'none'}")
    env.close()


def _learning(args: argparse.Namespace, rest: list[str]) -> None:
    import tyro

    module: Any
    if args.command == "train":
        import pbd_gym.training.train as module
    elif args.command == "sweep":
        import pbd_gym.training.sweep as module
    elif args.command == "evaluate":
        import pbd_gym.training.evaluate as module
    elif args.command == "plan":
        import pbd_gym.training.plan as module
    else:
        import pbd_gym.training.collect as module
    arguments = getattr(module, f"{args.command.capitalize()}Args")
    module.main(tyro.cli(arguments, args=rest, prog=f"pbd-gym {args.command}"))


def _benchmark(args: argparse.Namespace, rest: list[str]) -> None:
    from pbd_gym.training import benchmark

    benchmark.main(args.ids, args.policy, args.name, args.seed, args.out, args.trust)


def _leaderboard(args: argparse.Namespace, rest: list[str]) -> None:
    from pbd_gym.training import leaderboard

    leaderboard.main(args.results, args.out)


def _bench(args: argparse.Namespace, rest: list[str]) -> None:
    from pbd_gym.bench import run
    from pbd_gym.bench.rows import Options

    options = Options(args.repeats, args.device, args.threads, args.num_envs, tuple(args.peer), args.limit)
    run.main(args.workloads, options, args.json, args.csv, args.plot)


def _fabrics(args: argparse.Namespace, rest: list[str]) -> None:
    from pbd_gym.bench import fabrics

    fabrics.main(args.names, args.quick, args.bending, args.json)


def _play(args: argparse.Namespace, rest: list[str]) -> None:
    from pbd_gym.envs.tools.play import play
    from pbd_gym.registry import find

    env_id, kwargs, policy = find(args.id or "PBDCloth-v0").id, {}, args.policy
    if policy not in (None, "expert", "random"):
        from pbd_gym.training.checkpoint_policy import CheckpointPolicy

        policy = CheckpointPolicy(Path(args.policy), args.trust)
        if args.id not in (None, policy.env_id):
            raise ValueError(f"{args.policy} was trained on {policy.env_id}, not on {args.id}")
        env_id, kwargs = policy.env_id, policy.env_kwargs
    if args.action_mode is not None:
        kwargs = {**kwargs, "action_mode": args.action_mode}
    save = None if args.save is None else Path(args.save)
    play(env_id, args.seed, policy, save, **kwargs)


def _replay(args: argparse.Namespace, rest: list[str]) -> int:
    from pbd_gym.envs.tools import demonstrations

    saved = demonstrations.load(args.file)
    print(f"{saved.env_id}, {len(saved.episodes)} episodes")
    again = demonstrations.replay(saved)
    agree = [demonstrations.same(a, b) for a, b in zip(saved.episodes, again.episodes, strict=True)]
    for episode, same in zip(saved.episodes, agree, strict=True):
        total, success = sum(step.reward for step in episode.steps), episode.steps[-1].is_success
        print(
            f"seed {episode.seed:6}   {len(episode.steps):5} steps   return {total:10.4f}   "
            f"{'success' if success else 'no success'}   {'same bits' if same else 'DIFFERENT'}"
        )
    if args.minari is not None:
        from pbd_gym.training.human_demonstrations import to_minari

        written = to_minari(saved, Path(args.minari))
        print(f"{written} of {len(saved.episodes)} episodes in {args.minari}")
    return 0 if all(agree) else 1


def _enjoy(args: argparse.Namespace, rest: list[str]) -> None:
    from pbd_gym.training.enjoy import enjoy

    enjoy(args.id, args.seed, args.episodes, args.gif, args.headless)


def _actor(args: argparse.Namespace) -> tuple[Any, str, dict[str, Any]]:
    """Return what acts, in which environment, and its arguments."""
    from pbd_gym.registry import find
    from pbd_gym.training.arguments import parsed
    from pbd_gym.training.film_policies import find_actor

    names, values = args.env_kwargs[::2], args.env_kwargs[1::2]
    if len(names) != len(values):
        raise ValueError("--env-kwargs takes names and values in turn")
    kwargs = parsed(dict(zip(names, values, strict=True)))
    shown = args.id or ("PBDClothFold-v0" if args.policy in ("expert", "random") else None)
    actor, env_id, trained = find_actor(args.policy, shown, args.seed, args.trust)
    return actor, find(shown or env_id).id, {**trained, **kwargs}


def _record(args: argparse.Namespace, rest: list[str]) -> None:
    from pbd_gym.envs.tools import recording

    actor, env_id, kwargs = _actor(args)
    shown = {"color_by": args.color_by, "wireframe": args.wireframe}
    path = recording.record(
        args.out, env_id, actor, num_envs=args.num_envs, episodes=args.episodes, seed=args.seed, size=args.size,
        columns=args.columns, every=args.every, colors=args.colors, render_options=shown, env_kwargs=kwargs,
    )  # fmt: skip
    print(path)


def _export(args: argparse.Namespace, rest: list[str]) -> None:
    from pbd_gym.envs.tools import recording

    actor, env_id, kwargs = _actor(args)
    print(recording.export(args.out, env_id, actor, seed=args.seed, every=args.every, env_kwargs=kwargs))


def _demo(args: argparse.Namespace, rest: list[str]) -> int:
    from pbd_gym.demos import run

    return run.main(rest)


def _doctor(args: argparse.Namespace, rest: list[str]) -> int:
    from pbd_gym import doctor

    return doctor.main()


_COMMANDS = {
    "list": _list,
    "info": _info,
    "train": _learning,
    "sweep": _learning,
    "evaluate": _learning,
    "plan": _learning,
    "collect": _learning,
    "benchmark": _benchmark,
    "leaderboard": _leaderboard,
    "bench": _bench,
    "fabrics": _fabrics,
    "play": _play,
    "replay": _replay,
    "enjoy": _enjoy,
    "demo": _demo,
    "record": _record,
    "export": _export,
    "doctor": _doctor,
}
_REST = ("train", "sweep", "evaluate", "plan", "collect", "demo")
"""Commands that read their own arguments."""
_TRUST = "also read a checkpoint that can run any code it holds: one that is not from this version of pbd-gym train"
_EXTRAS = {
    **dict.fromkeys(("train", "sweep", "evaluate", "plan", "benchmark"), "train"),
    **dict.fromkeys(("play", "enjoy", "demo"), "render"),
    **dict.fromkeys(("collect", "replay"), "data"),
    **dict.fromkeys(("record", "export"), "train"),  # to act; who writes files says what that needs
}
"""What has to be installed for a command, where the environments alone do not do."""

if __name__ == "__main__":
    sys.exit(main())
