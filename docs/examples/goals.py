"""Goals for hindsight experience replay: what an episode would have been paid, had its end been the goal."""

import gymnasium as gym
import numpy as np

import pbd_gym  # noqa: F401  (registers the ids)

env = gym.make("PBDCloth-v0", obs_mode="goal", max_episode_steps=20)
env.action_space.seed(0)
observation, _ = env.reset(seed=0)
achieved = []
for _ in range(20):
    observation, reward, *_, info = env.step(env.action_space.sample())
    achieved.append(observation["achieved_goal"])
hindsight = np.repeat(achieved[-1:], len(achieved), axis=0)
rewards = env.unwrapped.compute_reward(np.array(achieved), hindsight, {})
print(f"paid {reward}; with the end as the goal {rewards.astype(int).tolist()}")
env.close()
