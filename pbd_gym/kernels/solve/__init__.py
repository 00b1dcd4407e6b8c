"""Projection of constraints: sweeps, lines, tethers and clusters."""
