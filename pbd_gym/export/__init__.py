"""Export of simulations to files for other programs: OBJ, USD and rerun recordings."""

from pbd_gym.export.files import SUFFIXES, trajectory_suffix, write_trajectory
from pbd_gym.export.trajectory import Part, Trajectory

__all__ = ["SUFFIXES", "Part", "Trajectory", "trajectory_suffix", "write_trajectory"]
