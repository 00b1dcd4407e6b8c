"""The step kernel: one launch advances every environment through a whole control step, or does a part of that.

One thread block serves one group. On the CPU a block is a single thread and the barriers are nothing; on CUDA its
threads stride over particles and over the constraints of a colour.

One huge environment wants more threads than a block has. Launches of many blocks then do one :class:`Do` each, a
sweep for one colour: what a barrier is within a block, the end of a launch is for all of them.
"""

import enum
import functools
from typing import Any

import warp as wp

from pbd_gym.kernels import particle_contacts as contacts
from pbd_gym.kernels.collider_contacts import make_contacts
from pbd_gym.kernels.collider_table import Part
from pbd_gym.kernels.collider_table import table_type as collider_table
from pbd_gym.kernels.iterations import make_apply, make_extrapolation, make_next_omega
from pbd_gym.kernels.packed import make_advance
from pbd_gym.kernels.parameter_columns import DAMPING, FRICTION, GRAVITY
from pbd_gym.kernels.poses import make_place
from pbd_gym.kernels.sweep import SweepOptions, body_type
from pbd_gym.kernels.wide import Wide, barrier, make_block_memory, wide


class Do(enum.IntFlag):
    """Parts of a control step, in their order."""

    BEGIN = enum.auto()
    """Grips: what is held gets the velocity of its grip."""
    PREDICT = enum.auto()
    """Positions under gravity, for the first substep."""
    PLACE = enum.auto()
    """Colliders that move, for a substep."""
    SWEEP = enum.auto()
    """Projections of an iteration."""
    EXTRAPOLATE = enum.auto()
    """Jacobi's corrections, and Chebyshev's."""
    TOUCH = enum.auto()
    """Contacts between particles; needs one block for each group."""
    COLLIDE = enum.auto()
    """Contacts with colliders."""
    ADVANCE = enum.auto()
    """Velocities, and the prediction for the next substep."""
    FINISH = enum.auto()
    """Velocities at the end, and a look whether they are reasonable."""
    END = enum.auto()
    """Poses of colliders, and of what is held."""
    ALL = BEGIN | PREDICT | PLACE | SWEEP | EXTRAPOLATE | TOUCH | COLLIDE | ADVANCE | FINISH | END


@wp.func
def asked(what: int, part: int, count: int):
    """Return the count if the part is among what is asked for, else 0."""
    if (what & part) != 0:
        return count
    return 0


@functools.cache
def model_data(scalar: Any, kinds: tuple[Any, ...], particle_contacts: bool = False) -> Any:
    """Warp struct with everything constant that the kernel reads, but for colliders: one table per constraint kind.

    Args:
        scalar: ``wp.float32`` or ``wp.float64``.
        kinds: the constraint kinds that a scene uses.
        particle_contacts: whether particles collide with one another.
    """
    tables = {kind.name: kind.table_type(scalar) for kind in kinds}
    if particle_contacts:
        tables["particle_contacts"] = contacts.table_type(scalar)
    return wp.struct(
        type("ModelData", (), {"__annotations__": {"contact_radius": scalar, **tables}, "__module__": __name__})
    )


def _no_sweep(wide: Wide, data: Any) -> Any:
    """Return the sweep of a scene without constraints."""
    scalar, body_ = wide.scalar, body_type(wide.vec)

    @wp.func
    def sweep(model: data, body: body_, inv_h: scalar, iteration: int, only: int, thread: int, thread_count: int):
        pass

    return sweep


def _then_sweep(wide: Wide, data: Any, before: Any, last: Any) -> Any:
    """Join two sweeps into one."""
    scalar, body_ = wide.scalar, body_type(wide.vec)

    @wp.func
    def sweep(model: data, body: body_, inv_h: scalar, iteration: int, only: int, thread: int, thread_count: int):
        before(model, body, inv_h, iteration, only, thread, thread_count)
        last(model, body, inv_h, iteration, only, thread, thread_count)

    return sweep


def _make_drift(wide: Wide, varied: bool) -> tuple[Any, Any]:
    """Return the functions for what acts on free particles during a substep: gravity, and the damping of velocities.

    The first takes 'h where free, else 0' to the gain of velocity along an axis, the second the factor of velocities of
    the scene to that of each environment.
    """
    vec, scalar, power = wide.vec, wide.scalar, wide.power

    @wp.func
    def pull(gravity: wp.array1d[scalar], parameters: wp.array1d[vec], axis: int, free: vec):
        if wp.static(varied):
            return wp.cw_mul(parameters[GRAVITY + axis], free)
        else:
            return gravity[axis] * free

    @wp.func
    def slowing(velocity_scale: scalar, parameters: wp.array1d[vec]):
        if wp.static(varied):
            return power(velocity_scale, parameters[DAMPING])
        else:
            return vec(velocity_scale)

    return pull, slowing


@functools.cache
def make_step(
    lanes: int,
    scalar: Any,
    options: SweepOptions,
    kinds: tuple[Any, ...],
    parts: tuple[Part, ...] = (),
    bouncing: bool = False,
) -> Any:
    """Build the kernel for a lane count and precision, with the constraints and colliders that a scene uses.

    Args:
        lanes: environments per group, see :data:`pbd_gym.kernels.wide.LANE_COUNTS`.
        scalar: ``wp.float32`` or ``wp.float64``.
        options: what iterations do.
        kinds: the constraint kinds, in the order in which an iteration sweeps them.
        parts: colliders by shape and by whether they move, in the order in which contacts are resolved.
        bouncing: whether some collider has a restitution.
    """
    wide_ = wide(lanes, scalar)
    vec, sqrt, pick, positive, exceeds = wide_.vec, wide_.sqrt, wide_.pick, wide_.positive, wide_.exceeds
    data, colliders_table = model_data(scalar, kinds, options.particle_contacts), collider_table(scalar)
    memory_ = contacts.memory_type(vec)
    part_particles = None
    if options.particle_contacts:
        row = 4 if options.packed else 3
        part_particles = contacts.make_particle_contacts(wide_, data, options.varied, row)
    body_ = body_type(vec)
    sweeps = [kind.make_sweep(wide_, data, options) for kind in kinds] or [_no_sweep(wide_, data)]
    join = functools.partial(_then_sweep, wide_, data)
    sweep, sweep_back = functools.reduce(join, sweeps), functools.reduce(join, sweeps[::-1])
    fast, sweep_path, collide, bounce = make_contacts(wide_, parts)
    is_swept = fast is not None
    place, settle = make_place(wide_)
    has_colliders, has_moving = bool(parts), any(part.moving for part in parts)
    apply, next_omega = make_apply(wide_), make_next_omega(scalar)
    extrapolate, extrapolate_multipliers = make_extrapolation(wide_)
    pull, slowing = _make_drift(wide_, options.varied)
    row_bytes = lanes * wp.types.type_size_in_bytes(scalar)
    block_memory = make_block_memory(options.shared * 7 * row_bytes)
    advance = make_advance(wide_) if options.packed and not bouncing else None

    @wp.kernel(module="unique", enable_backward=False)
    def step(
        # Model:
        model: data,
        colliders: colliders_table,
        gravity: wp.array1d[scalar],
        # Control:
        grip_motion: wp.array3d[scalar],
        collider_motion: wp.array3d[scalar],
        # Options:
        substeps: int,
        iterations: int,
        h: scalar,
        velocity_scale: scalar,
        max_speed: scalar,
        relaxation: scalar,
        spectral_radius: scalar,
        first_group: int,
        thread_count: int,
        # What to do of the step, in which substeps, iterations and colour (-1 for all):
        what: int,
        first_substep: int,
        last_substep: int,
        first_iteration: int,
        last_iteration: int,
        only: int,
        # State:
        x_all: wp.array3d[vec],
        previous_all: wp.array3d[vec],
        velocity_all: wp.array3d[vec],
        inv_mass_all: wp.array2d[vec],
        parameters_all: wp.array2d[vec],
        lam_all: wp.array2d[vec],
        memory_all: wp.array2d[vec],
        held: wp.array2d[wp.int32],
        grip_position: wp.array3d[scalar],
        delta_all: wp.array3d[vec],
        recent_all: wp.array3d[vec],
        older_all: wp.array3d[vec],
        packed_all: wp.array4d[vec],
        lam_recent_all: wp.array2d[vec],
        lam_older_all: wp.array2d[vec],
        contact_memory: memory_,
        poses: wp.array3d[scalar],
        # Views of the same state by scalar, for single lanes:
        x_scalar: wp.array4d[scalar],
        velocity_scalar: wp.array4d[scalar],
        # Scratch and out:
        grip_target: wp.array3d[scalar],
        frames_all: wp.array3d[vec],
        frames_scalar: wp.array4d[scalar],
        diverged: wp.array1d[wp.int32],
    ):
        block, thread = wp.tid()
        group = first_group + block
        # Views of this group's rows: their address is worked out once, not at every access.
        x_home = x_all[group]
        previous_home = previous_all[group]
        inv_mass_home = inv_mass_all[group]
        velocity = velocity_all[group]
        particle_count = x_home.shape[0]
        x = x_home
        previous = previous_home
        inv_mass = inv_mass_home
        if wp.static(options.shared > 0):
            # What every constraint reads and writes stays on the chip for the whole control step.
            base = block_memory()
            block_row = particle_count * wp.static(row_bytes)
            x = wp.array(ptr=base, shape=(particle_count, 3), dtype=vec)
            previous = wp.array(ptr=base + wp.uint64(3 * block_row), shape=(particle_count, 3), dtype=vec)
            inv_mass = wp.array(ptr=base + wp.uint64(6 * block_row), shape=(particle_count,), dtype=vec)
        if wp.static(options.packed):
            x = packed_all[group, 0]
            previous = packed_all[group, 1]
        body = body_()
        body.x = x
        body.previous = previous
        body.inv_mass = inv_mass
        body.parameters = parameters_all[group]
        body.lam = lam_all[group]
        body.memory = memory_all[group]
        body.delta = delta_all[group]
        body.relaxation = relaxation
        inv_h = scalar(1.0) / h
        slow = slowing(velocity_scale, body.parameters)  # damping is for free particles; held ones keep to their path
        steady = vec(scalar(1.0))
        frames = frames_all[group]
        grip_factor = vec(scalar(1.0))
        if wp.static(options.varied):
            grip_factor = body.parameters[FRICTION]
        # Speed that gravity gives within two substeps: slower impacts do not bounce.
        gx = pull(gravity, body.parameters, 0, vec(h))
        gy = pull(gravity, body.parameters, 1, vec(h))
        gz = pull(gravity, body.parameters, 2, vec(h))
        calm = scalar(2.0) * sqrt(wp.cw_mul(gx, gx) + wp.cw_mul(gy, gy) + wp.cw_mul(gz, gz))
        if wp.static(has_moving):
            if (what & wp.static(int(Do.BEGIN))) != 0:
                start = scalar(0.0)
                place(
                    colliders, poses, collider_motion, frames, frames_scalar[group], group, start, thread, thread_count
                )

        # A held particle is an infinitely heavy one with a given velocity: the prediction then carries it along.
        if thread == 0 and (what & wp.static(int(Do.BEGIN))) != 0:
            inv_time = inv_h / scalar(substeps)
            for lane in range(wp.static(lanes)):
                env = group * wp.static(lanes) + lane
                diverged[env] = 0
                if wp.static(options.particle_contacts):
                    contact_memory.overflow[env] = contact_memory.dropped[group]
                for grip in range(held.shape[1]):
                    i_held = held[env, grip]
                    if i_held >= 0:
                        for axis in range(3):
                            move = grip_motion[env, grip, axis]
                            velocity_scalar[group, i_held, axis, lane] = move * inv_time
                            grip_target[env, grip, axis] = x_scalar[group, i_held, axis, lane] + move
        barrier()

        count = asked(what, wp.static(int(Do.PREDICT)), particle_count)
        for i in range(thread, count, thread_count):
            free = positive(inv_mass_home[i], h)
            if wp.static(options.shared > 0):
                inv_mass[i] = inv_mass_home[i]
            if wp.static(options.packed):
                x[i, 3] = inv_mass_home[i]
            for axis1 in range(3):
                v = velocity[i, axis1] + pull(gravity, body.parameters, axis1, free)
                p = x_home[i, axis1]
                previous[i, axis1] = p
                x[i, axis1] = p + h * v
        barrier()

        for substep in range(first_substep, last_substep):
            if wp.static(has_moving):
                if (what & wp.static(int(Do.PLACE))) != 0:
                    now = scalar(substep + 1) / scalar(substeps)
                    place(
                        colliders,
                        poses,
                        collider_motion,
                        frames,
                        frames_scalar[group],
                        group,
                        now,
                        thread,
                        thread_count,
                    )
                    barrier()
            omega = scalar(1.0)
            if wp.static(options.chebyshev):
                for earlier in range(first_iteration):
                    omega = next_omega(omega, spectral_radius, earlier)
            for iteration in range(first_iteration, last_iteration):
                if (what & wp.static(int(Do.SWEEP))) != 0:
                    if wp.static(options.symmetric):
                        if iteration % 2 == 1:
                            sweep_back(model, body, inv_h, iteration, only, thread, thread_count)
                        else:
                            sweep(model, body, inv_h, iteration, only, thread, thread_count)
                    else:
                        sweep(model, body, inv_h, iteration, only, thread, thread_count)
                if wp.static(options.jacobi or options.chebyshev):
                    if (what & wp.static(int(Do.EXTRAPOLATE))) != 0:
                        if wp.static(options.jacobi):
                            apply(body, thread, thread_count)
                            barrier()
                        if wp.static(options.chebyshev):
                            omega = next_omega(omega, spectral_radius, iteration)
                            extrapolate(x, recent_all[group], older_all[group], omega, iteration, thread, thread_count)
                            extrapolate_multipliers(
                                lam_all[group],
                                lam_recent_all[group],
                                lam_older_all[group],
                                omega,
                                iteration,
                                thread,
                                thread_count,
                            )
                            barrier()
                if wp.static(options.particle_contacts):
                    if (what & wp.static(int(Do.TOUCH))) != 0:
                        part_particles(model, body, contact_memory, inv_h, group, thread, thread_count)
                if wp.static(has_colliders):
                    colliding = asked(what, wp.static(int(Do.COLLIDE)), particle_count)
                    for i1 in range(thread, colliding, thread_count):
                        if wp.static(is_swept):
                            if fast(colliders, model.contact_radius, x, previous, i1):
                                sweep_path(
                                    colliders, model.contact_radius, frames, x, previous, inv_mass, grip_factor, i1
                                )
                        collide(colliders, model.contact_radius, frames, x, previous, inv_mass, grip_factor, i1)
                    barrier()
            moved = asked(what, wp.static(int(Do.ADVANCE)), particle_count)
            if wp.static(bouncing):
                radius = model.contact_radius
                for i4 in range(thread, moved, thread_count):
                    bounce(colliders, radius, frames, x, previous, velocity, inv_mass, grip_factor, i4, inv_h, calm)
            if substep + 1 < substeps:
                # New velocity and the next prediction in one pass over memory.
                if wp.static(advance is not None):
                    advance(x, previous, h, inv_h, slow, gx, gy, gz)
                else:
                    for i2 in range(thread, moved, thread_count):
                        w2 = inv_mass[i2]
                        free2 = positive(w2, h)
                        scale2 = pick(w2, slow, steady)
                        for axis2 in range(3):
                            p2 = x[i2, axis2]
                            change2 = (p2 - previous[i2, axis2]) * inv_h
                            if wp.static(bouncing):
                                change2 = velocity[i2, axis2]
                                velocity[i2, axis2] = wp.cw_mul(change2, scale2)
                            v2 = wp.cw_mul(change2, scale2) + pull(gravity, body.parameters, axis2, free2)
                            previous[i2, axis2] = p2
                            x[i2, axis2] = p2 + h * v2
                barrier()

        bad = vec(scalar(0.0))
        finished = asked(what, wp.static(int(Do.FINISH)), particle_count)
        for i3 in range(thread, finished, thread_count):
            speed2 = vec(scalar(0.0))
            scale3 = pick(inv_mass[i3], slow, steady)
            for axis3 in range(3):
                change3 = (x[i3, axis3] - previous[i3, axis3]) * inv_h
                if wp.static(bouncing):
                    change3 = velocity[i3, axis3]
                v3 = wp.cw_mul(change3, scale3)
                velocity[i3, axis3] = v3
                if wp.static(options.shared > 0 or options.packed):
                    x_home[i3, axis3] = x[i3, axis3]
                    previous_home[i3, axis3] = previous[i3, axis3]
                speed2 += wp.cw_mul(v3, v3)
            bad = exceeds(speed2, max_speed * max_speed, bad)
        for lane1 in range(wp.static(lanes)):
            if bad[lane1] > scalar(0.0):
                diverged[group * wp.static(lanes) + lane1] = 1
        barrier()

        if wp.static(has_moving):
            if (what & wp.static(int(Do.END))) != 0:
                settle(colliders, poses, collider_motion, group, thread, thread_count)

        # Rounding has moved held particles a little off their path: put them exactly where they were to go.
        if thread == 0 and (what & wp.static(int(Do.END))) != 0:
            inv_time1 = inv_h / scalar(substeps)
            for lane2 in range(wp.static(lanes)):
                env2 = group * wp.static(lanes) + lane2
                for grip2 in range(held.shape[1]):
                    i_held2 = held[env2, grip2]
                    for axis4 in range(3):
                        move2 = grip_motion[env2, grip2, axis4]
                        grip_position[env2, grip2, axis4] = grip_position[env2, grip2, axis4] + move2
                        if i_held2 >= 0:
                            x_scalar[group, i_held2, axis4, lane2] = grip_target[env2, grip2, axis4]
                            velocity_scalar[group, i_held2, axis4, lane2] = move2 * inv_time1

    return step
