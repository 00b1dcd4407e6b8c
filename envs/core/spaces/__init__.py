"""Action and observation spaces of agents: actions, observations and pictures."""
