"""Show a small trained policy: in a window, in a GIF, or as numbers. Needs NumPy and pygame only."""

from __future__ import annotations

from pathlib import Path

from pbd_gym.envs.tools.play import play
from pbd_gym.training.arguments import UNSEEN_SEED
from pbd_gym.training.policies import find_policy
from pbd_gym.training.rollouts import check_film, make_unseen, rollout


def enjoy(
    name: str, seed: int = UNSEEN_SEED, episodes: int = 4, gif: Path | None = None, headless: bool = False
) -> None:
    """Run a policy, and print its score.

    Args:
        name: an id with a bundled policy, or a file NAME.npz.
        seed: of the first episode.
        episodes: how many, for a GIF or for numbers; a window runs until it is closed.
        gif: file to write instead of opening a window.
        headless: print numbers only.

    Raises:
        ValueError: if there is no such policy, ``episodes`` is below 1, or ``gif`` has another suffix.
        DisplayError: without a display for the window.
    """
    check_film(gif)
    policy = find_policy(name)
    print(f"{policy.env_id}: trained to {policy.normalized_performance:.3f} normalized performance", flush=True)
    if gif is None and not headless:
        kwargs = {name: value for name, value in policy.env_kwargs.items() if name != "max_episode_steps"}
        play(policy.env_id, seed, policy=policy, split="eval", **kwargs)  # until the window is closed
        return
    if episodes < 1:
        raise ValueError(f"episodes must be at least 1, got {episodes}")
    env = make_unseen(policy.env_id, episodes, gif, **policy.env_kwargs)
    print(rollout(policy, env, env.reset(seed=seed)[0], gif))
    if gif is not None:
        print(gif)
    env.close()
