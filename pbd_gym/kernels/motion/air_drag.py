"""Wind: the drag of air on the triangles of cloth.

The force on a triangle of area A and unit normal n, at whose middle air of the density rho flows past with u, its
velocity relative to the triangle, is quadratic in the parts of u along the normal and beside it,

    F = rho A / 2 (c_n |u_n| u_n + c_t |u_t| u_t),    u_n = (u . n) n,    u_t = u - u_n.

Each part has a coefficient of its own, the cross-flow principle (Hoerner 1965, Fluid-Dynamic Drag, chapter 3). A third
of F goes to each corner. It is worked out once a substep, from velocities at its start and before they bounce.

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
from pbd_gym.kernels.lanes.snippets import with_lanes
from pbd_gym.kernels.lanes.wide import Wide

_BLOW = """
    const int row = positions.shape[1], count = air.triangles.shape[0];
    const T* const wind = (const T*)air.wind.data + 4 * group * LANES;
    T* const drag = (T*)air.drag.data + 4 * LANES * (size_t(group) * count);
    const T* const at = (const T*)positions.data;
    const T* const other = (const T*)before.data;
    for (int t = thread; t < count; t += thread_count) {
        const int* const corners = air.triangles.data + 3 * t;
        const T along_normal = air.coefficients.data[2 * t], beside_it = air.coefficients.data[2 * t + 1];
        EACH_LANE {
            const T* const a = at + row * corners[0] * LANES;
            const T* const b = at + row * corners[1] * LANES;
            const T* const c = at + row * corners[2] * LANES;
            const T* const p = other + before.shape[1] * corners[0] * LANES;
            const T* const q = other + before.shape[1] * corners[1] * LANES;
            const T* const r = other + before.shape[1] * corners[2] * LANES;
            const V bx = LOAD(b) - LOAD(a), cx = LOAD(c) - LOAD(a);
            const V by = LOAD(b + LANES) - LOAD(a + LANES), cy = LOAD(c + LANES) - LOAD(a + LANES);
            const V bz = LOAD(b + 2 * LANES) - LOAD(a + 2 * LANES), cz = LOAD(c + 2 * LANES) - LOAD(a + 2 * LANES);
            const V wx = by * cz - bz * cy, wy = bz * cx - bx * cz, wz = bx * cy - by * cx;
            const V twice_area = SQRT(wx * wx + wy * wy + wz * wz);
            const V unit = T(1) / FLOOR(twice_area, 1e-30);
            const V nx = wx * unit, ny = wy * unit, nz = wz * unit;
            const V ux = LOAD(wind) - SUM_OF_VELOCITIES(0) * THIRD;
            const V uy = LOAD(wind + LANES) - SUM_OF_VELOCITIES(LANES) * THIRD;
            const V uz = LOAD(wind + 2 * LANES) - SUM_OF_VELOCITIES(2 * LANES) * THIRD;
            const V un = ux * nx + uy * ny + uz * nz;
            const V tx = ux - un * nx, ty = uy - un * ny, tz = uz - un * nz;
            const V scale = LOAD(wind + 3 * LANES) * twice_area * (T(1) / T(12));
            const V none = V(T(0));
            const V normal = scale * along_normal * (un < none ? -un : un);
            const V beside = scale * beside_it * SQRT(tx * tx + ty * ty + tz * tz);
            T* const to = drag + 4 * t * LANES;
            STORE(to, normal * un * nx + beside * tx);
            STORE(to + LANES, normal * un * ny + beside * ty);
            STORE(to + 2 * LANES, normal * un * nz + beside * tz);
            STORE(to + 3 * LANES, normal > beside ? normal : beside);
        }
    }
"""

_GIVEN = "(LOAD(p + (k)) + LOAD(q + (k)) + LOAD(r + (k)))"
_MEASURED = (
    "((LOAD(a + (k)) - LOAD(p + (k))) + (LOAD(b + (k)) - LOAD(q + (k))) + (LOAD(c + (k)) - LOAD(r + (k)))) * inv_h"
)


class AirDrag(NamedTuple):
    """Warp functions for all threads of a block, with a barrier between them."""

    begin: Any
    """(air, positions, velocities, inv_h, group, thread, thread_count): drag on triangles from given velocities."""
    blow: Any
    """(air, positions, previous, inv_h, group, thread, thread_count): the same from the change of positions."""
    gather: Any
    """(control, inv_mass, h, group, thread, thread_count): forces on particles."""


def _make_blow(wide: Wide, velocities: str) -> Any:
    """Build what works out the drag on triangles.

    Args:
        wide: lane count and precision.
        velocities: C++ for the sum of the velocities of the three corners along an axis.
    """
    vec: Any = wide.vec
    scalar: Any = wide.scalar
    air_: Any = air_type(wide.vec)
    macros = f"#define SUM_OF_VELOCITIES(k) {velocities}\n#define THIRD (T(1) / T(3))\n"
    code = macros + with_lanes(wide, _BLOW) + "#undef SUM_OF_VELOCITIES\n#undef THIRD\n"

    @wp.func_native(code)
    def blow(
        air: air_, positions: wp.array2d[vec], before: wp.array2d[vec], inv_h: scalar, group: int, thread: int,
        thread_count: int,
    ) -> None: ...  # fmt: skip

    return blow


@functools.cache
def make_air_drag(wide: Wide, options: SweepOptions, control_: Any) -> AirDrag:
    """Build the functions.

    Args:
        wide: lane count and precision.
        options: what the kernel is compiled for.
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

    return AirDrag(_make_blow(wide, _GIVEN), _make_blow(wide, _MEASURED), gather)
