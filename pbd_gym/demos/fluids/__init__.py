"""Particle fluids in the plane and in the engine, the sums they are made of, and diffusion.

The solvers share :class:`pbd_gym.demos.fluids.fluid.Fluid`, which holds all that they have in common, and differ in
``step``. The fluids of the engine (three dimensions, batched, coupled with everything) are separate.
"""
