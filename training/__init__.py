"""Learning: Stable-Baselines3 scripts, tuned numbers per id, evaluation on unseen seeds, curves and recordings."""

from typing import TYPE_CHECKING

from pbd_gym.runtime.lazy import lazy_names

if TYPE_CHECKING:
    from pbd_gym.training import tuned as tuned
    from pbd_gym.training.auxiliary_loss import StatePrediction as StatePrediction
    from pbd_gym.training.datasets import read_dataset as read_dataset
    from pbd_gym.training.datasets import write_dataset as write_dataset
    from pbd_gym.training.policies import MLPPolicy as MLPPolicy
    from pbd_gym.training.policies import find_policy as find_policy
    from pbd_gym.training.policies import load_policy as load_policy

_HOMES = {
    "MLPPolicy": "pbd_gym.training.policies",
    "StatePrediction": "pbd_gym.training.auxiliary_loss",
    "find_policy": "pbd_gym.training.policies",
    "load_policy": "pbd_gym.training.policies",
    "read_dataset": "pbd_gym.training.datasets",
    "tuned": "pbd_gym.training.tuned",
    "write_dataset": "pbd_gym.training.datasets",
}

__all__ = [*_HOMES]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
