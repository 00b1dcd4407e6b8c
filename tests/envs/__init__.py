"""Tests of pbd_gym.envs. Ruff takes `.helpers` here for the banned package `envs` at the top: hence the noqa marks."""
