"""Commands that show simulations: ``play``, ``enjoy``, ``demo``, films and meshes of episodes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pbd_gym.cli.command import TRUST, add, count, natural
from pbd_gym.runtime.extras import check_installed
from pbd_gym.runtime.files import check_writable

DEFAULT_ID = "PBDClothFold-v0"
"""Environment that ``record`` and ``export`` show without an id."""


def declare(commands: Any) -> None:
    """Declare the commands."""
    play = add(commands, "play", _play, "open a window and drag the particles with the mouse", "render")
    play.add_argument("id", nargs="?", help="environment (default: PBDCloth-v0, or that of the checkpoint)")
    play.add_argument("--seed", type=natural, default=0)
    play.add_argument("--action-mode", help="mode of the hands (default: the task's first one)")
    play.add_argument("--policy", metavar="P", help="policy that acts: expert, random, or a file: model.npz, model.zip")
    play.add_argument("--trust", action="store_true", help=TRUST)
    play.add_argument("--save", metavar="FILE", help="write the actions to this file at the end (.npz)")
    play.add_argument(
        "--web", type=count, nargs="?", const=8080, metavar="PORT", help="show it in a browser (port 8080)"
    )
    replay = add(commands, "replay", _replay, "repeat actions saved by pbd-gym play, and compare bit for bit", "data")
    replay.add_argument("file")
    replay.add_argument("--minari", metavar="FOLDER", help="also write its actions as a dataset, NAME-v0")
    enjoy = add(commands, "enjoy", _enjoy, "watch an agent that comes with the package", "render")
    enjoy.add_argument("id", help="an id, or the file of an agent of your own: NAME.npz, model.zip")
    enjoy.add_argument("--seed", type=natural, default=1_000_000, help="seed of the first episode (default 1000000)")
    enjoy.add_argument("--episodes", type=count, default=4, help="number of episodes without a window (default 4)")
    enjoy.add_argument("--gif", type=Path, metavar="FILE", help="write a GIF instead of opening a window")
    enjoy.add_argument("--trust", action="store_true", help=TRUST)
    enjoy.add_argument("--headless", action="store_true", help="print numbers only")
    add(commands, "demo", _demo, "look at a demonstration; without a name, list them", "render", reads_rest=True)
    _declare_films(commands)


def _declare_films(commands: Any) -> None:
    """Declare the commands that write files; policies may need torch, and writers name their own requirements."""
    film = add(commands, "record", _record, "write an MP4 or GIF of episodes", "train")
    mesh = add(commands, "export", _export, "write an episode as meshes: OBJ files, USD, or rerun's viewer", "train")
    for name, command in (("FILE.mp4 or FILE.gif", film), ("FILE.usda, FILE.usdc, FILE.rrd or FOLDER.obj", mesh)):
        command.add_argument("id", nargs="?", help="environment; that of the checkpoint by default")
        command.add_argument(
            "--policy",
            help="expert, random, trained, pixels, plan, or a file: model.npz (default: the expert of the task, or "
            "else the agent that comes with the package); or your own, module:function",
        )
        command.add_argument("--trust", action="store_true", help=TRUST)
        command.add_argument("--out", required=True, metavar="FILE", help=name)
        command.add_argument("--seed", type=natural, default=0, help="seed of the first environment")
        command.add_argument("--every", type=count, default=1, help="show one step in this many (default 1)")
        command.add_argument(
            "--env-kwargs", nargs="*", default=[], metavar="NAME VALUE", help="arguments of the environment"
        )
    film.add_argument("--episodes", type=count, default=1, help="successive episodes (default 1)")
    film.add_argument("--num-envs", type=count, default=1, help="environments side by side (default 1)")
    film.add_argument("--columns", type=count, help="environments in a row")
    film.add_argument("--size", type=count, default=512, help="width and height of each [pixels] (default 512)")
    film.add_argument("--colors", type=count, default=256, help="number of colours of a GIF (default 256)")
    film.add_argument("--color-by", default="sides", help="sides, stretch, velocity or contact (default sides)")
    film.add_argument("--wireframe", action="store_true", help="draw meshes as lines")


def _play(args: argparse.Namespace, rest: list[str]) -> None:
    if args.policy not in (None, "expert", "random"):
        args.extra = "train"  # which reads a checkpoint
    from pbd_gym.envs.tools.play import play
    from pbd_gym.registry import find

    check_writable(args.save)
    if args.web is not None:
        check_installed(("pygame", "viser", "trimesh"), "for a page", "web")
    env_id, kwargs, policy = find(args.id or "PBDCloth-v0").id, {}, args.policy
    if policy not in (None, "expert", "random"):
        from pbd_gym.training.runs.checkpoint_policy import CheckpointPolicy

        policy = CheckpointPolicy(Path(args.policy), args.trust)
        if args.id not in (None, policy.env_id):
            raise ValueError(f"{args.policy} was trained on {policy.env_id}, not on {args.id}")
        env_id, kwargs = policy.env_id, policy.env_kwargs
    if args.action_mode is not None:
        kwargs = {**kwargs, "action_mode": args.action_mode}
    save = None if args.save is None else Path(args.save)
    play(env_id, args.seed, policy, save, args.web, **kwargs)


def _replay(args: argparse.Namespace, rest: list[str]) -> int:
    from pbd_gym.envs.tools import demonstrations

    check_writable(args.minari, folder=True)
    if args.minari is not None:  # reports a missing package now
        from pbd_gym.training.data.datasets import check_new
        from pbd_gym.training.human_demonstrations import to_minari

        check_new(Path(args.minari))
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
        written = to_minari(saved, Path(args.minari))
        print(f"{written} of {len(saved.episodes)} episodes in {args.minari}")
    return 0 if all(agree) else 1


def _enjoy(args: argparse.Namespace, rest: list[str]) -> None:
    if args.id.endswith(".zip"):
        args.extra = "train"  # which reads a checkpoint
    from pbd_gym.training.enjoy import enjoy

    check_writable(args.gif)
    enjoy(args.id, args.seed, args.episodes, args.gif, args.headless, args.trust)


def _actor(args: argparse.Namespace) -> tuple[Any, str, dict[str, Any]]:
    """Return the policy to run, its environment and its arguments."""
    from pbd_gym.registry import find
    from pbd_gym.training.runs.named_policies import find_actor
    from pbd_gym.training.settings.arguments import named

    kwargs = named(args.env_kwargs)
    wanted = args.id or (DEFAULT_ID if args.policy in (None, "expert", "random") else None)
    actor, env_id, trained = find_actor(args.policy or "default", wanted, args.seed, args.trust)
    return actor, find(wanted or env_id).id, {**trained, **kwargs}


def _record(args: argparse.Namespace, rest: list[str]) -> None:
    from pbd_gym.envs.tools import recording

    check_writable(args.out)
    actor, env_id, kwargs = _actor(args)
    shown = {"color_by": args.color_by, "wireframe": args.wireframe}
    path = recording.record(
        args.out, env_id, actor, num_envs=args.num_envs, episodes=args.episodes, seed=args.seed, size=args.size,
        columns=args.columns, every=args.every, colors=args.colors, render_options=shown, env_kwargs=kwargs,
    )  # fmt: skip
    print(path)


def _export(args: argparse.Namespace, rest: list[str]) -> None:
    from pbd_gym.envs.tools import recording

    check_writable(args.out, folder=args.out.lower().endswith(".obj"))
    actor, env_id, kwargs = _actor(args)
    print(recording.export(args.out, env_id, actor, seed=args.seed, every=args.every, env_kwargs=kwargs))


def _demo(args: argparse.Namespace, rest: list[str]) -> int:
    if not rest or rest[0].startswith("-"):
        _list_demos(rest)
        return 0
    if any(word.split("=")[0] == "--web" for word in rest):
        check_installed(("pygame", "viser", "trimesh"), "for a page", "web")
    from pbd_gym.demos import run  # imports Warp: not for the list

    return run.main(rest)


def _list_demos(arguments: list[str]) -> None:
    """Print the names of the demonstrations by theme, or how to run them."""
    from pbd_gym.demos import DEMOS, THEMES
    from pbd_gym.demos.theory import THEORIES

    lines, explained = [], []
    for theme, about in THEMES.items():
        for listed in (lines, explained):
            listed.append(f"{theme}: {about}")
        for entry in (entry for entry in DEMOS if entry.theme == theme):
            lines.append(f"  {entry.name:22} {entry.summary}")
            explained += [lines[-1], *(f"{'':25}{line}" for line in THEORIES[entry.name].formula.splitlines())]
    table = "\n".join(lines)
    parser = argparse.ArgumentParser(
        prog="pbd-gym demo", description="Demonstrations. Each has options: pbd-gym demo NAME --help.",
        usage="pbd-gym demo [NAME [options] | all --out FILE.png [--theme THEME]]",
        epilog="\n".join(explained),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.parse_args(arguments)
    print(table)
