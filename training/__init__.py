"""Learning: Stable-Baselines3 scripts, tuned numbers per id, evaluation on unseen seeds, curves and recordings."""

from typing import TYPE_CHECKING

from pbd_gym.runtime.lazy import public_names

if TYPE_CHECKING:
    from pbd_gym.training.agents.auxiliary_loss import StatePrediction as StatePrediction
    from pbd_gym.training.agents.policies import MLPPolicy as MLPPolicy
    from pbd_gym.training.agents.policies import find_policy as find_policy
    from pbd_gym.training.agents.policies import load_policy as load_policy
    from pbd_gym.training.data.datasets import read_dataset as read_dataset
    from pbd_gym.training.data.datasets import write_dataset as write_dataset
    from pbd_gym.training.settings import tuned as tuned

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(__name__)
