"""Demonstrations, and the datasets that they are written to: Minari's and LeRobot's."""
