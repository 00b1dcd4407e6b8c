"""Foundations: buffers, launches, ranges, presets, checks, and the cache of start states."""
