"""Phases of a control step, by which a launch says what it does."""

import enum


class Phase(enum.IntFlag):
    """Parts of a control step, in the order in which they run.

    One launch usually does all of them. For one huge environment the launch plan
    (:mod:`pbd_gym.sim.launch_plan`) gives each launch a few, so that the end of a launch takes the place of a barrier.
    """

    GRIPS = enum.auto()
    """Held particles take the velocity of their grip; flags of the last step are cleared;
    tethers follow what is held now."""
    PREDICT = enum.auto()
    """Positions under gravity at the end of the first substep."""
    PLACE = enum.auto()
    """Poses of moving colliders at the end of a substep."""
    TETHERS = enum.auto()
    """Tethers to what is held or pinned, before the sweep of each iteration."""
    FLUID_SEARCH = enum.auto()
    """Neighbours and walls of a fluid, from the positions predicted; needs one block for each group, as do all of its
    phases."""
    SWEEP = enum.auto()
    """Projection of all constraints, once per iteration."""
    CORRECT = enum.auto()
    """Corrections that a Jacobi sweep has gathered, and Chebyshev acceleration."""
    FLUID_DENSITY = enum.auto()
    """Density constraints of a fluid."""
    PARTICLE_CONTACTS = enum.auto()
    """Contacts between particles; needs one block for each group."""
    COLLIDER_CONTACTS = enum.auto()
    """Contacts of particles with colliders."""
    WIND = enum.auto()
    """Drag of the air on triangles at the end of a substep; that at the start of the first is part of GRIPS."""
    FLUID_VELOCITY = enum.auto()
    """Friction, viscosity and the like of a fluid."""
    ADVANCE = enum.auto()
    """Velocities at the end of a substep, and the prediction for the next."""
    FINISH = enum.auto()
    """Velocities at the end of the step, and a check for divergence."""
    ARRIVE = enum.auto()
    """Colliders and held particles exactly where their motion ends."""
    ALL = (
        GRIPS | PREDICT | PLACE | TETHERS | FLUID_SEARCH | SWEEP | CORRECT | FLUID_DENSITY | PARTICLE_CONTACTS
        | COLLIDER_CONTACTS | WIND | FLUID_VELOCITY | ADVANCE | FINISH | ARRIVE
    )  # fmt: skip
