"""Roots and minima by Newton's method."""
