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
    RIGID_FIND = enum.auto()
    """Rigid bodies are found in their particles."""
    PLACE = enum.auto()
    """Poses of moving colliders at the end of a substep."""
    RIGID_TURN = enum.auto()
    """Free motion of rigid bodies, from the positions predicted."""
    SUPPORTS = enum.auto()
    """What carries the particles of lines, before the sweep of each iteration."""
    TETHERS = enum.auto()
    """Tethers to what is held or pinned, before the sweep of each iteration."""
    FLUID_SEARCH = enum.auto()
    """Neighbours and walls of a fluid, from the positions predicted; needs one block for each group, as do all of its
    phases."""
    SWEEP = enum.auto()
    """Projection of all constraints, once per iteration."""
    CORRECT = enum.auto()
    """Corrections that a Jacobi sweep has gathered, and Chebyshev acceleration."""
    PULLED = enum.auto()
    """Tethers once more, where what they lead to is pulled apart."""
    FLUID_DENSITY = enum.auto()
    """Density constraints of a fluid."""
    PARTICLE_CONTACTS = enum.auto()
    """Contacts between particles; needs one block for each group."""
    PIERCINGS = enum.auto()
    """A count of what goes through surfaces in spite of contacts, after those between particles in the last iteration
    of all; in a launch that has these too."""
    COLLIDER_CONTACTS = enum.auto()
    """Contacts of particles with colliders."""
    RIGID_SOLVE = enum.auto()
    """What has pushed rigid bodies, their joints, and their contacts with colliders; needs one block for each group."""
    WIND = enum.auto()
    """Drag of the air on triangles at the end of a substep; that at the start of the first is part of GRIPS."""
    FLUID_VELOCITY = enum.auto()
    """Friction, viscosity and the like of a fluid."""
    RIGID_SETTLE = enum.auto()
    """Velocities of rigid bodies at the end of a substep."""
    DAMPING = enum.auto()
    """What damping leaves of the velocities at the end of a substep, constraint by constraint."""
    ADVANCE = enum.auto()
    """Velocities at the end of a substep, and the prediction for the next."""
    FINISH = enum.auto()
    """Velocities at the end of the step, and a check for divergence."""
    ARRIVE = enum.auto()
    """Colliders and held particles exactly where their motion ends."""
    ALL = (
        GRIPS | PREDICT | RIGID_FIND | PLACE | RIGID_TURN | SUPPORTS | TETHERS | FLUID_SEARCH | SWEEP | CORRECT
        | PULLED | FLUID_DENSITY | PARTICLE_CONTACTS | PIERCINGS | COLLIDER_CONTACTS | RIGID_SOLVE | WIND
        | FLUID_VELOCITY | RIGID_SETTLE | DAMPING | ADVANCE | FINISH | ARRIVE
    )  # fmt: skip
