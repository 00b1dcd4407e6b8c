"""Wrappers of a person's own around the environments that an agent is trained in, such as a reward of their own."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from pbd_gym.envs.core.base.results import row, row_of
from pbd_gym.runtime.objects import find_object

Wrap = Callable[[Any], Any]


def wrapped(env: Any, name: str | None) -> Any:
    """Return a batch with what the command line calls by a name around it.

    Args:
        env: the batch, with autoreset in the same step.
        name: ``"module:Name"``, of a :class:`gymnasium.vector.VectorWrapper`, of a :class:`gymnasium.Wrapper`, which is
            then made once for each environment, or of a function from a vector environment to one. None for nothing.

    Raises:
        ValueError: if there is nothing of that name, or it changes the spaces: an agent is evaluated, and kept, as one
            of the environment itself.
        TypeError: if it is no wrapper.
    """
    if name is None:
        return env
    found = find_object(name, "--wrapper")
    if isinstance(found, type) and issubclass(found, gym.Wrapper):
        around: Any = Rows(env, found)
    elif callable(found) and not (isinstance(found, type) and not issubclass(found, VectorWrapper)):
        around = found(env)
    else:
        around = None
    if not isinstance(around, VectorEnv):
        raise TypeError(f"--wrapper {name} is neither a gymnasium.vector.VectorWrapper nor a gymnasium.Wrapper")
    for space in ("single_observation_space", "single_action_space"):
        if getattr(around, space) != getattr(env, space):
            raise ValueError(f"--wrapper {name} changes {space}: it may change rewards only")
    return Checked(around, name)


class Checked(VectorWrapper):
    """Looks at the rewards that a wrapper pays, before they spoil an agent.

    Args:
        env: the wrapped batch.
        name: of the wrapper.
    """

    def __init__(self, env: Any, name: str) -> None:
        super().__init__(env)
        self._name = name

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step the batch.

        Raises:
            ValueError: for rewards of another shape than (num_envs,), or that are not finite.
        """
        observation, reward, terminated, truncated, info = self.env.step(actions)
        like = terminated
        if hasattr(like, "new_tensor"):
            import torch

            reward = torch.as_tensor(reward, dtype=torch.float32, device=like.device)
            fine = tuple(reward.shape) == (self.num_envs,) and bool(reward.isfinite().all())
        else:
            reward = np.asarray(reward, dtype=np.float64)
            fine = reward.shape == (self.num_envs,) and bool(np.isfinite(reward).all())
        if not fine:
            raise ValueError(
                f"--wrapper {self._name} must pay a finite number to each of {self.num_envs} environments, shape "
                f"({self.num_envs},), got {reward!r}"
            )
        return observation, reward, terminated, truncated, info


class _Row(gym.Env[Any, np.ndarray]):
    """One environment of a batch, as a wrapper for single ones sees it: a step waits for the others' actions."""

    def __init__(self, rows: Rows, number: int) -> None:
        self._rows, self._number = rows, number
        self.observation_space = rows.env.single_observation_space
        self.action_space = rows.env.single_action_space
        self.spec = rows.env.spec

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Return what the batch began an episode with, by itself."""
        return self._rows.started(self._number)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Hand over an action, and return what came of it in the batch."""
        return self._rows.stepped(self._number, action)


class _Turn:
    """A thread that runs only while another waits for it, so that both may share what they like."""

    def __init__(self) -> None:
        self._go, self._back = threading.Lock(), threading.Lock()  # who waits is let go on by who releases them
        self._go.acquire()
        self._back.acquire()
        self._task: Callable[[], Any] = lambda: None
        self.waits = False
        """Whether what it does is in the middle of a step."""
        self.result: Any = None
        self.error: BaseException | None = None
        threading.Thread(target=self._run, daemon=True).start()

    def begin(self, task: Callable[[], Any]) -> None:
        """Do something until it waits or is done."""
        self._task, self.error = task, None
        self.resume()

    def resume(self) -> None:
        """Go on until it waits or is done.

        Raises:
            BaseException: what it raised.
        """
        self._go.release()
        self._back.acquire()
        if self.error is not None:
            raise self.error

    def pause(self) -> None:
        """Wait to be resumed; called by what it does."""
        self.waits = True
        self._back.release()
        self._go.acquire()
        self.waits = False

    def _run(self) -> None:
        while True:
            self._go.acquire()
            try:
                self.result = self._task()
            except BaseException as error:  # raised where it is waited for
                self.error = error
            self._back.release()


class Rows(VectorWrapper):
    """A batch whose environments each have a wrapper for single ones around them. Wrappers see NumPy arrays.

    Args:
        env: the batch, with autoreset in the same step.
        wrap: class of the wrappers.

    Raises:
        ValueError: for another autoreset mode.
    """

    def __init__(self, env: Any, wrap: Wrap) -> None:
        super().__init__(env)
        if env.metadata.get("autoreset_mode") is not AutoresetMode.SAME_STEP:
            raise ValueError("wrappers for single environments need a batch with autoreset_mode='SameStep'")
        self.envs = [wrap(_Row(self, k)) for k in range(env.num_envs)]
        self._turns = [_Turn() for _ in self.envs]
        self._actions: list[Any] = [None] * env.num_envs
        self._observation: Any = None
        self._info: dict[str, Any] = {}
        self._results: list[Any] = [None] * env.num_envs
        for name in ("observation_space", "action_space"):
            if getattr(self.envs[0], name) != getattr(env, f"single_{name}"):
                raise ValueError(f"{type(self.envs[0]).__name__} changes the {name}: it may change rewards only")

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin episodes in all environments."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._observation, self._info = _host(observation), _host(info)
        return self._like(observation, [one.reset()[0] for one in self.envs]), info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step all wrappers, and the batch as often as they do.

        Raises:
            RuntimeError: if some of them step their environment and others do not.
        """
        rows = _host(actions)
        for turn, one, action in zip(self._turns, self.envs, rows, strict=True):
            turn.begin(functools.partial(one.step, action))
        steps = 0
        while any(turn.waits for turn in self._turns):
            if not all(turn.waits for turn in self._turns):
                raise RuntimeError("each wrapper of a batch must step its environment as often as the others")
            steps += 1
            answer = self._step_batch(actions)
            for turn in self._turns:
                turn.resume()
        if not steps:
            raise RuntimeError("a wrapper must step its environment")
        return self._collected(*answer)

    def _step_batch(self, like: Any) -> tuple[Any, dict[str, Any], np.ndarray]:
        """Step the batch with the actions handed over; returns its observation, its info and whose episodes ended."""
        given: Any = np.stack([np.asarray(action, dtype=np.float32) for action in self._actions])
        if hasattr(like, "new_tensor"):
            given = like.new_tensor(given)
        observation, reward, terminated, truncated, info = self.env.step(given)
        self._observation, self._info = _host(observation), _host(info)
        rewards, terms, truncs = _host(reward), _host(terminated), _host(truncated)
        ended = terms | truncs
        for k in range(self.num_envs):
            final = ended[k] and "final_obs" in self._info
            shown = row(self._info["final_obs"], k) if final else row(self._observation, k)
            about = self._info["final_info"] if final else self._info
            facts = row_of({name: value for name, value in about.items() if not name.startswith("final_")}, k)
            self._results[k] = (shown, float(rewards[k]), bool(terms[k]), bool(truncs[k]), facts)
        return observation, info, ended

    def _collected(self, observation: Any, info: dict[str, Any], ended: np.ndarray) -> Any:
        """Return what all wrappers say; those whose episodes the batch has ended are reset."""
        found = [turn.result for turn in self._turns]
        terms, truncs = (np.array([bool(each[k]) for each in found]) for k in (2, 3))
        if ((terms | truncs) != ended).any():
            raise RuntimeError("a wrapper for single environments may not end episodes: the batch does so")
        seen = [one.reset()[0] if over else each[0] for one, over, each in zip(self.envs, ended, found, strict=True)]
        rewards = np.array([float(each[1]) for each in found])
        parts = list(observation.values()) if isinstance(observation, dict) else [observation]
        ends: list[Any] = [terms, truncs]
        if hasattr(parts[0], "new_tensor"):
            import torch

            ends = [torch.as_tensor(flags, device=parts[0].device) for flags in ends]
        return self._like(observation, seen), rewards, *ends, info

    def started(self, number: int) -> tuple[Any, dict[str, Any]]:
        """Return what an environment of the batch began its episode with."""
        facts = {name: value for name, value in self._info.items() if not name.startswith("final_")}
        return row(self._observation, number), row_of(facts, number)

    def stepped(self, number: int, action: Any) -> Any:
        """Wait until all have handed over an action, and return what came of this one."""
        self._actions[number] = action
        self._turns[number].pause()
        return self._results[number]

    def _like(self, given: Any, rows: list[Any]) -> Any:
        """Return rows as a batch of the same kind as another, arrays or tensors."""
        if isinstance(given, dict):
            return {name: self._like(part, [each[name] for each in rows]) for name, part in given.items()}
        together = np.stack(rows)
        return given.new_tensor(together) if hasattr(given, "new_tensor") else together.astype(given.dtype)


def _host(values: Any) -> Any:
    """Return tensors as arrays, in dicts too."""
    if isinstance(values, dict):
        return {name: _host(value) for name, value in values.items()}
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values
