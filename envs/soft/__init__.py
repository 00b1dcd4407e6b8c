"""Tasks with soft bodies."""
