"""Scenes: the particles, bodies, constraints and colliders of one environment, in NumPy, before any device."""
