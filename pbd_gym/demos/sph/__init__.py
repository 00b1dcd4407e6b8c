"""Smoothed-particle hydrodynamics (SPH) in the plane: kernels, approximations, and four fluid solvers. NumPy, float64.

The solvers share :class:`pbd_gym.demos.sph.fluid.Fluid`, which has all that they have in common, and differ in
``step``. The fluids of the engine (three dimensions, batched, coupled with everything) are another matter.
"""
