"""Arguments of the step kernel: one Warp struct each for the model, the control, settings, the launch and the state.

Arrays of a batch have the group as their first axis; ``vec`` holds one number for each of the group's L lanes.
"""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.data import fluid as fluid_data
from pbd_gym.kernels.data import particle_contacts as particle_contact_data
from pbd_gym.kernels.data import rigid as rigid_data
from pbd_gym.kernels.data import solids as solid_data
from pbd_gym.kernels.data import tethers as tether_data
from pbd_gym.kernels.data.air import air_type


@functools.cache
def model_data(
    scalar: Any,
    kinds: tuple[Any, ...],
    has_particle_contacts: bool = False,
    has_tethers: bool = False,
    has_fluid: bool = False,
    has_rigid: bool = False,
) -> Any:
    """Warp struct with all constants except colliders: gravity [m/s^2], shape (3,), and a table per constraint kind.

    There is always a table of tetrahedra, ``solids``.

    Args:
        scalar: ``wp.float32`` or ``wp.float64``.
        kinds: the constraint kinds that a scene uses.
        has_particle_contacts: whether particles collide with each other; their table is called ``particle_contacts``.
        has_tethers: whether there are tethers to held or pinned particles; their table is called ``tethers``.
        has_fluid: whether there is fluid; its table is called ``fluid``.
        has_rigid: whether there are rigid bodies; their table is called ``rigid``.
    """
    fields: dict[str, Any] = {"gravity": wp.array1d[scalar], "solids": solid_data.table_type(scalar)}
    fields |= {kind.name: kind.table_type(scalar) for kind in kinds}
    if has_particle_contacts:
        fields["particle_contacts"] = particle_contact_data.table_type(scalar)
    if has_tethers:
        fields["tethers"] = tether_data.table_type(scalar)
    if has_fluid:
        fields["fluid"] = fluid_data.table_type(scalar)
    if has_rigid:
        fields["rigid"] = rigid_data.table_type(scalar)
    return wp.struct(type("ModelData", (), {"__annotations__": fields, "__module__": __name__}))


@functools.cache
def control_type(vec: Any) -> Any:
    """Warp struct of external influences on a batch, see :class:`pbd_gym.sim.control.Control`."""
    scalar: Any = vec._wp_scalar_type_
    air_: Any = air_type(vec)

    @wp.struct
    class ControlData:
        motion: wp.array3d[scalar]
        """displacement of each grip over the step [m], shape (slots, grips, 3)"""
        collider_motion: wp.array3d[scalar]
        """displacement [m] and rotation vector [rad] of each moving collider, shape (slots, moving, 6)"""
        forces: wp.array3d[vec]
        """forces on particles [N], shape (groups, n, 3); empty unless the kernel adds them"""
        air: air_
        """wind, and the triangles that feel it; empty unless the kernel adds drag"""
        emission: wp.array2d[scalar]
        """factor of the speed of each emitter of fluid, shape (slots, emitters)"""

    return ControlData


@functools.cache
def settings_type(scalar: Any) -> Any:
    """Warp struct of the solver's numbers, see :class:`pbd_gym.sim.solver.Solver`."""

    @wp.struct
    class Settings:
        substeps: wp.int32
        """substeps of a control step"""
        iterations: wp.int32
        """iterations of a substep"""
        h: scalar
        """length of a substep [s]"""
        velocity_factor: scalar
        """factor by which damping scales the velocity of a free particle in a substep"""
        max_speed: scalar
        """speed above which an environment counts as diverged [m/s]"""
        far: scalar
        """distance from the origin above which an environment counts as diverged [m]"""
        relaxation: scalar
        """factor of Jacobi corrections"""
        relief: scalar
        """largest displacement by a round of contacts out of an initial overlap [m]"""
        parting: scalar
        """decrease of the room of two particles that overlapped where they were put, in a round of contacts [m]"""
        fall: scalar
        """distance that gravity moves a particle at rest in a substep, at the scene's gravity [m]"""
        meter: scalar
        """length of a metre in the unit of the scene"""
        spectral_radius: scalar
        """spectral radius that Chebyshev acceleration assumes"""

    return Settings


@wp.struct
class Launch:
    """Groups and phases of the step that a launch advances."""

    first_group: wp.int32
    """group of the first block"""
    thread_count: wp.int32
    """threads of a group"""
    phases: wp.int32
    """see :class:`pbd_gym.kernels.data.phases.Phase`"""
    first_substep: wp.int32
    last_substep: wp.int32
    """end of the substep range (exclusive)"""
    first_iteration: wp.int32
    last_iteration: wp.int32
    """end of the iteration range (exclusive)"""
    color: wp.int32
    """the only colour to sweep, counted over all kinds; -1 for all colours"""


@functools.cache
def state_type(vec: Any) -> Any:
    """Warp struct of the changing state and scratch data; named as in :class:`pbd_gym.sim.state_arrays.StateArrays`.

    Slot ``group * lanes + lane`` is an environment, or idle at the end of the last group.
    """
    scalar: Any = vec._wp_scalar_type_
    contact_lists: Any = particle_contact_data.lists_type(vec)
    fluid_scratch: Any = fluid_data.scratch_type(scalar)
    rigid_scratch: Any = rigid_data.scratch_type(vec)

    @wp.struct
    class StateData:
        positions: wp.array3d[vec]
        """[m], shape (groups, n, 3)"""
        previous: wp.array3d[vec]
        """positions at the start of the substep [m], shape (groups, n, 3)"""
        velocities: wp.array3d[vec]
        """[m/s], shape (groups, n, 3)"""
        inv_mass: wp.array2d[vec]
        """[1/kg], shape (groups, n); 0 for held or pinned particles"""
        parameters: wp.array2d[vec]
        """see :mod:`pbd_gym.kernels.data.parameters`, shape (groups, columns)"""
        lam: wp.array2d[vec]
        """multipliers, shape (groups, m)"""
        memory: wp.array2d[vec]
        """memory of constraints from substep to substep, shape (groups, k)"""
        held: wp.array2d[wp.int32]
        """particle in each grip, -1 for none, shape (slots, grips)"""
        grip_positions: wp.array3d[scalar]
        """[m], shape (slots, grips, 3)"""
        grip_targets: wp.array3d[scalar]
        """scratch: places of held particles at the end of the step [m], shape (slots, grips, 3)"""
        pins: wp.array2d[wp.int32]
        """pinned particles that have tethers, -1 for none, shape (slots, pins)"""
        tethered: wp.array2d[wp.int32]
        """scratch: particles for which tethers were measured, held ones first, then pins, shape (slots, anchors)"""
        tether_bounds: wp.array3d[wp.int32]
        """scratch: first particle that may have a tether to an anchor, and the end, shape (groups, anchors, 2)"""
        tether_lengths: wp.array3d[vec]
        """scratch: lengths in the size of the scene [m], shape (groups, anchors, n)"""
        tether_pull: wp.array4d[vec]
        """scratch: corrections per inverse mass made by tethers to grips [kg m], shape (groups, grips, n, 3)"""
        pull: wp.array3d[vec]
        """scratch: corrections per inverse mass that constraints would have made to a held particle [kg m], shape
        (groups, n, 3)
        """
        pushes: wp.array3d[vec]
        """scratch: displacements of particles by contacts in this step [m], shape (groups, n, 3)"""
        untouched: wp.array3d[vec]
        """scratch: displacement of particles in the substep before contacts [m], shape (groups, n, 3)"""
        wrenches: wp.array4d[vec]
        """scratch: push of each particle, then of each rigid body, on each collider in this step [kg m], and its moment
        about the world origin [kg m^2], shape (groups, n + b, colliders, 6)
        """
        wrench_sums: wp.array3d[vec]
        """sums of these over particles and bodies, shape (groups, colliders, 6)"""
        traction: wp.array2d[vec]
        """scratch: friction of colliders not used so far in an iteration [m], shape (groups, n)"""
        come: wp.array3d[vec]
        """scratch: displacement of particles when contacts began [m], shape (groups, n, 3)"""
        support: wp.array3d[vec]
        """scratch: support of a particle, see :mod:`pbd_gym.kernels.colliders.supports`, shape (groups, n, 17)"""
        supported: wp.array2d[wp.int32]
        """scratch: whether a particle has had such a support in this step, shape (groups, 1)"""
        grip_forces: wp.array3d[scalar]
        """forces of held bodies on grips in the last step [N], shape (slots, grips, 3)"""
        free_inv_mass: wp.array2d[vec]
        """[1/kg], shape (groups, n); inverse mass of a particle when it is released"""
        poses: wp.array3d[scalar]
        """origin [m] and orientation (x, y, z, w) of moving colliders, shape (slots, moving, 7)"""
        frames: wp.array3d[vec]
        """scratch: frames in a substep, see :mod:`pbd_gym.kernels.colliders.poses`, shape (groups, moving, 24)"""
        delta: wp.array3d[vec]
        """scratch: corrections gathered by an iteration [m], zero between phases, shape (groups, n, 3)"""
        recent: wp.array3d[vec]
        """scratch: positions after the last iteration [m], shape (groups, n, 3)"""
        older: wp.array3d[vec]
        """scratch: positions after the iteration before that [m], shape (groups, n, 3)"""
        lam_recent: wp.array2d[vec]
        """scratch: multipliers after the last iteration, shape (groups, m)"""
        lam_older: wp.array2d[vec]
        """scratch: multipliers after the iteration before that, shape (groups, m)"""
        slept: wp.array3d[vec]
        """scratch: positions at the start of a control step [m], shape (groups, n, 3); empty if nothing sleeps"""
        slept_memory: wp.array2d[vec]
        """scratch: memory at the start of a control step, shape (groups, memory); empty for one lane"""
        packed: wp.array4d[vec]
        """scratch: positions and previous ones with a weight after each, shape (groups, 2, n, 4)"""
        contacts: contact_lists
        """lists of particles that touch or soon may"""
        fluid: fluid_scratch
        """scratch data of fluids"""
        rigid: rigid_scratch
        """scratch data of rigid bodies"""
        diverged: wp.array1d[wp.int32]
        """1 where the step gave a NaN, ran away or left the scene, shape (slots,)"""
        inverted: wp.array1d[wp.int32]
        """tetrahedra that are inverted or flat at the end of the step, shape (slots,)"""
        positions_scalar: wp.array4d[scalar]
        """``positions`` by lane, in the same place, shape (groups, n, 3, L)"""
        velocities_scalar: wp.array4d[scalar]
        """``velocities`` by lane, in the same place, shape (groups, n, 3, L)"""
        tether_lengths_scalar: wp.array4d[scalar]
        """``tether_lengths`` by lane, in the same place, shape (groups, anchors, n, L)"""
        frames_scalar: wp.array4d[scalar]
        """``frames`` by lane, in the same place, shape (groups, moving, 24, L)"""

    return StateData
