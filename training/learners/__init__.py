"""Learners: PPO in torch, Stable-Baselines3, fits to demonstrations, and their refinement."""
