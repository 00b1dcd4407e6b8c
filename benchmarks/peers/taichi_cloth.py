"""Peer: XPBD in Taichi, one environment per loop index. Taichi is installed by hand: pip install taichi."""

import numpy as np

from benchmarks.peers.peer import Peer, springs
from pbd_gym.bench.scenes import CTRL_DT, SUBSTEPS
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.coloring import batches, greedy_colors


def build(scene: Scene, num_envs: int, device: str = "cpu") -> Peer:
    """Set Taichi up for a scene of springs: one kernel launch per control step, coloured Gauss-Seidel inside.

    Args:
        scene: of distance constraints and pins only.
        num_envs: environments.
        device: ``"cpu"``, for one thread, or a CUDA device.

    Raises:
        ModuleNotFoundError: if Taichi is not installed.
    """
    import taichi as ti

    ti.init(
        arch=ti.cuda if device.startswith("cuda") else ti.cpu,
        cpu_max_num_threads=1,
        offline_cache=False,
        log_level=ti.ERROR,
    )
    parts = springs(scene)
    count, substeps = len(parts.inv_mass), SUBSTEPS
    order, _ = batches(greedy_colors(parts.pairs, count))
    constraint_count = len(order)
    h = CTRL_DT / SUBSTEPS
    gravity = ti.Vector(parts.gravity.tolist())
    shape = (num_envs, count)
    x, previous, velocity = (ti.Vector.field(3, ti.f32, shape) for _ in range(3))
    inv_mass = ti.field(ti.f32, count)
    pairs = ti.Vector.field(2, ti.i32, constraint_count)
    rest, alpha = ti.field(ti.f32, constraint_count), ti.field(ti.f32, constraint_count)
    x.from_numpy(np.repeat(parts.positions[None], num_envs, axis=0))
    inv_mass.from_numpy(parts.inv_mass)
    pairs.from_numpy(parts.pairs[order])
    rest.from_numpy(parts.rest_length[order])
    alpha.from_numpy(parts.compliance[order] / np.float32(h * h))

    @ti.kernel
    def control_step():  # type: ignore[no-untyped-def]
        for env in range(num_envs):
            for _ in range(substeps):
                for i in range(count):
                    # Plain assignments: an augmented one on a field is atomic in Taichi, and slow.
                    v, p = velocity[env, i], x[env, i]
                    if inv_mass[i] > 0:
                        v += h * gravity
                    previous[env, i] = p
                    x[env, i] = p + h * v
                for c in range(constraint_count):
                    a, b = pairs[c][0], pairs[c][1]
                    wa, wb = inv_mass[a], inv_mass[b]
                    xa, xb = x[env, a], x[env, b]
                    d = xb - xa
                    length = d.norm()
                    move = (rest[c] - length) / ti.max((wa + wb + alpha[c]) * length, 1e-30) * d
                    x[env, a] = xa - wa * move
                    x[env, b] = xb + wb * move
                for i in range(count):
                    velocity[env, i] = (x[env, i] - previous[env, i]) / h

    def step() -> None:
        control_step()
        ti.sync()

    version = ".".join(str(part) for part in ti.__version__)
    return Peer(f"Taichi {version}, {num_envs} environments", step, lambda: x.to_numpy()[0])
