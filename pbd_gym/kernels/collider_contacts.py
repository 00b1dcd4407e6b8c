"""Contacts of particles with colliders: one loop for every shape, push-out, Coulomb friction and restitution."""

import functools
from typing import Any, NamedTuple

import warp as wp

from pbd_gym.kernels.collider_table import Part, table_type
from pbd_gym.kernels.frames import make_frame
from pbd_gym.kernels.lanes import with_lanes
from pbd_gym.kernels.sphere_tracing import make_trace
from pbd_gym.kernels.wide import Wide

_ROUNDS = 4
"""How often the path of a fast particle is followed, which each time has slid on along another wall."""


class Contacts(NamedTuple):
    """What the step calls for each particle."""

    fast: Any
    """Whether a particle could have passed through a collider; None where nothing can."""
    sweep: Any
    """Takes a fast particle back to the first collider on its way."""
    collide: Any
    """Resolves penetrations, on the level of positions."""
    bounce: Any
    """Takes velocities from positions, and gives back to them what restitution wants."""


# Products and sums stay apart, as in the plain Warp around: results do not depend on what a compiler joins.
_RESPOND = """
    T* const at = (T*)wp::address(x, i, 0);
    const T* const w = (const T*)wp::address(inv_mass, i);
    EACH_LANE {
        PBD_CONTRACT_OFF
        const V kx = LOAD(nx.c), ky = LOAD(ny.c), kz = LOAD(nz.c);
        const V none = V(T(0)), one = V(T(1));
        // A held lane is treated like one without contact.
        const V push = LOAD(w) > T(0) ? FLOOR(LOAD(depth.c), 0) : none;
        const V qx = LOAD(at) + kx * push, qy = LOAD(at + LANES) + ky * push, qz = LOAD(at + 2 * LANES) + kz * push;
        const V ux = qx - LOAD(ax.c), uy = qy - LOAD(ay.c), uz = qz - LOAD(az.c);
        const V along = ux * kx + uy * ky + uz * kz;
        const V tx = ux - along * kx, ty = uy - along * ky, tz = uz - along * kz;
        const V slip = SQRT(tx * tx + ty * ty + tz * tz);
        // Share of the slip that friction takes: all of it where it sticks, and none without depth.
        const V slides = slip - LOAD(still.c) * push;
        const V sticking = push > T(0) ? one : none;
        const V taken = slides > T(0) ? LOAD(kinetic.c) * push : sticking;
        const V share = taken / (slides > T(0) ? FLOOR(slip, 1e-30) : one);
        STORE(at, qx - share * tx);
        STORE(at + LANES, qy - share * ty);
        STORE(at + 2 * LANES, qz - share * tz);
    }
"""


@functools.cache
def make_response(wide: Wide) -> Any:
    """Build the response of one particle to one collider.

    It moves particle ``i`` out along the normal and holds back its slip on the surface during the substep. The slip is
    cancelled altogether while it is no longer than ``still * depth`` (sticking), and shortened by ``kinetic * depth``
    otherwise (sliding): Coulomb's law on the level of positions, Macklin et al. 2014 (Unified particle physics,
    doi:10.1145/2601097.2601152, eq. 24). Held and pinned particles are left where they are. A lane without contact
    keeps its bits.

    Its arguments are the positions [m], shape (particles, 3), inverse masses [1/kg], shape (particles,), and the
    number of the particle; the outward unit normal of the collider; the penetration [m], not positive where there is no
    contact; where the particle would be now, had it stuck to the surface [m]; kinetic and static Coulomb coefficients.
    """
    vec = wide.vec

    @wp.func_native(with_lanes(wide, _RESPOND))
    def respond(
        x: wp.array2d[vec],
        inv_mass: wp.array1d[vec],
        i: int,
        nx: vec,
        ny: vec,
        nz: vec,
        depth: vec,
        ax: vec,
        ay: vec,
        az: vec,
        kinetic: vec,
        still: vec,
    ): ...

    return respond


@functools.cache
def _make_sweep(wide: Wide, part: Part, index: int) -> Any:
    """Build what stops one particle from passing through the colliders of one part within a substep."""
    vec, scalar, pick, any_positive = wide.vec, wide.scalar, wide.pick, wide.any_positive
    table = table_type(wide.scalar)
    distance, normal = part.shape.make_distance(wide)
    to_local, to_world, to_point, _ = make_frame(wide, part.moving)
    respond, trace = make_response(wide), make_trace(wide, part.shape)

    @wp.func
    def sweep(
        colliders: table,
        radius: scalar,
        frames: wp.array2d[vec],
        x: wp.array2d[vec],
        previous: wp.array2d[vec],
        inv_mass: wp.array1d[vec],
        grip: vec,
        i: int,
    ):
        """Take particle ``i`` back to where it would have passed through.

        Where it has moved farther than a collider is thick, its path (relative to the collider) is followed to the
        first contact. There the surface counts as a plane, to which the particle is taken back. As it then slides along
        that plane, it may come to another wall of the same collider: hence a few rounds.
        """
        none = vec(scalar(0.0))
        for k in range(colliders.bounds[index], colliders.bounds[index + 1]):
            half = colliders.half_thickness[k]
            safe = radius + half
            px, py, pz = to_local(frames, k, 0, x[i, 0], x[i, 1], x[i, 2])
            ox, oy, oz = to_local(frames, k, 12, previous[i, 0], previous[i, 1], previous[i, 2])
            dx = px - ox
            dy = py - oy
            dz = pz - oz
            far = wp.cw_mul(dx, dx) + wp.cw_mul(dy, dy) + wp.cw_mul(dz, dz) - vec(safe * safe)
            far = pick(inv_mass[i], far, none)
            # Fine enough for walls of that thickness, and for corners that a path cuts.
            step = scalar(0.25) * (radius + wp.min(half, radius + scalar(0.125) * half))
            deep = scalar(0.0)
            active = far
            for turn in range(wp.static(_ROUNDS)):
                if not any_positive(active):
                    break
                px, py, pz = to_local(frames, k, 0, x[i, 0], x[i, 1], x[i, 2])
                hx, hy, hz, hit = trace(colliders, k, ox, oy, oz, px, py, pz, active, radius, step, deep)
                # Later rounds: to what is deep, or else to the little that the last one has left.
                if turn == 0:
                    active = hit
                    deep = scalar(2.0) * step
                ox = pick(hit, hx, ox)
                oy = pick(hit, hy, oy)
                oz = pick(hit, hz, oz)
                reach = distance(colliders, k, hx, hy, hz)
                nx, ny, nz = normal(colliders, k, hx, hy, hz)
                depth = vec(radius) - reach
                depth += wp.cw_mul(nx, hx - px) + wp.cw_mul(ny, hy - py) + wp.cw_mul(nz, hz - pz)
                depth = pick(active, depth, none)
                wx, wy, wz = to_world(frames, k, nx, ny, nz)
                ax, ay, az = to_point(frames, k, ox, oy, oz)  # the way before the contact was free
                kinetic = colliders.surfaces[k, 0] * grip
                static = colliders.surfaces[k, 1] * grip
                respond(x, inv_mass, i, wx, wy, wz, depth, ax, ay, az, kinetic, static)

    return sweep


@functools.cache
def _make_collide(wide: Wide, part: Part, index: int) -> Any:
    """Build the contacts of one particle with the colliders of one part."""
    vec, scalar, any_positive = wide.vec, wide.scalar, wide.any_positive
    table = table_type(wide.scalar)
    distance, normal = part.shape.make_distance(wide)
    to_local, to_world, _, travel = make_frame(wide, part.moving)
    respond = make_response(wide)

    @wp.func
    def collide(
        colliders: table,
        radius: scalar,
        frames: wp.array2d[vec],
        x: wp.array2d[vec],
        previous: wp.array2d[vec],
        inv_mass: wp.array1d[vec],
        grip: vec,
        i: int,
    ):
        """Bring particle ``i`` out of every collider of the part."""
        for k in range(colliders.bounds[index], colliders.bounds[index + 1]):
            px, py, pz = to_local(frames, k, 0, x[i, 0], x[i, 1], x[i, 2])
            depth = vec(radius) - distance(colliders, k, px, py, pz)
            if any_positive(depth):
                nx, ny, nz = normal(colliders, k, px, py, pz)
                # Friction acts where the surface is touched, not in the middle of the particle.
                reach = vec(radius) - depth
                ax, ay, az = travel(
                    frames, k, px - wp.cw_mul(nx, reach), py - wp.cw_mul(ny, reach), pz - wp.cw_mul(nz, reach)
                )
                ax += previous[i, 0]
                ay += previous[i, 1]
                az += previous[i, 2]
                wx, wy, wz = to_world(frames, k, nx, ny, nz)
                kinetic = colliders.surfaces[k, 0] * grip
                static = colliders.surfaces[k, 1] * grip
                respond(x, inv_mass, i, wx, wy, wz, depth, ax, ay, az, kinetic, static)

    return collide


@functools.cache
def _make_rebound(wide: Wide, part: Part, index: int) -> Any:
    """Build the restitution of one particle at the colliders of one part."""
    vec, scalar, sqrt = wide.vec, wide.scalar, wide.sqrt
    pick, floor, any_positive = wide.pick, wide.floor, wide.any_positive
    table = table_type(wide.scalar)
    distance, normal = part.shape.make_distance(wide)
    to_local, to_world, _, travel = make_frame(wide, part.moving)
    rounding = 64.0 * (2.0**-52 if scalar is wp.float64 else 2.0**-23)

    @wp.func
    def rebound(
        colliders: table,
        radius: scalar,
        frames: wp.array2d[vec],
        x: wp.array2d[vec],
        velocity: wp.array2d[vec],
        inv_mass: wp.array1d[vec],
        grip: vec,
        i: int,
        inv_h: scalar,
        slow: vec,
        vx: vec,
        vy: vec,
        vz: vec,
    ):
        """Return the velocity of particle ``i`` after bounces.

        A particle that touches at the end of the substep, and came on with a normal speed ``u`` above ``slow`` at its
        start, leaves with ``restitution * u`` or faster: Mueller et al. 2020 (Detailed rigid body simulation with
        extended position based dynamics, doi:10.1111/cgf.14105, eq. 34), where ``slow = 2 |g| h`` keeps things at
        rest from trembling. Speeds are relative to the surface.

        Args:
            velocity: at the start of the substep [m/s], shape (particles, 3).
            vx, vy, vz: at its end, from positions [m/s].
        """
        none = vec(scalar(0.0))
        size = wp.cw_mul(x[i, 0], x[i, 0]) + wp.cw_mul(x[i, 1], x[i, 1]) + wp.cw_mul(x[i, 2], x[i, 2])
        blur = scalar(rounding) * (vec(scalar(1.0)) + sqrt(size))
        for k in range(colliders.bounds[index], colliders.bounds[index + 1]):
            px, py, pz = to_local(frames, k, 0, x[i, 0], x[i, 1], x[i, 2])
            gap = distance(colliders, k, px, py, pz) - vec(radius)
            touches = blur + vec(colliders.slack[k]) - gap
            if any_positive(touches):
                nx, ny, nz = normal(colliders, k, px, py, pz)
                reach = gap + vec(radius)
                sx, sy, sz = travel(
                    frames, k, px - wp.cw_mul(nx, reach), py - wp.cw_mul(ny, reach), pz - wp.cw_mul(nz, reach)
                )
                wx, wy, wz = to_world(frames, k, nx, ny, nz)
                away = inv_h * (wp.cw_mul(wx, sx) + wp.cw_mul(wy, sy) + wp.cw_mul(wz, sz))
                before = wp.cw_mul(wx, velocity[i, 0]) + wp.cw_mul(wy, velocity[i, 1]) + wp.cw_mul(wz, velocity[i, 2])
                after = wp.cw_mul(wx, vx) + wp.cw_mul(wy, vy) + wp.cw_mul(wz, vz) - away
                onset = away - before
                wanted = colliders.surfaces[k, 2] * onset
                gain = pick(wanted, floor(wanted - after, scalar(0.0)), none)
                gain = pick(onset - slow, gain, none)
                gain = pick(touches, gain, none)
                gain = pick(inv_mass[i], gain, none)
                vx = vx + wp.cw_mul(wx, gain)
                vy = vy + wp.cw_mul(wy, gain)
                vz = vz + wp.cw_mul(wz, gain)
        return vx, vy, vz

    return rebound


@functools.cache
def make_contacts(wide: Wide, parts: tuple[Part, ...]) -> Contacts:
    """Build the contacts of one particle with the colliders of all parts, in their order."""
    swept = [(index, part) for index, part in enumerate(parts) if part.shape.SWEPT]
    sweep = [_make_sweep(wide, part, index) for index, part in swept]
    collide = [_make_collide(wide, part, index) for index, part in enumerate(parts)]
    rebound = [_make_rebound(wide, part, index) for index, part in enumerate(parts)]
    if not parts:
        return Contacts(None, None, None, None)
    join = functools.partial(_then_collide, wide)
    return Contacts(
        _make_fast(wide, any(part.moving for _, part in swept)) if swept else None,
        functools.reduce(join, sweep) if swept else None,
        functools.reduce(join, collide),
        _make_bounce(wide, functools.reduce(functools.partial(_then_rebound, wide), rebound)),
    )


def _make_bounce(wide: Wide, rebound: Any) -> Any:
    vec, scalar, table = wide.vec, wide.scalar, table_type(wide.scalar)

    @wp.func
    def bounce(
        colliders: table,
        radius: scalar,
        frames: wp.array2d[vec],
        x: wp.array2d[vec],
        previous: wp.array2d[vec],
        velocity: wp.array2d[vec],
        inv_mass: wp.array1d[vec],
        grip: vec,
        i: int,
        inv_h: scalar,
        slow: vec,
    ):
        """Replace the velocity at the start of the substep by that at its end."""
        vx = (x[i, 0] - previous[i, 0]) * inv_h
        vy = (x[i, 1] - previous[i, 1]) * inv_h
        vz = (x[i, 2] - previous[i, 2]) * inv_h
        vx, vy, vz = rebound(colliders, radius, frames, x, velocity, inv_mass, grip, i, inv_h, slow, vx, vy, vz)
        velocity[i, 0] = vx
        velocity[i, 1] = vy
        velocity[i, 2] = vz

    return bounce


def _make_fast(wide: Wide, moving: bool) -> Any:
    vec, scalar, any_positive, table = wide.vec, wide.scalar, wide.any_positive, table_type(wide.scalar)

    @wp.func
    def fast(colliders: table, radius: scalar, x: wp.array2d[vec], previous: wp.array2d[vec], i: int):
        """Return whether particle ``i`` could have passed through something; one look for all colliders at rest."""
        if wp.static(moving):
            return True
        else:
            dx = x[i, 0] - previous[i, 0]
            dy = x[i, 1] - previous[i, 1]
            dz = x[i, 2] - previous[i, 2]
            safe = radius + colliders.thinnest
            return any_positive(wp.cw_mul(dx, dx) + wp.cw_mul(dy, dy) + wp.cw_mul(dz, dz) - vec(safe * safe))

    return fast


def _then_collide(wide: Wide, before: Any, last: Any) -> Any:
    vec, scalar, table = wide.vec, wide.scalar, table_type(wide.scalar)

    @wp.func
    def collide(
        colliders: table,
        radius: scalar,
        frames: wp.array2d[vec],
        x: wp.array2d[vec],
        previous: wp.array2d[vec],
        inv_mass: wp.array1d[vec],
        grip: vec,
        i: int,
    ):
        before(colliders, radius, frames, x, previous, inv_mass, grip, i)
        last(colliders, radius, frames, x, previous, inv_mass, grip, i)

    return collide


def _then_rebound(wide: Wide, before: Any, last: Any) -> Any:
    vec, scalar, table = wide.vec, wide.scalar, table_type(wide.scalar)

    @wp.func
    def rebound(
        colliders: table,
        radius: scalar,
        frames: wp.array2d[vec],
        x: wp.array2d[vec],
        velocity: wp.array2d[vec],
        inv_mass: wp.array1d[vec],
        grip: vec,
        i: int,
        inv_h: scalar,
        slow: vec,
        vx: vec,
        vy: vec,
        vz: vec,
    ):
        ux, uy, uz = before(colliders, radius, frames, x, velocity, inv_mass, grip, i, inv_h, slow, vx, vy, vz)
        return last(colliders, radius, frames, x, velocity, inv_mass, grip, i, inv_h, slow, ux, uy, uz)

    return rebound
