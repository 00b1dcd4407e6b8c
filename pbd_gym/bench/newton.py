"""Peers: Newton's SolverXPBD and SolverVBD. Newton is installed by hand: pip install newton."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.bench.peers import Peer, Springs, springs
from pbd_gym.bench.scenes import CTRL_DT, SUBSTEPS
from pbd_gym.scene.scene import Scene


def xpbd(scene: Scene, num_envs: int, device: str) -> Peer:
    """Set up Newton's XPBD solver: an averaged Jacobi step with atomics for each constraint.

    Newton's springs take a stiffness, the inverse of our compliance. It runs at its best settings for this scene: no
    collision pipeline, no contacts between particles, and the whole control step replayed as a captured graph.

    Raises:
        ModuleNotFoundError: if Newton is not installed.
    """
    import newton

    model = _model(scene, num_envs, device)
    solver = newton.solvers.SolverXPBD(model, iterations=1)
    return _peer("SolverXPBD", model, solver, scene, num_envs)


def vbd(scene: Scene, num_envs: int, device: str) -> Peer:
    """Set up Newton's vertex block descent, for reference: it moves particles one colour at a time, not constraints.

    Raises:
        ModuleNotFoundError: if Newton is not installed.
    """
    import newton

    model = _model(scene, num_envs, device, color=True)
    solver = newton.solvers.SolverVBD(model, iterations=1)
    return _peer("SolverVBD", model, solver, scene, num_envs, projects=False)


def _model(scene: Scene, num_envs: int, device: str, color: bool = False) -> Any:
    import newton

    parts = springs(scene)
    builder = newton.ModelBuilder(up_axis=newton.Axis.Y)
    for env in range(num_envs):
        first = env * len(parts.positions)
        for position, w in zip(parts.positions, parts.inv_mass, strict=True):
            builder.add_particle(wp.vec3(*position), wp.vec3(), 0.0 if w == 0.0 else 1.0 / float(w))
        for (i, j), compliance in zip(parts.pairs, parts.compliance, strict=True):
            builder.add_spring(int(first + i), int(first + j), 1.0 / float(compliance), 0.0, 0.0)
    if color:  # Newton's own colouring looks at triangles and tetrahedra, not at springs
        labels = np.tile(_particle_colors(parts), num_envs)
        builder.set_coloring([np.flatnonzero(labels == label) for label in range(labels.max() + 1)])
    model = builder.finalize(device=device)
    # No contacts between particles, as in our scene: much faster for Newton.
    model.particle_grid, model.particle_max_radius = None, 0.0
    return model


def _particle_colors(parts: Springs) -> np.ndarray:
    """Return a colour for each particle, none the same as that of a particle at the other end of a spring."""
    neighbours: list[set[int]] = [set() for _ in parts.positions]
    for i, j in parts.pairs.tolist():
        neighbours[i].add(j)
        neighbours[j].add(i)
    labels: list[int] = []
    for near in neighbours:
        taken = {labels[k] for k in near if k < len(labels)}
        labels.append(next(label for label in range(len(near) + 1) if label not in taken))
    return np.array(labels)


def _peer(name: str, model: Any, solver: Any, scene: Scene, num_envs: int, projects: bool = True) -> Peer:
    import newton

    states = [model.state(), model.state()]
    control = model.control()
    h = CTRL_DT / SUBSTEPS

    def control_step() -> None:
        for k in range(SUBSTEPS):
            states[k % 2].clear_forces()
            solver.step(states[k % 2], states[1 - k % 2], control, None, h)

    control_step()
    replay = _captured(control_step, model.device)

    def step() -> None:
        replay()
        wp.synchronize_device(model.device)

    def positions() -> np.ndarray:
        return states[0].particle_q.numpy()[: scene.particle_count]

    return Peer(f"Newton {newton.__version__} {name}, {num_envs} environments", step, positions, projects)


def _captured(call: Callable[[], None], device: Any) -> Callable[[], object]:
    """Return a call as a graph, or as it is where it cannot be captured."""
    try:
        with wp.ScopedCapture(device=device) as capture:
            call()
    except (RuntimeError, TypeError):
        return call
    return lambda: wp.capture_launch(capture.graph)
