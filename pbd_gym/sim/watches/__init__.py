"""Conditions that a solver monitors while it steps, and warns of."""
