"""The RLlib sample. What needs Ray runs where Ray is: it pins a Gymnasium of its own, so that is not in `.venv`."""

import json
import math
from pathlib import Path

import pytest

from pbd_gym.training.rllib_sample import main, make


def test_an_env_runner_gets_one_batch() -> None:
    """Guards the two ways in which RLlib asks; it counts on a reset in the step after the end of an episode."""
    context = {"env_id": "PBDRope-v0", "max_episode_steps": 3}
    one, batch = make(context), make({**context, "num_envs": 4})
    assert context == {"env_id": "PBDRope-v0", "max_episode_steps": 3}
    assert one.observation_space == batch.single_observation_space
    assert batch.num_envs == 4
    assert batch.metadata["autoreset_mode"].value == "NextStep"


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_it_trains(tmp_path: Path) -> None:
    pytest.importorskip("ray.rllib")
    returns = main(
        ["PBDRope-v0", "--iterations", "3", "--env-runners", "1", "--num-envs", "16", "--out", str(tmp_path)]
    )
    assert any(math.isfinite(found) for found in returns)
    assert len(json.loads((tmp_path / "returns.json").read_text())) == 3
    assert (tmp_path / "checkpoint").is_dir()
