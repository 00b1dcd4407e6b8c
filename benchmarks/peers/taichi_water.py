"""Peer of W6: position-based fluids in Taichi, by the equations of ``fluid_limit.c``. ``pip install taichi``."""

from typing import Any

import numpy as np

from benchmarks.peers.peer import Peer, walls
from pbd_gym.bench.scenes import CTRL_DT, SUBSTEPS
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.upload.fluid import softness

CAPACITY = 64
"""Room for the neighbours of a particle."""


def _make_sweep(
    ti: Any, scene: Scene, planes: list[Any], spot: Any, move: Any, lam: Any, near: Any, length: Any
) -> tuple[Any, Any]:
    """Build one iteration: multipliers, moves, and walls.

    Args:
        ti: Taichi.
        scene: with the fluid.
        planes: normal and offset of each.
        spot: field of positions, sorted [m].
        move: field of corrections [m].
        lam: field of multipliers.
        near: field of neighbours.
        length: field of their numbers.

    Returns:
        Taichi functions: how near a neighbour is, from 1 at the particle to 0 at the support; and the iteration.
    """
    fluid = scene.fluid
    assert fluid is not None
    count, soft, radius = scene.particle_count, softness(fluid), 0.5 * fluid.spacing
    support, amplitude, slope = fluid.smoothing.support, fluid.smoothing.amplitude, fluid.smoothing.slope

    @ti.func
    def edge(d):  # type: ignore[no-untyped-def]
        return ti.max(1.0 - d.norm() * (1.0 / support), 0.0)

    @ti.func
    def sweep():  # type: ignore[no-untyped-def]
        for i in range(count):
            p = spot[i]
            weight, squares, total = 0.0, 0.0, ti.Vector([0.0, 0.0, 0.0])
            for k in range(length[i]):
                d = p - spot[near[i, k]]
                e = edge(d)
                cube = e * e * e
                weight += cube * e * (5.0 - 4.0 * e)
                total += cube * d
                squares += cube * cube * d.dot(d)
            unwalled, wall = 1.0, ti.Vector([0.0, 0.0, 0.0])
            for normal, offset in ti.static(planes):
                d = normal.dot(p) - offset
                if d < support:
                    e = ti.max(1.0 - ti.abs(d) / support, 0.0)
                    share = e**6 * (3.5 + e * (-4.5 + e * 1.5))
                    rest = 1.0 - share if d >= 0.0 else share
                    fade = e**5 * (21.0 + e * (-31.5 + e * 12.0)) / support
                    wall = wall * rest - unwalled * fade * normal
                    unwalled *= rest
            own = wall - slope * total
            over = ti.max(amplitude * (weight + 1.0) - unwalled, 0.0)
            lam[i] = -over / (slope * slope * squares + own.dot(own) + soft)
            move[i] = lam[i] * wall
        for i in range(count):
            p, total = spot[i], ti.Vector([0.0, 0.0, 0.0])
            for k in range(length[i]):
                d = p - spot[near[i, k]]
                e = edge(d)
                total += (lam[i] + lam[near[i, k]]) * (e * e * e) * d
            move[i] = move[i] - slope * total
        for i in range(count):
            p = spot[i] + move[i]
            for normal, offset in ti.static(planes):
                p += ti.max(radius - (normal.dot(p) - offset), 0.0) * normal
            spot[i] = p

    return edge, sweep


def build(scene: Scene, num_envs: int, device: str = "cpu") -> Peer:
    """Set Taichi up for water in a tank of planes: one kernel launch per control step, for all environments.

    Particles are sorted by cells in every step, and change places.

    Args:
        scene: a fluid and planes.
        num_envs: environments.
        device: ``"cpu"``, for one thread.

    Raises:
        ModuleNotFoundError: if Taichi is not installed.
        ValueError: for another device or another tank.
    """
    if device != "cpu":
        raise ValueError("Taichi's fluid is a peer on a CPU")
    import taichi as ti

    ti.init(arch=ti.cpu, cpu_max_num_threads=1, offline_cache=False, log_level=ti.ERROR)
    fluid = scene.fluid
    assert fluid is not None
    count, substeps, iterations = scene.particle_count, SUBSTEPS, fluid.material.iterations
    h, fall, xsph = CTRL_DT / SUBSTEPS, float(scene.gravity[1]) * CTRL_DT / SUBSTEPS, fluid.material.xsph
    support, amplitude = fluid.smoothing.support, fluid.smoothing.amplitude
    lower, upper = walls(scene)
    planes = [(ti.Vector([float(v) for v in c.normal]), float(c.offset)) for c in scene.colliders]  # type: ignore[attr-defined]
    # A border of empty cells saves looking for the edge; what is above the last layer counts as in it.
    upper = np.where(np.isfinite(upper), upper, scene.positions.max(axis=0) + support)
    nx, ny, nz = (int(n) for n in np.ceil((upper - lower) / support - 1e-6).astype(int) + 2)
    cells, corner = nx * ny * nz, ti.Vector(lower.tolist())

    x, v = (ti.Vector.field(3, ti.f32, (num_envs, count)) for _ in range(2))
    # Environments are stepped one after the other: they share what a step works on, which then stays in cache.
    spot, before, speed, move = (ti.Vector.field(3, ti.f32, count) for _ in range(4))
    lam, cell, length = ti.field(ti.f32, count), ti.field(ti.i32, count), ti.field(ti.i32, count)
    start, fill = ti.field(ti.i32, cells + 1), ti.field(ti.i32, cells + 1)
    near = ti.field(ti.i32, (count, CAPACITY + 1))
    x.from_numpy(np.repeat(scene.positions[None].astype(np.float32), num_envs, axis=0))

    @ti.func
    def cell_of(p):  # type: ignore[no-untyped-def]
        c = ti.cast((p - corner) * (1.0 / support), ti.i32) + 1
        c = ti.max(ti.min(c, ti.Vector([nx - 2, ny - 2, nz - 2])), 1)
        return (c.z * ny + c.y) * nx + c.x

    edge, sweep = _make_sweep(ti, scene, planes, spot, move, lam, near, length)

    @ti.func
    def predict(env):  # type: ignore[no-untyped-def]
        for c in range(cells + 1):
            fill[c] = 0
        for i in range(count):
            p = x[env, i] + h * (v[env, i] + ti.Vector([0.0, fall, 0.0]))
            speed[i] = p
            cell[i] = cell_of(p)
            fill[cell[i]] = fill[cell[i]] + 1  # an augmented assignment would be atomic, and slow
        total = 0
        for c in range(cells + 1):
            total += fill[c]
            start[c] = total - fill[c]
            fill[c] = start[c]
        for i in range(count):
            place = fill[cell[i]]
            fill[cell[i]] = place + 1
            spot[place], before[place] = speed[i], x[env, i]

    @ti.func
    def search():  # type: ignore[no-untyped-def]
        for i in range(count):
            p = spot[i]
            middle, found = cell_of(p), 0
            for dz in ti.static(range(-1, 2)):
                for dy in ti.static(range(-1, 2)):
                    first = middle + (dz * ny + dy) * nx - 1
                    for j in range(start[first], start[first + 3]):
                        d = p - spot[j]
                        # Written in any case, and kept or not: a branch is guessed wrong too often (1.2 x slower).
                        near[i, found] = j
                        found += ti.cast((d.dot(d) < support * support) & (j != i) & (found < CAPACITY), ti.i32)
            length[i] = found

    @ti.func
    def settle(env):  # type: ignore[no-untyped-def]
        for i in range(count):
            speed[i] = (spot[i] - before[i]) / h
        for i in range(count):
            p, own, total = spot[i], speed[i], ti.Vector([0.0, 0.0, 0.0])
            for k in range(length[i]):
                e = edge(p - spot[near[i, k]])
                total += e * e * e * e * (5.0 - 4.0 * e) * (speed[near[i, k]] - own)
            v[env, i], x[env, i] = own + xsph * amplitude * total, p

    @ti.kernel
    def control_step():  # type: ignore[no-untyped-def]
        ti.loop_config(serialize=True)
        for env in range(num_envs):
            for _substep in range(substeps):
                predict(env)
                search()
                for _iteration in range(iterations):
                    sweep()
                settle(env)

    def step() -> None:
        control_step()
        ti.sync()

    version = ".".join(str(part) for part in ti.__version__)
    return Peer(f"Taichi {version} PBF, {num_envs} environments", step, lambda: x.to_numpy()[0])
