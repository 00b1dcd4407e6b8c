"""Particles that are held: what moves them, and the forces that takes."""
