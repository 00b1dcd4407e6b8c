"""Tasks with ropes."""
