"""Show a trained policy: in a window, in a GIF, or as numbers. Small ones need only NumPy and pygame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pbd_gym.envs.tools.play import play
from pbd_gym.training.agents.policies import find_policy
from pbd_gym.training.episodes.record import Stacked
from pbd_gym.training.episodes.rollouts import Policy, check_film, each_start, make_unseen, rollout
from pbd_gym.training.settings.arguments import UNSEEN_SEED


def enjoy(
    name: str,
    seed: int = UNSEEN_SEED,
    episodes: int = 4,
    gif: Path | None = None,
    headless: bool = False,
    trust: bool = False,
) -> None:
    """Run a policy, and print its score.

    Args:
        name: an id with a bundled policy, or a file: NAME.npz, or model.zip of a training run, which needs torch.
        seed: seed of the first episode. episodes: number of episodes for a GIF or for numbers; a window runs until it
        is closed. gif: file to write instead of opening a window. headless: print numbers only. trust: see
        :func:`pbd_gym.training.runs.checkpoint.load`.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: for an unknown policy, ``episodes`` below 1, or a ``gif`` with another suffix.
        DisplayError: without a display for the window.
    """
    check_film(gif)
    if episodes < 1:
        raise ValueError(f"episodes must be at least 1, got {episodes}")
    window = gif is None and not headless
    policy, env_id, env_kwargs = _found(name, window, trust)
    if window:
        kwargs = {name: value for name, value in env_kwargs.items() if name != "max_episode_steps"}
        play(env_id, seed, policy=policy, split="eval", **kwargs)  # until the window is closed
        return
    env = make_unseen(env_id, episodes, gif, **env_kwargs)
    print(rollout(policy, env, env.reset(seed=seed, options=each_start(env, seed))[0], gif))
    if gif is not None:
        print(gif)
    env.close()


def _found(name: str, single: bool, trust: bool) -> tuple[Policy, str, dict[str, Any]]:
    """Return a policy, the id of its environment, and that environment's arguments.

    Args:
        name: name of the policy. single: whether it receives one observation rather than those of a batch.
        trust: see :func:`enjoy`.
    """
    if not name.endswith(".zip"):
        policy = find_policy(name)
        print(f"{policy.env_id}: trained to {policy.normalized_performance:.3f} normalized performance", flush=True)
        return policy, policy.env_id, policy.env_kwargs
    if single:
        from pbd_gym.training.runs.checkpoint_policy import CheckpointPolicy

        alone = CheckpointPolicy(Path(name), trust)
        return alone, alone.env_id, alone.env_kwargs
    from pbd_gym.training.runs.checkpoint import load

    agent = load(Path(name), trust)
    stack, first = Stacked(agent, agent.frame_stack), iter([True])
    return (lambda observation: stack(None, observation, next(first, False))), agent.env_id, agent.env_kwargs
