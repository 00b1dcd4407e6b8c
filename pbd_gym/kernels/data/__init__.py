"""Structs that kernels share: options, model, state, and what a launch does."""
