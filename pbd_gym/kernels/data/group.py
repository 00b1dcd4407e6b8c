"""Data of one group that the threads of a block work on, and the numbers of one substep."""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.parameters import DAMPING, FRICTION, GRAVITY
from pbd_gym.kernels.data.step import control_type, settings_type, state_type
from pbd_gym.kernels.lanes.wide import Wide, make_block_memory


@functools.cache
def body_type(vec: Any) -> Any:
    """Warp struct of the data of one group that the phases of a step read and write: rows of the state."""
    scalar: Any = vec._wp_scalar_type_

    @wp.struct
    class Body:
        x: wp.array2d[vec]
        """positions [m], shape (n, 3); packed with the weight [1/kg] after them, shape (n, 4)"""
        previous: wp.array2d[vec]
        """positions at the start of the substep [m], in rows of the same length"""
        inv_mass: wp.array1d[vec]
        """[1/kg], shape (n,)"""
        velocity: wp.array2d[vec]
        """[m/s], shape (n, 3); velocity at the start of the step until its last phases, unless something bounces"""
        parameters: wp.array1d[vec]
        """see :mod:`pbd_gym.kernels.data.parameters`"""
        lam: wp.array1d[vec]
        """multipliers, shape (m,)"""
        memory: wp.array1d[vec]
        """memory of constraints from substep to substep, shape (memory,)"""
        delta: wp.array2d[vec]
        """corrections gathered by a Jacobi sweep [m], shape (n, 3)"""
        relaxation: scalar
        """factor of Jacobi corrections"""
        friction: vec
        """factor of every Coulomb coefficient"""
        relief: scalar
        """largest displacement by a round of contacts out of an initial overlap [m]"""
        parting: scalar
        """decrease of the room of two particles that overlapped where they were put, in a round of contacts [m]"""
        fall: scalar
        """distance that gravity moves a particle at rest in a substep, at the scene's gravity [m]"""
        meter: scalar
        """length of a metre in the unit of the scene"""
        frames: wp.array2d[vec]
        """frames of moving colliders, see :mod:`pbd_gym.kernels.colliders.poses`, shape (moving, 24)"""
        pull: wp.array2d[vec]
        """corrections per inverse mass that would have moved held particles [kg m], shape (n, 3)"""
        pushes: wp.array2d[vec]
        """displacements of particles by contacts in the step [m], shape (n, 3)"""
        wrenches: wp.array3d[vec]
        """see :mod:`pbd_gym.kernels.colliders.wrenches`, shape (n + b, colliders, 6)"""
        traction: wp.array1d[vec]
        """friction of colliders not used so far in an iteration [m], shape (n,); empty unless it counts"""
        support: wp.array2d[vec]
        """outward normal of the curved collider that carries a particle, zero for none, how far lines have pressed it
        on that, and more: :mod:`pbd_gym.kernels.colliders.supports`, shape (n, 17); empty unless lines need it
        """
        supported: wp.array1d[wp.int32]
        """whether a curved collider has been near any of the particles in this step, shape (1,)"""
        untouched: wp.array2d[vec]
        """displacement of particles in the substep when contacts began [m], shape (n, 3); empty unless lines need it"""
        forces: wp.array2d[vec]
        """external forces [N], shape (n, 3)"""
        h: scalar
        """length of a substep [s]"""

    return Body


@functools.cache
def make_load(wide: Wide, options: SweepOptions) -> Any:
    """Build the function that takes the rows of one group from the state, and the forces on it from the control.

    This computes their addresses once, not at every access. With ``options.shared``, positions and weights are
    in the shared memory of a CUDA block, and stay on the chip for the whole launch. With ``options.packed``, positions
    are in rows of four. Either is filled by the prediction of the first substep.
    """
    vec, scalar, body_, state_ = wide.vec, wide.scalar, body_type(wide.vec), state_type(wide.vec)
    settings_, control_ = settings_type(scalar), control_type(vec)
    row_bytes = wide.lanes * wp.types.type_size_in_bytes(scalar)
    shared_memory = make_block_memory(options.shared * 7 * row_bytes)

    @wp.func
    @no_type_check
    def load(state: state_, settings: settings_, control: control_, group: int):
        """Return the :class:`Body` of a group."""
        body = body_()
        body.x = state.positions[group]
        body.previous = state.previous[group]
        body.inv_mass = state.inv_mass[group]
        if wp.static(options.shared > 0):
            base = shared_memory()
            count = state.positions.shape[1]
            size = count * wp.static(row_bytes)
            body.x = wp.array(ptr=base, shape=(count, 3), dtype=vec)
            body.previous = wp.array(ptr=base + wp.uint64(3 * size), shape=(count, 3), dtype=vec)
            body.inv_mass = wp.array(ptr=base + wp.uint64(6 * size), shape=(count,), dtype=vec)
        if wp.static(options.packed):
            body.x = state.packed[group, 0]
            body.previous = state.packed[group, 1]
        body.velocity = state.velocities[group]
        body.parameters = state.parameters[group]
        body.lam = state.lam[group]
        body.memory = state.memory[group]
        body.delta = state.delta[group]
        body.frames = state.frames[group]
        body.pull = state.pull[group]
        body.pushes = state.pushes[group]
        body.wrenches = state.wrenches[group]
        body.traction = state.traction[group]
        body.support = state.support[group]
        body.supported = state.supported[group]
        body.untouched = state.come[group]
        if wp.static(options.forces):
            body.forces = control.forces[group]
        if wp.static(options.wind):
            body.forces = control.air.forces[group]
        body.relaxation = settings.relaxation
        body.relief = settings.relief
        body.parting = settings.parting
        body.fall = settings.fall
        body.meter = settings.meter
        body.h = settings.h
        body.friction = vec(scalar(1.0))
        if wp.static(options.varied):
            body.friction = body.parameters[FRICTION]
        return body

    return load


@functools.cache
def substep_type(vec: Any) -> Any:
    """Warp struct of the numbers of a substep, the same for all particles of an environment."""
    scalar: Any = vec._wp_scalar_type_

    @wp.struct
    class Substep:
        h: scalar
        """length of the substep [s]"""
        inv_h: scalar
        """1 / h [1/s]"""
        fall_x: vec
        """velocity that gravity gives a free particle [m/s]"""
        fall_y: vec
        fall_z: vec
        velocity_factor: vec
        """factor by which damping scales the velocity of a free particle; held ones keep to their path"""
        resting_speed: vec
        """speed below which impacts do not bounce: the gain from gravity in two substeps [m/s]"""

    return Substep


@functools.cache
def make_gravity(wide: Wide, varied: bool, data: Any) -> Any:
    """Build the function for the velocity gained from gravity, the same for all environments or one for each.

    Args:
        wide: lane count and precision.
        varied: whether environments differ in their parameters.
        data: the struct of the whole model.
    """
    vec, body_ = wide.vec, body_type(wide.vec)

    @wp.func
    @no_type_check
    def fall(model: data, body: body_, axis: int, time: vec):
        """Return a particle's gain in velocity by gravity along an axis [m/s] in a time [s], which is 0 unless it is
        free.
        """
        if wp.static(varied):
            return wp.cw_mul(body.parameters[GRAVITY + axis], time)
        else:
            return model.gravity[axis] * time

    return fall


@functools.cache
def make_gain(wide: Wide, options: SweepOptions, data: Any) -> Any:
    """Build the function for the velocity gained from gravity and forces.

    Args:
        wide: lane count and precision.
        options: options that the kernel is compiled for.
        data: the struct of the whole model.
    """
    vec, body_ = wide.vec, body_type(wide.vec)
    fall = make_gravity(wide, options.varied, data)

    @wp.func
    @no_type_check
    def gain(model: data, body: body_, i: int, axis: int, w: vec, time: vec):
        """Return particle i's gain in velocity along an axis [m/s] in a time [s]: 0 unless it is free.

        Args:
            model: constants.
            body: rows of the group.
            i: particle.
            axis: 0 to 2.
            w: its inverse mass [1/kg].
            time: 0 unless it is free [s].
        """
        if wp.static(options.forces or options.wind):
            return fall(model, body, axis, time) + wp.cw_mul(body.forces[i, axis], wp.cw_mul(w, time))
        else:
            return fall(model, body, axis, time)

    return gain


@functools.cache
def make_substep(wide: Wide, varied: bool, data: Any) -> Any:
    """Build the function that computes the numbers of a substep."""
    vec, scalar, sqrt, power = wide.vec, wide.scalar, wide.sqrt, wide.power
    body_, substep_, settings_ = body_type(wide.vec), substep_type(wide.vec), settings_type(scalar)
    fall = make_gravity(wide, varied, data)

    @wp.func
    @no_type_check
    def prepare(model: data, settings: settings_, body: body_):
        """Return the :class:`Substep` of a group; all substeps of a control step are alike."""
        now = substep_()
        now.h = settings.h
        now.inv_h = scalar(1.0) / settings.h
        gx = fall(model, body, 0, vec(settings.h))
        gy = fall(model, body, 1, vec(settings.h))
        gz = fall(model, body, 2, vec(settings.h))
        now.fall_x = gx
        now.fall_y = gy
        now.fall_z = gz
        now.resting_speed = scalar(2.0) * sqrt(wp.cw_mul(gx, gx) + wp.cw_mul(gy, gy) + wp.cw_mul(gz, gz))
        now.velocity_factor = vec(settings.velocity_factor)
        if wp.static(varied):
            now.velocity_factor = power(settings.velocity_factor, body.parameters[DAMPING])
        return now

    return prepare


@functools.cache
def make_clear(wide: Wide, options: SweepOptions) -> Any:
    """Build the function that clears a group's reports of the last step, for one thread."""
    lanes, state_ = wide.lanes, state_type(wide.vec)

    @wp.func
    @no_type_check
    def clear(state: state_, group: int):
        for lane in range(int(wp.static(lanes))):
            slot = group * wp.static(lanes) + lane
            state.diverged[slot] = 0
            if wp.static(options.solids):
                state.inverted[slot] = 0
            if wp.static(options.particle_contacts):
                state.contacts.overflow[slot] = 0
            if wp.static(options.particle_contacts and not options.sleep):
                state.contacts.asleep[slot, 0] = 0
            if wp.static(options.fluid is not None):
                state.fluid.overflow[slot, 0] = 0
                state.fluid.overflow[slot, 1] = 0

    return clear
