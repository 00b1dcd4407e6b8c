"""Imitation: clones of demonstrations or of an agent that sees more, and their refinement by PPO."""
