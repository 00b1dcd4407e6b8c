"""Pictures as observations, without a display: colour and depth of every environment, and a file to look at."""

from pathlib import Path

import gymnasium as gym

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.rendering import save_png, tile

envs = gym.make_vec("PBDCloth-v0", num_envs=4, obs_mode="rgb", pixels={"size": 64})
observations, _ = envs.reset(seed=0)
print(f"{observations.shape} {observations.dtype}")
path = Path("pixels.png")
save_png(path, tile(list(observations)))
print(f"{path}: {path.stat().st_size} bytes")
envs.close()
