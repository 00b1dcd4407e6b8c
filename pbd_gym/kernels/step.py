"""The step kernel: one launch advances every environment through a whole control step, or through part of it.

One thread block serves one group of environments. On the CPU a block is a single thread and barriers cost nothing;
on CUDA its threads stride over particles and over the constraints of a colour.

One huge environment needs more threads than a block has. Launches of many blocks then do one
:class:`pbd_gym.kernels.data.phases.Phase` each, or a sweep of one colour: the end of a launch serves as the barrier of
all blocks.
"""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.colliders.contacts import make_collider_contacts
from pbd_gym.kernels.colliders.poses import make_pose_motion
from pbd_gym.kernels.colliders.supports import make_forget, make_supports
from pbd_gym.kernels.colliders.wrenches import make_take_up, make_wrenches
from pbd_gym.kernels.contacts.forces import make_clear_pushes, make_contact_forces
from pbd_gym.kernels.contacts.leans import contact_rounds, make_leans
from pbd_gym.kernels.contacts.particles import make_contacts
from pbd_gym.kernels.data.colliders import Part, table_type
from pbd_gym.kernels.data.group import body_type, make_clear, make_load, make_substep, substep_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.phases import Phase
from pbd_gym.kernels.data.solids import table_type as solid_type
from pbd_gym.kernels.data.step import Launch, control_type, model_data, settings_type, state_type
from pbd_gym.kernels.fluid.phases import make_fluid
from pbd_gym.kernels.grips.forces import make_grip_forces
from pbd_gym.kernels.grips.motion import make_grip_motion
from pbd_gym.kernels.lanes.wide import Wide, barrier, wide
from pbd_gym.kernels.motion.air_drag import make_air_drag
from pbd_gym.kernels.motion.integration import make_advance, make_finish, make_predict
from pbd_gym.kernels.motion.sleeping import make_sleep
from pbd_gym.kernels.native import MODULE_OPTIONS
from pbd_gym.kernels.rigid.motion import make_contact_motion
from pbd_gym.kernels.rigid.phases import make_rigid
from pbd_gym.kernels.solve.inverted import make_inverted
from pbd_gym.kernels.solve.iterations import make_correct, make_damping, make_next_omega, make_sweeps
from pbd_gym.kernels.solve.tethers import PULLED, make_tethers, make_wait


@wp.func
@no_type_check
def asks(launch: Launch, phase: int):
    """Return whether a launch includes a phase."""
    return (launch.phases & phase) != 0


@functools.cache
def make_begin(numbers: Wide, options: SweepOptions, data: Any, has_moving: bool) -> Any:
    """Build the beginning of a step, before anything is predicted: :attr:`Phase.GRIPS`.

    Args:
        numbers: lane count and precision.
        options: options that the kernel is compiled for.
        data: the struct of the whole model.
        has_moving: whether some collider moves.
    """
    scalar = numbers.scalar
    colliders_, control_ = table_type(scalar), control_type(numbers.vec)
    settings_, state_ = settings_type(scalar), state_type(numbers.vec)
    clear, start_grips = make_clear(numbers, options), make_grip_motion(numbers)[0]
    place_colliders, clear_forces = make_pose_motion(numbers).place, make_grip_forces(numbers, options.forces)[0]
    clear_pushes, clear_wrenches = make_clear_pushes(numbers), make_wrenches(numbers).clear
    measure = make_tethers(numbers, options, data)[0] if options.anchors else None
    begin_wind = make_air_drag(numbers, options, control_).begin

    @wp.func
    @no_type_check
    def begin(
        model: data, colliders: colliders_, settings: settings_, control: control_, state: state_, group: int,
        thread: int, threads: int,
    ):  # fmt: skip
        if wp.static(has_moving):
            place_colliders(colliders, state, control, settings, group, 0, thread, threads)
        if wp.static(options.grip_forces):
            clear_forces(state, group, thread, threads)
        if wp.static(options.contact_forces):
            clear_pushes(state, group, thread, threads)
        if wp.static(options.wrenches):
            clear_wrenches(state, group, thread, threads)
        if wp.static(options.anchors > 0):
            measure(model, state, group, thread, threads)
        if thread == 0:
            clear(state, group)
            start_grips(state, control, settings, group)
        barrier()
        if wp.static(options.wind):
            inv_h = scalar(1.0) / settings.h
            begin_wind(control.air, state.positions[group], state.velocities[group], inv_h, group, thread, threads)
            barrier()

    return begin


@functools.cache
def make_end(numbers: Wide, options: SweepOptions, has_moving: bool) -> Any:
    """Build the end of a step, after all particles: :attr:`Phase.ARRIVE`.

    Args:
        numbers: lane count and precision.
        options: options of the iterations.
        has_moving: whether some collider moves.
    """
    scalar = numbers.scalar
    colliders_, control_ = table_type(scalar), control_type(numbers.vec)
    settings_, state_, substep_ = settings_type(scalar), state_type(numbers.vec), substep_type(numbers.vec)
    arrive_grips, arrive_colliders = make_grip_motion(numbers, options.waits)[1], make_pose_motion(numbers).arrive
    solids_: Any = solid_type(numbers.scalar)
    report_forces, report_wrenches = make_grip_forces(numbers, options.forces)[1], make_wrenches(numbers).report
    count_inverted = make_inverted(numbers)

    @wp.func
    @no_type_check
    def end(
        solids: solids_, colliders: colliders_, settings: settings_, control: control_, state: state_, now: substep_,
        group: int, thread: int, threads: int,
    ):  # fmt: skip
        if wp.static(has_moving):
            arrive_colliders(colliders, state, control, group, thread, threads)
        if wp.static(options.wrenches):
            report_wrenches(state, group, thread, threads)
        if wp.static(options.solids):
            count_inverted(solids, state, group, thread, threads)
            barrier()  # held particles are about to arrive
        if thread == 0:
            arrive_grips(state, control, settings, group)
            if wp.static(options.grip_forces):
                report_forces(state, settings, control, now, group)

    return end


@functools.cache
def make_start(wide: Wide, options: SweepOptions, data: Any, parts: tuple[Part, ...], bouncing: bool) -> Any:
    """Build the prediction of the first substep and its accompanying phases.

    Args:
        wide: lane count and precision.
        options: options that the kernel is compiled for.
        data: the struct of the whole model.
        parts: colliders by shape and by whether they move.
        bouncing: whether some collider has a restitution.
    """
    control_, state_, substep_ = control_type(wide.vec), state_type(wide.vec), substep_type(wide.vec)
    body_, colliders_ = body_type(wide.vec), table_type(wide.scalar)
    predict, gather_wind = make_predict(wide, options, data), make_air_drag(wide, options, control_).gather
    find_rigid, forget = make_rigid(wide, options, data, parts, bouncing).find, make_forget(wide)

    @wp.func
    @no_type_check
    def start(
        launch: Launch, model: data, colliders: colliders_, control: control_, state: state_, body: body_,
        now: substep_, group: int, thread: int, threads: int,
    ):  # fmt: skip
        if asks(launch, wp.static(int(Phase.PREDICT))):
            if wp.static(options.wind):
                gather_wind(control, state.inv_mass[group], now.h, group, thread, threads)
            predict(model, state, body, now, group, thread, threads)
            if wp.static(options.supports):
                forget(colliders, body, thread, threads)
        if wp.static(options.rigid):
            if asks(launch, wp.static(int(Phase.RIGID_FIND))):
                barrier()  # bodies depend on the predictions of all threads
                find_rigid(model, body, state.rigid, now, group, thread, threads)

    return start


@functools.cache
def make_last(wide: Wide, options: SweepOptions, data: Any, bouncing: bool) -> Any:
    """Build what follows the last substep, :attr:`Phase.FINISH`: velocities, and environments that fall asleep.

    Args:
        wide: lane count and precision.
        options: options that the kernel is compiled for.
        data: the struct of the whole model.
        bouncing: whether some collider has a restitution.
    """
    settings_, state_ = settings_type(wide.scalar), state_type(wide.vec)
    body_, substep_ = body_type(wide.vec), substep_type(wide.vec)
    finish = make_finish(wide, options, bouncing)
    fall_asleep = make_sleep(wide, options, data).settle

    @wp.func
    @no_type_check
    def last(
        model: data, state: state_, settings: settings_, body: body_, now: substep_, group: int, thread: int,
        threads: int,
    ):  # fmt: skip
        finish(state, settings, body, now, group, thread, threads)
        barrier()
        fall_asleep(model, settings, state, now, group, thread, threads)

    return last


@functools.cache
def make_settle(
    wide: Wide,
    options: SweepOptions,
    data: Any,
    parts: tuple[Part, ...],
    bouncing: bool,
    kinds: tuple[Any, ...],
) -> Any:
    """Build the phases between the last iteration of a substep and the velocities of its particles.

    Args:
        wide: lane count and precision.
        options: options that the kernel is compiled for.
        data: the struct of the whole model.
        parts: colliders by shape and by whether they move.
        bouncing: whether some collider has a restitution.
        kinds: the constraint kinds, in the order in which an iteration sweeps them.
    """
    settings_, control_, state_ = settings_type(wide.scalar), control_type(wide.vec), state_type(wide.vec)
    body_, substep_ = body_type(wide.vec), substep_type(wide.vec)
    blow = make_air_drag(wide, options, control_).blow
    settle_fluid = make_fluid(wide, options, data, parts, bouncing).settle
    settle_rigid = make_rigid(wide, options, data, parts, bouncing).settle
    damp = make_damping(wide, options, data, kinds)
    wait = make_wait(wide, options, data) if options.waits else None

    @wp.func
    @no_type_check
    def settle(
        launch: Launch, model: data, settings: settings_, control: control_, state: state_, body: body_,
        now: substep_, substep: int, group: int, thread: int, threads: int,
    ):  # fmt: skip
        if wp.static(options.waits):
            wait(model, state, body, now.h, group, thread, threads)
        if wp.static(options.wind):
            if asks(launch, wp.static(int(Phase.WIND))) and substep + 1 < settings.substeps:
                blow(control.air, body.x, body.previous, now.inv_h, group, thread, threads)
                barrier()
        if wp.static(options.fluid is not None):
            if asks(launch, wp.static(int(Phase.FLUID_VELOCITY))):
                settle_fluid(model, body, state.fluid, now, group, thread, threads)
        if wp.static(options.rigid):
            if asks(launch, wp.static(int(Phase.RIGID_SETTLE))):
                settle_rigid(model, body, state.rigid, now, group, thread, threads)
        if wp.static(damp is not None):
            if asks(launch, wp.static(int(Phase.DAMPING))):
                damp(model, body, now.inv_h, 0, launch.color, thread, threads)
        if wp.static(damp is not None and options.rigid and bouncing):
            if asks(launch, wp.static(int(Phase.ADVANCE))):
                # Bounces compute all others themselves.
                for i in range(thread, body.x.shape[0], threads):
                    for axis in range(3):
                        body.velocity[i, axis] = (body.x[i, axis] - body.previous[i, axis]) * now.inv_h

    return settle


@functools.cache
def make_contact_phases(numbers: Wide, options: SweepOptions, data: Any, parts: tuple[Part, ...]) -> Any:
    """Build the contact phases after an iteration: :attr:`Phase.PARTICLE_CONTACTS` and :attr:`Phase.COLLIDER_CONTACTS`.

    Args:
        numbers: lane count and precision.
        options: options that the kernel is compiled for.
        data: the struct of the whole model.
        parts: colliders by shape and by whether they move.
    """
    scalar = numbers.scalar
    colliders_, state_, body_ = table_type(scalar), state_type(numbers.vec), body_type(numbers.vec)
    settings_, substep_ = settings_type(scalar), substep_type(numbers.vec)
    separate = make_contacts(numbers, options, data) if options.particle_contacts else None
    leaves_out = options.fluid is not None or options.rigid
    collide, _ = make_collider_contacts(
        numbers, parts, leaves_out, options.surfaces, options.supports, options.wrenches
    )
    before, after = make_contact_forces(numbers)
    note, lean = make_leans(numbers)
    expect, carry = make_contact_motion(numbers, options, data) if options.rigid else (None, None)
    holds = bool(parts) and options.surfaces and options.wrenches
    take_up = make_take_up(numbers) if holds else None

    @wp.func
    @no_type_check
    def touch(
        launch: Launch, model: data, colliders: colliders_, settings: settings_, state: state_, body: body_,
        now: substep_, substep: int, iteration: int, group: int, thread: int, threads: int,
    ):  # fmt: skip
        if wp.static(options.particle_contacts):
            if asks(launch, wp.static(int(Phase.PARTICLE_CONTACTS))):
                first = substep if iteration == 0 else -1 - substep  # active pairs are those of the first iteration
                if wp.static(options.rigid):
                    if iteration == 0:
                        expect(model, body, state.rigid, now, group, thread, threads)
                        barrier()
                if wp.static(options.contact_forces):
                    before(state, body, group, thread, threads)
                if wp.static(bool(parts) and options.surfaces):
                    # Lower layers first go back to where friction with the ground holds them. Otherwise their stress
                    # moves them meanwhile, and they carry along whatever lies on them: layers that should rest then
                    # creep. Friction not used here serves the round below, after layers have been pushed about.
                    collide(colliders, body, True, thread, threads)
                    barrier()
                is_last = substep + 1 == settings.substeps and iteration + 1 == settings.iterations
                counts = is_last and asks(launch, wp.static(int(Phase.PIERCINGS)))
                if wp.static(options.leans or holds):
                    note(body, thread, threads)
                if wp.static(options.leans):
                    rounds = int(wp.static(contact_rounds(options)))
                    for round in range(rounds):
                        if wp.static(options.rigid):
                            if round > 0:
                                carry(model, body, state.rigid, now, group, thread, threads)
                                barrier()
                        separate(
                            model, body, state.contacts, state.rigid, now.inv_h, first, counts, group, thread, threads
                        )
                    lean(body, thread, threads)
                    if wp.static(options.keep_lambda and not parts):
                        barrier()  # lines of the next iteration read it
                else:
                    separate(model, body, state.contacts, state.rigid, now.inv_h, first, counts, group, thread, threads)
                if wp.static(holds):
                    take_up(body, thread, threads)
                if wp.static(options.contact_forces):
                    after(state, body, group, thread, threads)
        if wp.static(bool(parts)):
            if asks(launch, wp.static(int(Phase.COLLIDER_CONTACTS))):
                if wp.static(options.contact_forces):
                    before(state, body, group, thread, threads)
                collide(colliders, body, False, thread, threads)
                if wp.static(options.contact_forces):
                    after(state, body, group, thread, threads)
                barrier()

    return touch


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
        lanes: environments per group, see :data:`pbd_gym.kernels.lanes.wide.LANE_COUNTS`.
        scalar: ``wp.float32`` or ``wp.float64``.
        options: options of the iterations.
        kinds: the constraint kinds, in the order in which an iteration sweeps them.
        parts: colliders by shape and by whether they move, in the order in which contacts are resolved.
        bouncing: whether some collider has a restitution.

    Returns:
        A kernel of dimensions (groups, threads of a group); a CUDA block has as many threads, except in launches of one
        phase for particles or of one colour.
    """
    numbers = wide(lanes, scalar)
    has_fluid = options.fluid is not None
    data = model_data(scalar, kinds, options.particle_contacts, options.anchors > 0, has_fluid, options.rigid)
    colliders_, control_ = table_type(scalar), control_type(numbers.vec)
    settings_, state_ = settings_type(scalar), state_type(numbers.vec)
    has_moving = any(part.moving for part in parts)
    load, prepare = make_load(numbers, options), make_substep(numbers, options.varied, data)
    begin, end = make_begin(numbers, options, data, has_moving), make_end(numbers, options, has_moving)
    place_colliders, gather_wind = make_pose_motion(numbers).place, make_air_drag(numbers, options, control_).gather
    whole = (numbers, options, data, parts, bouncing)
    turn_rigid, solve_rigid = make_rigid(*whole)[1:3]
    start, settle = make_start(*whole), make_settle(*whole, kinds)
    sweep, correct = make_sweeps(numbers, options, data, kinds), make_correct(numbers, options)
    hold = make_tethers(numbers, options, data)[1] if options.anchors else None
    support = make_supports(numbers, parts) if options.supports else None
    next_omega, touch = make_next_omega(scalar), make_contact_phases(numbers, options, data, parts)
    chosen = (has_fluid or options.rigid, options.surfaces, options.supports, options.wrenches)
    bounce = make_collider_contacts(numbers, parts, *chosen).bounce
    (search_fluid, project_fluid, _), doze = make_fluid(*whole), make_sleep(numbers, options, data).doze
    advance, finish = make_advance(numbers, options, data, bouncing), make_last(numbers, options, data, bouncing)

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS, enable_backward=False, **options.registers)
    @no_type_check
    def step(launch: Launch, model: data, colliders: colliders_, settings: settings_, control: control_, state: state_):
        """Advance a group by extended position-based dynamics with small steps (doi:10.1145/3309486.3340247).

        For each substep: move colliders, project all constraints once per iteration, resolve contacts after each
        iteration, then take velocities from the change of positions and predict the next positions from them.
        """
        block, thread = wp.tid()
        group = launch.first_group + block
        threads = launch.thread_count
        body = load(state, settings, control, group)
        now = prepare(model, settings, body)

        awake = doze(model, control, state, group, thread, threads)  # 0 if a whole step is to be left out
        if asks(launch, wp.static(int(Phase.GRIPS))):
            begin(model, colliders, settings, control, state, group, thread, threads)
        if awake != 0:
            start(launch, model, colliders, control, state, body, now, group, thread, threads)

        for substep in range(launch.first_substep, awake * launch.last_substep):
            if wp.static(has_moving):
                if asks(launch, wp.static(int(Phase.PLACE))):
                    place_colliders(colliders, state, control, settings, group, substep + 1, thread, threads)
            barrier()  # sweeps and contacts read the predictions and placements of all threads
            if wp.static(options.rigid):
                if asks(launch, wp.static(int(Phase.RIGID_TURN))):
                    turn_rigid(model, body, state.rigid, now, group, thread, threads)
            if wp.static(has_fluid):
                if asks(launch, wp.static(int(Phase.FLUID_SEARCH))):
                    search_fluid(model, body, state.fluid, control, now, group, thread, threads)
            omega = scalar(1.0)
            if wp.static(options.chebyshev):
                for earlier in range(launch.first_iteration):
                    omega = next_omega(omega, settings.spectral_radius, earlier)
            for iteration in range(launch.first_iteration, launch.last_iteration):
                if wp.static(options.supports):
                    if asks(launch, wp.static(int(Phase.SUPPORTS))):
                        support(colliders, body, thread, threads)
                        barrier()
                if wp.static(options.anchors > 0):
                    if asks(launch, wp.static(int(Phase.TETHERS))):
                        hold(state, body, now.inv_h, scalar(0.0), group, thread, threads)
                if asks(launch, wp.static(int(Phase.SWEEP))):
                    sweep(model, body, now.inv_h, iteration, launch.color, thread, threads)
                if wp.static(options.chebyshev):
                    omega = next_omega(omega, settings.spectral_radius, iteration)
                if wp.static(options.jacobi or options.chebyshev):
                    if asks(launch, wp.static(int(Phase.CORRECT))):
                        correct(state, body, group, omega, iteration, thread, threads)
                if wp.static(options.anchors > 0):
                    if asks(launch, wp.static(int(Phase.PULLED))):
                        hold(state, body, now.inv_h, scalar(PULLED), group, thread, threads)
                if wp.static(has_fluid):
                    if asks(launch, wp.static(int(Phase.FLUID_DENSITY))):
                        project_fluid(model, body, state.fluid, settings.iterations, group, thread, threads)
                touch(launch, model, colliders, settings, state, body, now, substep, iteration, group, thread, threads)
                if wp.static(options.rigid):
                    if asks(launch, wp.static(int(Phase.RIGID_SOLVE))):
                        solve_rigid(model, colliders, body, state.rigid, now, group, thread, threads)
            settle(launch, model, settings, control, state, body, now, substep, group, thread, threads)
            if asks(launch, wp.static(int(Phase.ADVANCE))):
                if wp.static(bouncing):
                    bounce(colliders, body, now, thread, threads)
                if substep + 1 < settings.substeps:
                    if wp.static(options.wind):
                        gather_wind(control, body.inv_mass, now.h, group, thread, threads)
                    advance(model, body, now, thread, threads)
                    if wp.static(bouncing and has_moving):
                        barrier()  # bounces read colliders that are about to be moved

        if asks(launch, wp.static(int(Phase.FINISH))) and awake != 0:
            finish(model, state, settings, body, now, group, thread, threads)
        if asks(launch, wp.static(int(Phase.ARRIVE))):
            end(model.solids, colliders, settings, control, state, now, group, thread, threads)

    return step
