"""One environment, as every Gymnasium program uses it: an episode of random actions."""

import gymnasium as gym

env = gym.make("pbd_gym:PBDCloth-v0")  # the part before the colon is imported, and registers the ids
env.action_space.seed(0)
observation, info = env.reset(seed=0)
total, over = 0.0, False
while not over:
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    total += reward
    over = terminated or truncated
print(f"return {total:.1f}, success: {info['is_success']}")
terms = {name: round(value, 3) for name, value in info.items() if name.startswith("reward_terms/")}
print(f"the last reward was the sum of {terms}")
env.close()
