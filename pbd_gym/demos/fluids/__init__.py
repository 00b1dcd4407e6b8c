"""Fluids of particles in the plane and in the engine, what their sums are made of, and diffusion.

The solvers share :class:`pbd_gym.demos.fluids.fluid.Fluid`, which has all that they have in common, and differ in
``step``. The fluids of the engine (three dimensions, batched, coupled with everything) are another matter.
"""
