"""Small trained policies as files of plain arrays: they act with NumPy alone, and are read without pickle."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pbd_gym.envs.tools.named_env import check_named_env
from pbd_gym.runtime.files import read_arrays, replacing
from pbd_gym.training.agents.other_packages import MODULES, check_registered, modules_of
from pbd_gym.training.agents.pointing import HAND, Pointing, check_pointing
from pbd_gym.training.settings.algorithms import Activation
from pbd_gym.training.symmetry.canonical import Canonical, check_canonical

KIND = "a policy"
_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0.0),
}
MANY = 20_000
"""Number of weights of a layer above which they are rounded to half precision, which halves files: success changes by a
point.
"""
CANONICAL, POINTING = "canonical_", "pointing_"
"""Prefixes of a file's arrays for the canonical images, and for the pointing scheme."""
SHIPPED = Path(__file__).parents[1] / "checkpoints"
"""Folder of the bundled policies."""


def _rounded(weight: np.ndarray) -> np.ndarray:
    """Return the weights of a layer, rounded if there are many."""
    return weight.astype(np.float16).astype(np.float32) if weight.size > MANY else weight


@dataclass(frozen=True)
class MLPPolicy:
    """A perceptron that sees standardised observations.

    Layer k is ``weights[k] @ x + biases[k]``; the action is the last one, or that of the hands it points, clipped to
    [-1, 1].
    """

    env_id: str
    """Environment it was trained on."""
    env_kwargs: dict[str, Any]
    """Arguments of that environment."""
    weights: tuple[np.ndarray, ...]
    """One matrix per layer, shape (outputs, inputs), float32; of more than :data:`MANY` numbers rounded to float16."""
    biases: tuple[np.ndarray, ...]
    """One vector per layer, shape (outputs,), float32."""
    mean: np.ndarray
    """Subtracted from an observation, shape (size,), float32."""
    spread: np.ndarray
    """Divisor of the difference, shape (size,), float32."""
    limit: float = np.inf
    """Limit to which the quotient is clipped, in both directions."""
    normalized_performance: float = float("nan")
    """Mean over unseen episodes."""
    success_rate: float = float("nan")
    """Share of unseen episodes that ended in success."""
    activation: Activation = "tanh"
    """Activation between its layers."""
    canonical: Canonical | None = None
    """Images that it sees and acts in; None if it sees the observations themselves."""
    pointing: Pointing | None = None
    """Meaning of its outputs if hands point; None if they are the action."""

    def __post_init__(self) -> None:
        # As stored in files: otherwise a policy would be judged by actions other than those of its file.
        object.__setattr__(self, "weights", tuple(_rounded(weight) for weight in self.weights))

    @property
    def frame_stack(self) -> int:
        """Number of successive observations it is shown: one."""
        return 1

    @property
    def observation_size(self) -> int:
        """Number of values of an observation; the first layer of an agent in canonical images sees others."""
        return len(self.mean) if self.canonical is None else int(self.canonical.seen_index.shape[1])

    @property
    def action_size(self) -> int:
        """Number of values of an action; hands that point are told by more outputs."""
        return len(self.biases[-1]) if self.pointing is None else HAND * len(self.pointing.hands)

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        """Return actions, shape (..., actions), float32, for observations of shape (..., size)."""
        if self.canonical is None:
            return self._act(observation)
        chosen = self.canonical.choose(observation)
        return self.canonical.actions_back(self._act(self.canonical.observations(observation, chosen)), chosen)

    def _act(self, observation: np.ndarray) -> np.ndarray:
        """Return the actions for its input, as :meth:`__call__` does."""
        # In double precision: how a library adds up differs between processors, and is rounded away in the end.
        x = np.clip((np.asarray(observation, dtype=np.float64) - self.mean) / self.spread, -self.limit, self.limit)
        between = _ACTIVATIONS[self.activation]
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = (between(x) if k else x) @ weight.T + bias
        if self.pointing is not None:
            x = self.pointing.actions(observation, x)
        action: np.ndarray = np.clip(x, -1.0, 1.0).astype(np.float32)
        return action

    def save(self, path: Path) -> None:
        """Write the policy to a file NAME.npz; its folder is created."""
        arrays: dict[str, Any] = {
            f"weight{k}": weight.astype(np.float16) if weight.size > MANY else weight
            for k, weight in enumerate(self.weights)
        }
        arrays |= {f"bias{k}": bias for k, bias in enumerate(self.biases)}
        for prefix, part in ((CANONICAL, self.canonical), (POINTING, self.pointing)):
            if part is not None:
                arrays |= {prefix + name: array for name, array in vars(part).items()}
        about = {
            "env_id": self.env_id, "env_kwargs": self.env_kwargs, "limit": self.limit, "activation": self.activation,
            "normalized_performance": self.normalized_performance, "success_rate": self.success_rate,
            **modules_of(self.env_id),
        }  # fmt: skip
        with replacing(path) as file:
            np.savez_compressed(file, about=np.array(json.dumps(about)), mean=self.mean, spread=self.spread, **arrays)


def load_policy(path: Path) -> MLPPolicy:
    """Return the policy in a file that :meth:`MLPPolicy.save` wrote. Nothing in the file can run code.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is anything else, is damaged, or names an unknown environment or argument; see
            :func:`pbd_gym.envs.tools.named_env.check_named_env`. An id of another package is not known before the
            module that registers it is imported; the message says how.
    """
    arrays = read_arrays(path, KIND)
    try:
        about = json.loads(str(arrays.pop("about", None)))
        if not isinstance(about, dict):
            raise ValueError("it does not say what it was trained on")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not {KIND}: {error}") from error
    check_registered(path, about)
    try:
        about.pop(MODULES, None)
        check_named_env(about.get("env_id"), about.get("env_kwargs"))
        numbers: dict[str, Any] = {
            name: float(about.pop(name)) for name in ("limit", "normalized_performance", "success_rate")
        }
        layers = range(sum(name.startswith("weight") for name in arrays))
        weights, biases = (tuple(arrays.pop(f"{name}{k}") for k in layers) for name in ("weight", "bias"))
        mean, spread = arrays.pop("mean"), arrays.pop("spread")
        canonical, pointing = (_part(arrays, *of) for of in ((CANONICAL, Canonical), (POINTING, Pointing)))
        policy = MLPPolicy(
            weights=weights, biases=biases, mean=mean, spread=spread, canonical=canonical, pointing=pointing,
            **numbers, **about,
        )  # fmt: skip
        if arrays:
            raise ValueError(f"it holds an array {next(iter(arrays))!r} too")
        _check_layers(policy)
    except KeyError as error:
        raise ValueError(f"{path} is not {KIND}: it lacks {error}") from error
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is not {KIND}: {error}") from error
    return policy


def _part(arrays: dict[str, np.ndarray], prefix: str, kind: Any) -> Any:
    """Extract the arrays whose names have a prefix, and return the object built from them; None if there are none."""
    found = {name.removeprefix(prefix): arrays.pop(name) for name in list(arrays) if name.startswith(prefix)}
    return kind(**found) if found else None


def _check_layers(policy: MLPPolicy) -> None:
    """Check that the layers fit together.

    Raises:
        ValueError: for an array whose shape or dtype does not fit the layer before it, or that is not finite.
    """
    size = len(np.atleast_1d(policy.mean))
    expected: dict[str, tuple[np.ndarray, tuple[int, ...]]] = {
        "mean": (policy.mean, (size,)),
        "spread": (policy.spread, (size,)),
    }
    for k, (weight, bias) in enumerate(zip(policy.weights, policy.biases, strict=True)):
        outputs = len(np.atleast_1d(bias))
        expected |= {f"weight{k}": (weight, (outputs, size)), f"bias{k}": (bias, (outputs,))}
        size = outputs
    if not policy.weights:
        raise ValueError("it has no layers")
    if policy.activation not in _ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(_ACTIVATIONS)}, got {policy.activation!r}")
    for name, (array, shape) in expected.items():
        if array.shape != shape or array.dtype.kind != "f" or not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite numbers of shape {shape}, got {array.dtype} {array.shape}")
    if policy.pointing is not None:
        size = check_pointing(policy.pointing, len(policy.mean), size)
    if policy.canonical is not None:
        check_canonical(policy.canonical, len(policy.mean), size)
    if not (policy.spread > 0.0).all() or not policy.limit > 0.0:
        raise ValueError("spread and limit must be above zero")


def shipped_ids() -> list[str]:
    """Return the ids that have a bundled policy."""
    return sorted(path.stem for path in SHIPPED.glob("*.npz"))


def pixel_ids() -> list[str]:
    """Return the ids with a bundled policy that sees pictures."""
    return sorted(path.parent.name for path in SHIPPED.glob("pixels/*/model.zip"))


def find_pixel_policy(env_id: str) -> Path:
    """Return the file of an id's bundled policy that sees pictures; its run.json is beside it.

    Raises:
        ValueError: for an id without one.
    """
    if env_id not in pixel_ids():
        raise ValueError(f"there is no bundled policy that sees pictures for {env_id!r}, only for {pixel_ids()}")
    return SHIPPED / "pixels" / env_id / "model.zip"


def find_policy(name: str) -> MLPPolicy:
    """Return the bundled policy of an id, or the one in a file NAME.npz.

    Raises:
        ValueError: for an id without one, or a file without a policy.
        FileNotFoundError: if there is no such file.
    """
    if name.endswith(".npz"):
        return load_policy(Path(name))
    if name not in shipped_ids():
        raise ValueError(
            f"there is no bundled policy for {name!r}, only for {', '.join(shipped_ids())}; "
            "python -m pbd_gym.training.export makes a file NAME.npz of a checkpoint"
        )
    return load_policy(SHIPPED / f"{name}.npz")
