"""Gymnasium environments: the batched core, its single-environment view, action and observation modes, and tasks."""
