"""Planning by trying: sixteen futures of one present, the best of which is taken."""

import gymnasium as gym
import numpy as np

import pbd_gym  # noqa: F401  (registers the ids)

envs = gym.make_vec("PBDCloth-v0", num_envs=16).unwrapped
envs.reset(seed=0)
random = np.random.default_rng(0)
best, performances = 0, []
for _ in range(8):
    envs.branch(np.full(16, best))  # every environment becomes a copy of the best one
    actions = random.uniform(-1.0, 1.0, (16, 6)).astype(np.float32)
    actions[0] = 0.0  # one of them waits
    for _ in range(4):
        infos = envs.step(actions)[4]
    best = int(infos["performance"].argmax())
    performances.append(infos["performance"][best])
print(f"performance after each choice: {np.round(performances, 2)}")
