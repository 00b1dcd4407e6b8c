"""Symmetries of tasks: the places of vectors in a row of observations, and the effect of reflections on it."""
