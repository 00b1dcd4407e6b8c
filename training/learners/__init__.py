"""What learns: PPO in torch, Stable-Baselines3, fits to demonstrations, and what refines them."""
