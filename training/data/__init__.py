"""Demonstrations, and the datasets they are written to: Minari's and LeRobot's."""
