"""Held particles: their motion, and the forces it takes."""
