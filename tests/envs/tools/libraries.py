"""Batches in other libraries, tried: each library with each output and autoreset mode, against the batch itself.

``python -m tests.envs.tools.libraries`` tries what is installed and writes it into docs/other_libraries.md.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import itertools
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from tests.envs.helpers import ID, SMALL

PAGE = Path(__file__).parents[3] / "docs" / "other_libraries.md"
OUTPUTS = ("numpy", "torch")
MODES = ("NextStep", "SameStep", "Disabled")
COUNT, LIMIT, STEPS = 3, 4, 10
ACTION = 0.5
"""Every number of every action: a cloth that is carried somewhere, so that observations differ from step to step."""
YES = "yes"
HEAD = "| library | `numpy`: NextStep | SameStep | Disabled | `torch`: NextStep | SameStep | Disabled |"


class Seen(NamedTuple):
    """A step as a learner sees it: rewards and ends, shape (COUNT,) each, and the next observation, (COUNT, n).

    Rows of episodes that have ended may be NaN: not every library passes them on.
    """

    observation: Any
    reward: Any
    done: Any


class RefusedError(Exception):
    """Raised where a library does not take such a batch."""


def batch(output: str, mode: str) -> Any:
    """Make a batch whose episodes are four steps long."""
    return gym.make_vec(ID, COUNT, max_episode_steps=LIMIT, autoreset_mode=mode, output=output, **SMALL)


def array(value: Any) -> np.ndarray:
    """Return a tensor or an array as an array."""
    return np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)


def actions(output: str) -> Any:
    """Return the action of every step, in the batch's own kind of array."""
    given = np.full((COUNT, 6), ACTION, dtype=np.float32)
    if output == "numpy":
        return given
    import torch

    return torch.from_numpy(given)


def plain(envs: Any, output: str, mode: str) -> Iterator[Seen]:
    """Step with Gymnasium's interface alone, resetting what has ended where nothing else does."""
    envs.reset(seed=0)
    for _ in range(STEPS):
        observation, reward, terminated, truncated, infos = envs.step(actions(output))
        done = array(terminated) | array(truncated)
        if mode == "SameStep" and done.any():
            observation = infos["final_obs"] if output == "torch" else np.stack(list(infos["final_obs"]))
        yield Seen(observation, reward, done)
        if mode == "Disabled" and done.any():
            envs.reset(options={"reset_mask": done})


def in_gymnasium(output: str, mode: str) -> Iterator[Seen]:
    """Gymnasium's own wrappers, which count with NumPy; of tensors, ours."""
    if output == "torch":
        from pbd_gym.envs import torch as wrappers
    else:
        from gymnasium.wrappers import vector as wrappers  # type: ignore[no-redef]
    return plain(wrappers.RecordEpisodeStatistics(batch(output, mode)), output, mode)


def in_sb3(output: str, mode: str) -> Iterator[Seen]:
    from pbd_gym.envs.tools.sb3 import TaskVecEnv

    try:
        envs = TaskVecEnv(batch(output, mode))
    except ValueError as error:
        raise RefusedError("refused") from error
    envs.seed(0)
    envs.reset()
    for _ in range(STEPS):
        observation, reward, done, infos = envs.step(actions("numpy"))
        last = [info.get("terminal_observation", row) for info, row in zip(infos, observation, strict=True)]
        yield Seen(np.stack(last), reward, done)


def in_torchrl(output: str, mode: str) -> Iterator[Seen]:
    import torch
    from torchrl.envs import GymWrapper, RewardSum, TransformedEnv

    from pbd_gym.envs import make_torchrl_env

    try:
        made = batch(output, mode)
        inner = (make_torchrl_env if mode == "Disabled" else GymWrapper)(made)
    except (NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        raise RefusedError("refused") from error
    envs = TransformedEnv(inner, RewardSum())
    state = envs.reset(seed=0)
    first, ends = made.buffers.peek("episode")[0], 0
    for _ in range(STEPS):
        state["action"] = torch.full((COUNT, 6), ACTION)
        after, state = envs.step_and_maybe_reset(state)
        row = after["next"]
        if row["episode_reward"].shape != row["reward"].shape:
            raise RefusedError("without transforms")
        yield Seen(row["observation"], row["reward"][:, 0], row["done"][:, 0])
        ends += int(row["done"][0, 0])
        if made.buffers.peek("episode")[0] > first + ends:
            raise RefusedError("resets twice")


def in_skrl(output: str, mode: str) -> Iterator[Seen]:
    import torch
    from skrl.envs.wrappers.torch import wrap_env

    envs = wrap_env(batch(output, mode))
    envs._env.reset(seed=0)
    envs.reset()
    for _ in range(STEPS):
        observation, reward, terminated, truncated, infos = envs.step(torch.full((COUNT, 6), ACTION))
        done = array(terminated | truncated)[:, 0]
        if mode == "SameStep" and done.any():
            observation = infos["final_obs"] if output == "torch" else np.stack(list(infos["final_obs"]))
        yield Seen(observation, reward[:, 0], done)


def not_at_ends(observation: Any, done: Any) -> Any:
    """Return observations of a library that gives the next episode's first in place of the last: NaN there."""
    return observation.masked_fill(done[:, None], float("nan"))


def in_rsl_rl(output: str, mode: str) -> Iterator[Seen]:
    from pbd_gym.envs import RslRlVecEnv

    try:
        envs = RslRlVecEnv(batch(output, mode), seed=0)
    except ValueError as error:
        raise RefusedError("refused") from error
    for _ in range(STEPS):
        groups, reward, done, extras = envs.step(actions(output))
        assert (extras["time_outs"] == done).all() and (envs.episode_length_buf == 0).equal(done)
        yield Seen(not_at_ends(groups["policy"], done), reward, done)


def in_rl_games(output: str, mode: str) -> Iterator[Seen]:
    from pbd_gym.envs import RlGamesVecEnv

    try:
        envs = RlGamesVecEnv(batch(output, mode), seed=0)
    except ValueError as error:
        raise RefusedError("refused") from error
    envs.reset()
    for _ in range(STEPS):
        observation, reward, done, infos = envs.step(actions(output))
        assert (infos["time_outs"] == done).all()
        yield Seen(not_at_ends(observation, done), reward, done)


def in_jax(output: str, mode: str) -> Iterator[Seen]:
    import jax.numpy as jnp
    from gymnasium.wrappers.vector.array_conversion import ArrayConversion

    if output == "torch":
        raise RefusedError("-")  # it turns NumPy's arrays into its own
    envs = ArrayConversion(batch(output, mode), env_xp=np, target_xp=jnp)
    envs.reset(seed=0)
    for _ in range(STEPS):
        observation, reward, terminated, truncated, _ = envs.step(jnp.full((COUNT, 6), ACTION))
        assert isinstance(observation, jnp.ndarray)
        done = np.asarray(terminated) | np.asarray(truncated)
        yield Seen(observation, reward, done)
        if mode == "Disabled" and done.any():
            envs.reset(options={"reset_mask": done})


TRIALS: dict[str, tuple[str, Callable[[str, str], Iterator[Seen]]]] = {
    "wrappers of Gymnasium, `pbd_gym.envs.torch`": ("gymnasium", in_gymnasium),
    "Stable-Baselines3": ("stable_baselines3", in_sb3),
    "TorchRL": ("torchrl", in_torchrl),
    "skrl": ("skrl", in_skrl),
    "rsl_rl": ("rsl_rl", in_rsl_rl),
    "rl_games": ("rl_games", in_rl_games),
    "JAX": ("jax", in_jax),
}
"""Libraries by the row of the table: the module that has to be there, and what is tried."""


def installed(name: str) -> bool:
    """Return whether what a trial needs is here."""
    return importlib.util.find_spec(TRIALS[name][0]) is not None


def tried(name: str, output: str, mode: str) -> str:
    """Return ``yes`` if a library sees the rewards, ends and observations of the batch, over several episodes.

    Otherwise it returns, in few words, what happens.
    """
    expected = list(plain(batch(output, mode), output, mode))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = list(TRIALS[name][1](output, mode))
    except RefusedError as refused:
        return str(refused)
    except Exception as error:
        return f"raises `{type(error).__name__}`"
    for one, other in zip(found, expected, strict=True):
        if not np.array_equal(array(one.done), array(other.done)):
            return "ends differ"
        if not np.allclose(array(one.reward), array(other.reward), atol=1e-6):
            return "rewards differ"
        seen = ~np.isnan(array(one.observation)).any(axis=1) | ~array(one.done)
        if not np.allclose(array(one.observation)[seen], array(other.observation)[seen], atol=1e-5):
            return "observations differ"
    return YES


def table() -> dict[tuple[str, str, str], str]:
    """Return the cells of the table on the page, by library, output and mode."""
    cells: dict[tuple[str, str, str], str] = {}
    text = PAGE.read_text()
    for row in re.findall(r"^\|.*\|$", text[text.index(HEAD) :].split("\n\n")[0], re.MULTILINE)[2:]:
        name, *found = (cell.strip() for cell in row.strip("|").split("|"))
        batches = itertools.product(OUTPUTS, MODES)
        cells |= {(name, output, mode): cell for (output, mode), cell in zip(batches, found, strict=True)}
    return cells


def write(cells: dict[tuple[str, str, str], str]) -> None:
    """Write the table into the page."""
    rows = [HEAD, "|" + "---|" * HEAD[1:].count("|")]
    for name in TRIALS:
        found = " | ".join(cells[name, output, mode] for output in OUTPUTS for mode in MODES)
        rows.append(f"| {name} | {found} |")
    text = PAGE.read_text()
    start = text.index(HEAD)
    rest = text[start:].partition("\n\n")[2]
    PAGE.write_text(text[:start] + "\n".join(rows) + "\n\n" + rest)


def main() -> None:
    """Try what is installed, and write it into the page; the other cells stay."""
    cells = {(name, output, mode): "?" for name in TRIALS for output in OUTPUTS for mode in MODES} | table()
    for name in filter(installed, TRIALS):
        for output in OUTPUTS:
            for mode in MODES:
                cells[name, output, mode] = tried(name, output, mode)
                print(f"{name}, {output}, {mode}: {cells[name, output, mode]}", flush=True)
    write(cells)


if __name__ == "__main__":
    main()
