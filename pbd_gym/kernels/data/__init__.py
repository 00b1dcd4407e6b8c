"""Structs that kernels share: options, model, state, and the numbers of a launch."""
