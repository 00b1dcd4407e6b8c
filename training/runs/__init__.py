"""Training runs: their files, evaluations meanwhile, interruptions, and the agents that are read from them."""
