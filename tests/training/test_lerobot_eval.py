"""LeRobot's evaluation of policies on these ids; ``make test-lerobot`` runs this where LeRobot is."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.envs.helpers import SMALL_OF
from tests.training.small_datasets import STEPS, small_env

pytestmark = pytest.mark.filterwarnings("ignore")  # LeRobot's own
NUMBERS = SMALL_OF["PBDClothDrop-v0"] | {"max_episode_steps": STEPS}
PIXELS = {"size": 96}


def imported() -> Any:
    """Return the benchmark, or skip: LeRobot pins a torch of its own, so it is not in ``.venv``."""
    pytest.importorskip("lerobot.envs.factory")
    from pbd_gym.training import lerobot_env

    return lerobot_env


def test_what_policies_see_is_what_datasets_hold() -> None:
    """Guards names, states, pictures, rewards, ends and successes, against a batch of this package."""
    config = imported().PBDGymConfig(task="PBDClothDrop-v0", pixels=PIXELS, env_kwargs=NUMBERS)
    from lerobot.envs.factory import make_env
    from lerobot.envs.utils import preprocess_observation

    envs = make_env(config, n_envs=2)["pbd_gym"][0]
    states, pictures = small_env(2), small_env(2, obs_mode="rgb", pixels=PIXELS)
    options = {"split": "eval"}
    seen, _ = envs.reset(seed=[7, 8])
    state, picture = states.reset(seed=[7, 8], options=options)[0], pictures.reset(seed=[7, 8], options=options)[0]
    assert list(envs.call("_max_episode_steps")) == [STEPS] * 2
    assert envs.envs[0].task_description == envs.call("task_description")[1] == "lay a hanging towel flat on its place"
    for step in range(STEPS):
        found = preprocess_observation(seen)
        assert_array_equal(found["observation.state"].numpy(), state)
        shown = (255.0 * found["observation.images.camera"].permute(0, 2, 3, 1)).round().numpy()
        assert_array_equal(shown, picture)
        action = np.full((2, 8), 0.1 * step, dtype=np.float32)
        seen, reward, terminated, truncated, info = envs.step(action)
        state, expected, *_, infos = states.step(action)
        picture = pictures.step(action)[0]
        assert_array_equal(reward.astype(np.float32), expected.astype(np.float32))
        assert (terminated | truncated).all() == (step == STEPS - 1)
    assert_array_equal(info["final_info"]["is_success"], infos["is_success"])
    assert config.fps == 6 and config.features["action"].shape == (8,)


def test_the_documented_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards `lerobot-eval`, with a policy that has learned nothing."""
    imported()
    evaluate = pytest.importorskip("lerobot.scripts.lerobot_eval")
    words = [
        "--env.discover_packages_path=pbd_gym.training.lerobot_env", "--env.type=pbd_gym", "--env.task=PBDClothDrop-v0",
        f"--env.env_kwargs={json.dumps(NUMBERS)}", f"--env.pixels={json.dumps(PIXELS)}", "--policy.type=sac",
        "--policy.device=cpu", "--policy.push_to_hub=false", "--eval.n_episodes=2", "--eval.batch_size=2",
        f"--output_dir={tmp_path}",
    ]  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["lerobot-eval", *words])
    evaluate.main()
    found = json.loads((tmp_path / "eval_info.json").read_text())["overall"]
    assert found["n_episodes"] == 2 and found["pc_success"] == 0.0 and np.isfinite(found["avg_sum_reward"])
