"""Learning: Stable-Baselines3 scripts, tuned numbers per id, evaluation on unseen seeds, curves and recordings."""
