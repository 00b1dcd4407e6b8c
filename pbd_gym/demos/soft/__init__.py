"""Soft bodies and the ingredients of elasticity: strains, materials, shape matching."""
