"""Policy gradients on tensors: observations and rewards stay on the device of the physics."""

import gymnasium as gym
import torch  # noqa: TID253

import pbd_gym  # noqa: F401  (registers the ids)

torch.manual_seed(0)
envs = gym.make_vec("PBDCloth-v0", num_envs=16, output="torch", reward_mode="delta", autoreset_mode="SameStep")
policy = torch.nn.Linear(envs.single_observation_space.shape[0], envs.single_action_space.shape[0])
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
observation, _ = envs.reset(seed=0)
for _ in range(3):
    logs, rewards = [], []
    for _ in range(10):
        choice = torch.distributions.Normal(policy(observation), 0.3)
        action = choice.sample()
        observation, reward, *_ = envs.step(action)
        logs.append(choice.log_prob(action).sum(dim=1))
        rewards.append(reward)
    gains = torch.stack(rewards)
    loss = -(torch.stack(logs) * (gains - gains.mean())).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"mean reward {gains.mean():.4f}")
envs.close()
