"""Training runs: their files, evaluations, interruptions, and the agents that are read from them."""
