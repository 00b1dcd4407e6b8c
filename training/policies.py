"""Small trained policies as files of plain arrays: they act with NumPy alone, and need no pickle to be read."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

SHIPPED = Path(__file__).parent / "checkpoints"
"""Policies that come with the package."""


@dataclass(frozen=True)
class MLPPolicy:
    """A perceptron with tanh between its layers, which sees standardised observations.

    Layer k is ``weights[k] @ x + biases[k]``; the action is the last one, clipped to [-1, 1].
    """

    env_id: str
    """Environment that it was trained on."""
    env_kwargs: dict[str, Any]
    """Arguments of that environment."""
    weights: tuple[np.ndarray, ...]
    """One matrix per layer, shape (outputs, inputs), float32."""
    biases: tuple[np.ndarray, ...]
    """One vector per layer, shape (outputs,), float32."""
    mean: np.ndarray
    """What is subtracted from an observation, shape (size,), float32."""
    spread: np.ndarray
    """What it is then divided by, shape (size,), float32."""
    limit: float = np.inf
    """What it is then clipped to, either way."""
    normalized_performance: float = float("nan")
    """Its mean over unseen episodes."""
    success_rate: float = float("nan")
    """Likewise."""

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        """Return actions, shape (..., actions), float32, for observations of shape (..., size)."""
        x = np.clip((np.asarray(observation, dtype=np.float32) - self.mean) / self.spread, -self.limit, self.limit)
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = (np.tanh(x) if k else x) @ weight.T + bias
        action: np.ndarray = np.clip(x, -1.0, 1.0).astype(np.float32)
        return action

    def save(self, path: Path) -> None:
        """Write it to a file NAME.npz; its folder is made."""
        arrays: dict[str, Any] = {f"weight{k}": weight for k, weight in enumerate(self.weights)}
        arrays |= {f"bias{k}": bias for k, bias in enumerate(self.biases)}
        about = {
            "env_id": self.env_id, "env_kwargs": self.env_kwargs, "limit": self.limit,
            "normalized_performance": self.normalized_performance, "success_rate": self.success_rate,
        }  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, about=np.array(json.dumps(about)), mean=self.mean, spread=self.spread, **arrays)


def load_policy(path: Path) -> MLPPolicy:
    """Return the policy in a file that :meth:`MLPPolicy.save` wrote.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it holds something else.
    """
    try:
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = dict(file)
    except zipfile.BadZipFile as error:  # which is no ValueError: a file that was cut off, say
        raise ValueError(f"{path} holds no policy: {error}") from error
    if not {"about", "mean", "spread", "weight0"} <= arrays.keys():
        raise ValueError(f"{path} holds no policy")
    layers = range(sum(name.startswith("weight") for name in arrays))
    return MLPPolicy(
        weights=tuple(arrays[f"weight{k}"] for k in layers),
        biases=tuple(arrays[f"bias{k}"] for k in layers),
        mean=arrays["mean"],
        spread=arrays["spread"],
        **json.loads(str(arrays["about"])),
    )


def shipped_ids() -> list[str]:
    """Return the ids that a policy comes with the package for."""
    return sorted(path.stem for path in SHIPPED.glob("*.npz"))


def find_policy(name: str) -> MLPPolicy:
    """Return the policy that comes with the package for an id, or the one in a file NAME.npz.

    Raises:
        ValueError: for an id that there is none for.
        FileNotFoundError: for a file that is not there.
    """
    if name.endswith(".npz"):
        return load_policy(Path(name))
    if name not in shipped_ids():
        raise ValueError(
            f"no trained policy for {name!r} comes with the package, but for {', '.join(shipped_ids())}; "
            "NAME.npz is one that python -m pbd_gym.training.export has made of a checkpoint"
        )
    return load_policy(SHIPPED / f"{name}.npz")
