"""A checkpoint acts in the window as it does in evaluation, with the frames that it was trained on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from stable_baselines3 import PPO

from pbd_gym.envs.tools.play import Player
from pbd_gym.envs.tools.sb3 import make_sb3_vec_env, stacked
from pbd_gym.training.runs.checkpoint_policy import CheckpointPolicy
from tests.envs.helpers import SMALL


@pytest.mark.parametrize(
    ("frames", "mode", "network"), [(1, "goal", "MultiInputPolicy"), (3, "keypoints", "MlpPolicy")]
)
def test_it_does_what_the_model_does(frames: int, mode: str, network: str, tmp_path: Path) -> None:
    """Step by step beside a stacked batch of one, and again after a reset."""
    kwargs = {**SMALL, "obs_mode": mode, "max_episode_steps": 50}
    env = stacked(make_sb3_vec_env("PBDCloth-v0", 1, **kwargs), frames)
    model = PPO(network, env, n_steps=8, batch_size=8, seed=0, device="cpu")
    model.save(tmp_path / "model.zip")
    about = {"env_id": "PBDCloth-v0", "env_kwargs": kwargs, "settings": {"frame_stack": frames}}
    (tmp_path / "run.json").write_text(json.dumps(about))
    policy = CheckpointPolicy(tmp_path / "model.zip", trust=True)
    player = Player(policy.env_id, 3, (64, 64), policy, **policy.env_kwargs)
    for _ in range(2):
        env.seed(player.seed)
        seen = env.reset()
        for _ in range(4):
            action = model.predict(seen, deterministic=True)[0]
            player.advance(np.zeros(3))
            assert_array_equal(player.demo_recorder.demonstrations.episodes[-1].steps[-1].action, action[0])
            seen = env.step(action)[0]
        player.restart()
    player.close()
    env.close()
