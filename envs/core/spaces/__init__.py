"""What agents see and do: actions, observations and pictures."""
