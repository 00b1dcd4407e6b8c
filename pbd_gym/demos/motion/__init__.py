"""Integrators, pendulums, springs, particles and rigid bodies that move."""
