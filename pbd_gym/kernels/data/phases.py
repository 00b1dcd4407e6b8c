"""Phases of a control step, with which a launch selects its work."""

import enum


class Phase(enum.IntFlag):
    """Parts of a control step, in the order in which they run.

    One launch usually does all of them. For one huge environment the launch plan
    (:mod:`pbd_gym.sim.launch_plan`) gives each launch a few, so that the end of a launch takes the place of a barrier.
    """

    GRIPS = enum.auto()
    """Held particles take the velocity of their grip; flags of the last step are cleared; tethers follow the particles
    held now.
    """
    PREDICT = enum.auto()
    """Positions under gravity at the end of the first substep."""
    RIGID_FIND = enum.auto()
    """Rigid bodies are located from their particles."""
    PLACE = enum.auto()
    """Poses of moving colliders at the end of a substep."""
    RIGID_TURN = enum.auto()
    """Free motion of rigid bodies, from the predicted positions."""
    SUPPORTS = enum.auto()
    """Supports of line particles, before the sweep of each iteration."""
    TETHERS = enum.auto()
    """Tethers to held or pinned particles, before the sweep of each iteration."""
    FLUID_SEARCH = enum.auto()
    """Neighbours and walls of a fluid, from the predicted positions; needs one block for each group, as do all fluid
    phases.
    """
    SWEEP = enum.auto()
    """Projection of all constraints, once per iteration."""
    CORRECT = enum.auto()
    """Corrections gathered by a Jacobi sweep, and Chebyshev acceleration."""
    PULLED = enum.auto()
    """Tethers once more, where their anchors are pulled apart."""
    FLUID_DENSITY = enum.auto()
    """Density constraints of a fluid."""
    PARTICLE_CONTACTS = enum.auto()
    """Contacts between particles; needs one block for each group."""
    PIERCINGS = enum.auto()
    """Count of edges that pierce surfaces in spite of contacts, after the contacts between particles in the last
    iteration; in a launch that includes these.
    """
    COLLIDER_CONTACTS = enum.auto()
    """Contacts of particles with colliders."""
    RIGID_SOLVE = enum.auto()
    """Pushes on rigid bodies, their joints, and their contacts with colliders; needs one block for each group."""
    WIND = enum.auto()
    """Drag of the air on triangles at the end of a substep; that at the start of the first is part of GRIPS."""
    FLUID_VELOCITY = enum.auto()
    """Friction, viscosity and similar effects of a fluid."""
    RIGID_SETTLE = enum.auto()
    """Velocities of rigid bodies at the end of a substep."""
    DAMPING = enum.auto()
    """Damping of the velocities at the end of a substep, constraint by constraint."""
    ADVANCE = enum.auto()
    """Velocities at the end of a substep, and the prediction for the next."""
    FINISH = enum.auto()
    """Velocities at the end of the step, and a check for divergence."""
    ARRIVE = enum.auto()
    """Colliders and held particles are placed exactly where their motion ends."""
    ALL = (
        GRIPS | PREDICT | RIGID_FIND | PLACE | RIGID_TURN | SUPPORTS | TETHERS | FLUID_SEARCH | SWEEP | CORRECT
        | PULLED | FLUID_DENSITY | PARTICLE_CONTACTS | PIERCINGS | COLLIDER_CONTACTS | RIGID_SOLVE | WIND
        | FLUID_VELOCITY | RIGID_SETTLE | DAMPING | ADVANCE | FINISH | ARRIVE
    )  # fmt: skip
