"""Integrators, pendulums, springs, particles and rigid bodies in motion."""
