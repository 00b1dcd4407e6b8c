"""Wind: the drag of air on the triangles of cloth.

The force on a triangle of area A and unit normal n, at whose middle air of the density rho flows past with u, its
velocity relative to the triangle, is quadratic in the parts of u along the normal and tangential to it,

    F = rho A / 2 (c_n |u_n| u_n + c_t |u_t| u_t),    u_n = (u . n) n,    u_t = u - u_n.

Each part has a coefficient of its own, the cross-flow principle (Hoerner 1965, Fluid-Dynamic Drag, chapter 3). A third
of F goes to each corner. It is computed once per substep, from velocities at its start and before they bounce.

Drag is stiff where cloth is light: a force that would more than stop a particle relative to the air within the substep
is reduced to one that does not. With K the sum of rho A / 6 max(c_n |u_n|, c_t |u_t|) over its triangles, the forces on
a particle of mass m are divided by max(1, h K / m). A particle of a rigid body moves with the body: for it m is its
share, by area, of the mass that the body has where it is pushed, however little its vertices weigh.
"""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.data.air import air_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.native import call, lanes_type


class AirDrag(NamedTuple):
    """Warp functions for all threads of a block, with a barrier between them."""

    begin: Any
    """Function (air, positions, velocities, inv_h, group, thread, thread_count): drag on triangles from given
    velocities.
    """
    blow: Any
    """Function (air, positions, previous, inv_h, group, thread, thread_count): drag from the change of positions."""
    gather: Any
    """Function (control, inv_mass, h, group, thread, thread_count): forces on particles."""


def _make_blow(wide: Wide, measured: bool) -> Any:
    """Build the function that computes the drag on triangles.

    Args:
        wide: lane count and precision.
        measured: whether velocities are derived from changes of positions.
    """
    vec: Any = wide.vec
    scalar: Any = wide.scalar
    air_: Any = air_type(wide.vec)
    given = "air, positions, before, inv_h, group, thread, thread_count"
    code = call("blow", lanes_type(wide.lanes, wide.scalar), measured, arguments=given)

    @wp.func_native(code)
    def blow(
        air: air_, positions: wp.array2d[vec], before: wp.array2d[vec], inv_h: scalar, group: int, thread: int,
        thread_count: int,
    ) -> None: ...  # fmt: skip

    return blow


@functools.cache
def make_air_drag(wide: Wide, options: SweepOptions, control_: Any) -> AirDrag:
    """Build the functions of :class:`AirDrag`.

    Args:
        wide: lane count and precision.
        options: options that the kernel is compiled for.
        control_: the struct of the control, which has the air.
    """
    vec, scalar, floor = wide.vec, wide.scalar, wide.floor

    @wp.func
    @no_type_check
    def gather(control: control_, inv_mass: wp.array1d[vec], h: scalar, group: int, thread: int, thread_count: int):
        drag = control.air.drag[group]
        forces = control.air.forces[group]
        for i in range(thread, inv_mass.shape[0], thread_count):
            x = vec(scalar(0.0))
            y = vec(scalar(0.0))
            z = vec(scalar(0.0))
            growth = vec(scalar(0.0))
            for slot in range(control.air.first[i], control.air.first[i + 1]):
                t = control.air.around[slot]
                x += drag[t, 0]
                y += drag[t, 1]
                z += drag[t, 2]
                growth += drag[t, 3]
            too_much = floor(wp.cw_mul(growth, h * control.air.lightness[i] * inv_mass[i]), scalar(1.0))
            x = wp.cw_div(x, too_much)
            y = wp.cw_div(y, too_much)
            z = wp.cw_div(z, too_much)
            if wp.static(options.forces):
                x += control.forces[group, i, 0]
                y += control.forces[group, i, 1]
                z += control.forces[group, i, 2]
            forces[i, 0] = x
            forces[i, 1] = y
            forces[i, 2] = z

    return AirDrag(_make_blow(wide, False), _make_blow(wide, True), gather)
