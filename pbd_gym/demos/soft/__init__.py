"""Soft bodies and what elasticity is made of: strains, materials, shape matching."""
