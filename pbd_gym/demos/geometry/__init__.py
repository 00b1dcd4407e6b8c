"""Distances, coordinates and neighbours: what contacts are found with."""
