"""Domain randomisation: every episode draws its own cloth, and infos tell which."""

import copy

import gymnasium as gym

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.envs import LogUniform

ranges = {"size": (0.8, 1.2), "stiffness": LogUniform(0.2, 5.0)}
env = gym.make("PBDCloth-v0", randomize=ranges)
for seed in range(3):
    _, info = env.reset(seed=seed)
    print(f"size {info['parameters/size']:.3f}, stiffness times {info['parameters/stiffness']:.2f}")
twin = copy.deepcopy(env)  # in the middle of an episode, too
env.action_space.seed(0)
action = env.action_space.sample()
assert (env.step(action)[0] == twin.step(action)[0]).all()
env.reset(options={"parameters": {"stiffness": 1.0}})  # fixed, for evaluation
env.close()
