"""Tests of training/settings."""
