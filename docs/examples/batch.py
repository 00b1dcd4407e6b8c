"""A batch of environments is one object: one call steps all of them, and episodes begin anew by themselves."""

import gymnasium as gym
import numpy as np

import pbd_gym  # noqa: F401  (registers the ids)

envs = gym.make_vec("PBDCloth-v0", num_envs=16, max_episode_steps=25)
envs.action_space.seed(0)
observations, infos = envs.reset(seed=0)
returns, finished = np.zeros(16), []
for _ in range(60):
    observations, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
    returns += rewards
    over = terminated | truncated
    finished += returns[over].tolist()
    returns[over] = 0.0
print(f"{len(finished)} episodes, mean return {np.mean(finished):.2f}")
envs.close()
