"""Peer: Newton's SolverXPBD on the scene of W1. Newton is installed by hand: pip install newton."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import warp as wp

from pbd_gym.bench.timing import measure
from pbd_gym.bench.workloads import CTRL_DT, Options, Row, engine, towel


def rows(options: Options, num_envs: int = 64, substeps: int = 10) -> Iterator[Row]:
    """Time Newton and this engine on the same cloth, one thread, in the same run.

    Newton's springs take a stiffness, the inverse of our compliance; the best of its settings here: no collision
    pipeline, and the whole control step replayed as a captured graph.

    Raises:
        ModuleNotFoundError: if Newton is not installed.
    """
    import newton

    scene = towel()
    batch = scene.constraints["distance"]
    pairs = np.concatenate(batch.indices)
    compliance = np.concatenate(batch.values["compliance"])
    inv_mass = scene.inv_mass
    builder = newton.ModelBuilder(up_axis=newton.Axis.Y)
    for env in range(num_envs):
        first = env * scene.particle_count
        for position, w in zip(scene.positions, inv_mass, strict=True):
            builder.add_particle(wp.vec3(*position), wp.vec3(), 0.0 if w == 0.0 else 1.0 / w)
        for (i, j), c in zip(pairs, compliance, strict=True):
            builder.add_spring(int(first + i), int(first + j), 1.0 / c, 0.0, 0.0)
    model = builder.finalize(device=options.device)
    solver = newton.solvers.SolverXPBD(model, iterations=1)
    states = [model.state(), model.state()]
    control = model.control()
    h = CTRL_DT / substeps

    def control_step() -> None:
        for k in range(substeps):
            states[k % 2].clear_forces()
            solver.step(states[k % 2], states[1 - k % 2], control, None, h)

    control_step()
    try:
        with wp.ScopedCapture(device=model.device) as capture:
            control_step()

        def step() -> None:
            wp.capture_launch(capture.graph)
            wp.synchronize_device(model.device)
    except (RuntimeError, TypeError):  # what cannot be captured is launched kernel by kernel

        def step() -> None:
            control_step()
            wp.synchronize_device(model.device)

    peer = measure(step, options.repeats)
    lengths = np.linalg.norm(np.diff(states[0].particle_q.numpy()[pairs], axis=1)[:, 0], axis=1)
    rest = np.concatenate(batch.values["rest_length"])
    ours, _ = engine(scene, num_envs, options, threads=1, substeps=substeps)
    yield Row("newton", f"Newton {newton.__version__} SolverXPBD, {num_envs} envs", num_envs / peer.median, "frames/s",
              peer.spread, {"mean_strain": float(np.abs(lengths / rest - 1.0).mean())})  # fmt: skip
    yield Row("newton", f"pbd_gym, {num_envs} envs, 1 thread", num_envs / ours.median, "frames/s", ours.spread)
    yield Row("newton", "ratio", peer.median / ours.median, "x")
