"""Tasks with towels and T-shirts."""
