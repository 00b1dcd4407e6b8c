"""What a scripted expert does, as data for imitation: observations, actions, and how well it went."""

import gymnasium as gym
import numpy as np

import pbd_gym  # noqa: F401  (registers the ids)

envs = gym.make_vec("PBDRopeStraighten-v0", num_envs=16, starts=16)
observations, infos = envs.reset(seed=0)
seen, done = [], []
for _ in range(75):
    actions = envs.unwrapped.expert()
    seen.append(observations)
    done.append(actions)
    observations, rewards, terminated, truncated, infos = envs.step(actions)
print(f"observations {np.shape(seen)}, actions {np.shape(done)}")
print(f"normalised performance {infos['normalized_performance'].mean():.2f}, success {infos['is_success'].mean():.0%}")
envs.close()
