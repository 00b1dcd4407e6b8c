"""Agents: small policies of arrays, which need only NumPy, and the networks that are trained."""
