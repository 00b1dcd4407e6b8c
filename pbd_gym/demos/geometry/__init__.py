"""Distances, coordinates and neighbours: the geometry behind contacts."""
