"""Fluids of particles, what their sums are made of, and diffusion; the numerics of SPH are in ``pbd_gym/demos/sph``."""
