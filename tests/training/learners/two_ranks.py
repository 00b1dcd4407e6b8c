"""Run by torchrun in test_torch_ppo.py: learns a little in every process and writes down what each of them has."""

import sys
from pathlib import Path

import torch

from pbd_gym.training.learners.ranks import joined
from pbd_gym.training.learners.torch_batches import make
from pbd_gym.training.learners.torch_ppo import Trainer
from pbd_gym.training.learners.torch_sac import SoftTrainer
from pbd_gym.training.settings.algorithms import PPOSettings, SACSettings

SOFT = SACSettings(
    512, num_envs=4, batch_size=16, learning_starts=128, gradient_steps=1, net_arch=(16,), standardise=True
)

if __name__ == "__main__":
    torch.set_num_threads(1)
    settings = PPOSettings(512, num_envs=4, n_steps=16, batch_size=16, n_epochs=2, standardise=True)
    with joined("cpu") as (ranks, device):
        env = make("PBDRope-v0", settings.num_envs, device, max_episode_steps=10, threads=1)
        trainer = Trainer(env, settings, 0, device, ranks)
        first, before = trainer.observation, [p.detach().clone() for p in trainer.parameters]
        updates = len(list(trainer.learn()))
        moved = max(float((p - q).abs().max()) for p, q in zip(trainer.parameters, before, strict=True))
        ranks.check_equal(trainer.agent)
        found = {"first": first, "agent": trainer.agent.state_dict(), "updates": updates, "moved": moved}
        soft = SoftTrainer(env, SOFT, 0, device, ranks)
        updates = len(list(soft.learn()))
        ranks.check_equal(soft.agent)
        found |= {"soft": soft.agent.state_dict(), "soft updates": updates, "soft steps": soft.steps}
        torch.save(found, Path(sys.argv[1]) / f"{ranks.rank}.pt")
