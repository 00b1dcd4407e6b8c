"""Trained agents under the interface that Stable-Baselines3's models have, whatever file they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pbd_gym.registry import find
from pbd_gym.runtime.extras import load_optional
from pbd_gym.training.agents.policies import MLPPolicy, find_pixel_policy, find_policy, load_policy
from pbd_gym.training.runs.run_files import NAME

MODELS = ("model.npz", "model.zip")
"""Agents in the folder of a run."""


class LoadedAgent:
    """A trained agent; see :func:`load_agent`.

    Args:
        agent: what was read, a :class:`pbd_gym.training.MLPPolicy` or a checkpoint of Stable-Baselines3.
        name: of the file or the id, for messages.
    """

    def __init__(self, agent: Any, name: str) -> None:
        self.agent, self.name = agent, name
        self.env_id: str = agent.env_id
        """Environment it was trained on."""
        self.env_kwargs: dict[str, Any] = dict(agent.env_kwargs)
        """Arguments of that environment: ``gym.make(agent.env_id, **agent.env_kwargs)``."""
        self.frame_stack: int = agent.frame_stack
        """Observations in a row that it is shown, stacked along the last axis."""

    def __repr__(self) -> str:
        return f"<agent of {self.env_id} from {self.name}>"

    def __call__(self, observation: Any) -> Any:
        """Return the actions without noise for observations; of agents that see several in a row, see :meth:`predict`.

        Raises:
            ValueError: as :meth:`predict`, and for an agent that has to remember what it has seen.
        """
        if self.frame_stack > 1:
            raise ValueError(
                f"{self.name} is shown {self.frame_stack} observations in a row: call predict with a state"
            )
        return self.predict(observation)[0]

    def predict(
        self,
        observation: Any,
        state: tuple[Any, ...] | None = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, tuple[Any, ...] | None]:
        """Return actions for one observation or for those of a batch, as Stable-Baselines3's models do.

        Args:
            observation: of ``env_id`` made with ``env_kwargs``, shape (...) or (num_envs, ...), an array, a tensor, or
                a dict of them.
            state: what the previous call returned; None when episodes begin.
            episode_start: whether an episode has just begun, bool, shape () or (num_envs,); None for no.
            deterministic: whether to return the mean action. Files of arrays have nothing else; a ``model.zip``
                samples if this is False.

        Returns:
            Actions from -1 to 1, float32, shape (size,) or (num_envs, size), a tensor of the same device where
            observations are tensors. And the state for the next call: the observations before, for an agent that is
            shown several in a row, else what was given.

        Raises:
            ValueError: for observations of another shape than the agent was trained on.
        """
        arrays, device = _arrays(observation)
        many = self._is_batch(arrays)
        if not many:
            arrays = _map(lambda part: part[None], arrays)
        if self.frame_stack > 1:
            begins = None if episode_start is None else np.atleast_1d(_array(episode_start).astype(bool))
            arrays, state = _remembered(arrays, state, begins, self.frame_stack)
        actions = self._act(arrays, deterministic)
        found: Any = actions if many else actions[0]
        if device is not None:
            import torch

            found = torch.as_tensor(found, device=device)
        return found, state

    def _act(self, observations: Any, deterministic: bool) -> np.ndarray:
        """Return actions for a batch of arrays, shape (num_envs, size), float32."""
        if isinstance(self.agent, MLPPolicy):
            return self.agent(observations)
        found: np.ndarray = self.agent.policy.predict(observations, deterministic=deterministic)[0]
        return found

    def _is_batch(self, observation: Any) -> bool:
        """Return whether there is one observation for each environment of a batch.

        Raises:
            ValueError: for another shape than that of one observation, or of a batch.
        """
        expected = self._shape()
        given = _map(np.shape, observation)
        if given == expected:
            return False
        parts, wanted = (x if isinstance(x, dict) else {"": x} for x in (given, expected))
        if parts.keys() == wanted.keys() and all(shape[1:] == wanted[name] for name, shape in parts.items()):
            return True
        raise ValueError(
            f"{self.name} was trained on observations of {self.env_id} of shape {expected}, or a batch of them, got "
            f"{given}; make the environment with {self.env_kwargs}"
        )

    def _shape(self) -> Any:
        """Return the shape of one observation, or those of its parts."""
        if isinstance(self.agent, MLPPolicy):
            return (self.agent.observation_size,)
        space, frames = self.agent.observation_space, self.frame_stack
        shapes = {name: part.shape for name, part in getattr(space, "spaces", {"": space}).items()}
        one = {name: (*shape[:-1], shape[-1] // frames) for name, shape in shapes.items()}
        return one if hasattr(space, "spaces") else one[""]


def load_agent(name: str | Path, *, pixels: bool = False, trust: bool = False) -> LoadedAgent:
    """Return a trained agent.

    Args:
        name: an id with a bundled agent, such as ``"PBDClothFold-v0"``; or a file or folder of your own: ``model.npz``,
            ``model.zip`` with its ``run.json`` beside or above it, or the folder of a run. Files that end in ``.npz``
            need NumPy alone, others the extra ``train``.
        pixels: the bundled agent that sees pictures.
        trust: whether to read a ``model.zip`` by unpickling it, which runs any code that it holds. Those of this
            version's ``pbd-gym train`` need none.

    Raises:
        FileNotFoundError: if there is no such file, or no agent in a folder.
        ValueError: for an id without a bundled agent, or a file that is something else.
        ImportError: without Stable-Baselines3, for a ``model.zip``.
    """
    path = Path(name)
    if pixels:
        path = find_pixel_policy(str(name))
    elif path.is_dir():
        path = _model_in(path)
    elif path.suffix not in (".npz", ".zip"):
        if path.name != str(name):
            raise FileNotFoundError(f"there is no file or folder {name}")
        return LoadedAgent(find_policy(find(str(name)).id), str(name))
    return LoadedAgent(read_agent(path, trust), str(name))


def read_agent(path: Path, trust: bool = False) -> Any:
    """Read what ``pbd-gym train`` has left: ``model.npz``, or ``model.zip`` of Stable-Baselines3.

    Args:
        path: of the file.
        trust: see :func:`pbd_gym.training.runs.checkpoint.load`; files of arrays need none.

    Returns:
        A :class:`pbd_gym.training.MLPPolicy` or a :class:`pbd_gym.training.runs.checkpoint.Checkpoint`.

    Raises:
        FileNotFoundError, ValueError: as :func:`pbd_gym.training.runs.checkpoint.load` and
            :func:`pbd_gym.training.agents.policies.load_policy`.
        ImportError: without Stable-Baselines3, for a ``model.zip``.
    """
    if path.suffix == ".npz":
        return load_policy(path)
    load_optional("stable_baselines3", f"to read {path}", "train", "stable-baselines3")
    from pbd_gym.training.runs import checkpoint

    return checkpoint.load(path, trust)


def _model_in(folder: Path) -> Path:
    """Return the file of the agent in the folder of a run.

    Raises:
        FileNotFoundError: if there is none.
    """
    found = next((folder / name for name in MODELS if (folder / name).is_file()), None)
    if found is None:
        begun = ": its training has not come to an agent" if (folder / NAME).is_file() else ""
        raise FileNotFoundError(f"there is neither {' nor '.join(MODELS)} in {folder}{begun}")
    return found


def _map(change: Any, observation: Any) -> Any:
    """Return an observation with each of its parts changed."""
    if isinstance(observation, dict):
        return {name: change(part) for name, part in observation.items()}
    return change(observation)


def _array(values: Any) -> np.ndarray:
    """Return an array, of a tensor too: on any device, of bfloat16, with gradients."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = (values.float() if values.dtype.is_floating_point else values).numpy()
    return np.asarray(values)


def _arrays(observation: Any) -> tuple[Any, Any]:
    """Return an observation as arrays, and the device of its tensors; None where there are none."""
    parts = observation.values() if isinstance(observation, dict) else (observation,)
    device = next((part.device for part in parts if hasattr(part, "detach")), None)
    return _map(_array, observation), device


def _remembered(
    observation: Any, state: tuple[Any, ...] | None, begins: np.ndarray | None, frames: int
) -> tuple[Any, tuple[Any, ...]]:
    """Return the last observations beside one another, and what to remember of them.

    Args:
        observation: of a batch.
        state: the ones before, oldest first; None for none.
        begins: whose episodes begin, shape (num_envs,); what was before them is zeros, as in training.
        frames: how many the agent is shown.
    """
    before = state or tuple(_map(np.zeros_like, observation) for _ in range(frames - 1))
    if begins is not None:

        def forget(part: np.ndarray) -> np.ndarray:
            return np.where(begins.reshape(-1, *[1] * (part.ndim - 1)), np.zeros_like(part), part)

        before = tuple(_map(forget, each) for each in before)
    seen = (*before, observation)
    if isinstance(observation, dict):
        shown: Any = {name: np.concatenate([each[name] for each in seen], axis=-1) for name in observation}
    else:
        shown = np.concatenate(seen, axis=-1)
    return shown, seen[1:]
