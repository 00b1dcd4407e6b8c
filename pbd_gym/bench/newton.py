"""Peer: Newton's SolverXPBD on the scene of W1. Newton is installed by hand: pip install newton."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import warp as wp

from pbd_gym.bench.timing import measure
from pbd_gym.bench.workloads import CTRL_DT, Options, Row, engine, towel


def rows(options: Options, num_envs: int = 64, substeps: int = 10) -> Iterator[Row]:
    """Time Newton and this engine on the same cloth, one thread, in the same run.

    Newton's springs take a stiffness, the inverse of our compliance. It runs at its best settings for this scene: no
    collision pipeline, no contacts between particles, and the whole control step replayed as a captured graph.

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
    # No contacts between particles, as in our scene: much faster for Newton.
    model.particle_grid, model.particle_max_radius = None, 0.0
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
    rest = np.concatenate(batch.values["rest_length"])

    def strain(positions: np.ndarray) -> dict[str, float]:
        """Mean strain that is left: equal projections are not equal quality."""
        lengths = np.linalg.norm(positions[pairs[:, 0]] - positions[pairs[:, 1]], axis=1)
        return {"mean_strain": float(np.abs(lengths / rest - 1.0).mean())}

    ours, _, positions = engine(scene, num_envs, options, threads=1, substeps=substeps)
    yield Row("newton", f"Newton {newton.__version__} SolverXPBD, {num_envs} envs", num_envs / peer.median, "frames/s",
              peer.spread, strain(states[0].particle_q.numpy()))  # fmt: skip
    yield Row("newton", f"pbd_gym, {num_envs} envs, 1 thread", num_envs / ours.median, "frames/s", ours.spread,
              strain(positions[0]))  # fmt: skip
    yield Row("newton", "ratio", peer.median / ours.median, "x")
