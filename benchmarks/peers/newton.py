"""Peers: Newton's SolverXPBD and SolverVBD. Newton is installed by hand: pip install newton."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, no_type_check

import numpy as np
import warp as wp

from benchmarks.peers.peer import Peer, Springs, Swung, springs
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


def swing(name: str, scene: Scene, num_envs: int, device: str, substeps: int, damping: float) -> Swung:
    """Set up one of Newton's solvers for a cloth whose pinned particles are moved.

    Args:
        name: ``"newton"`` for SolverXPBD, ``"newton-vbd"`` for SolverVBD.
        scene: springs, and pins that hands stand for.
        num_envs: environments, all alike.
        device: Warp device.
        substeps: of a control step.
        damping: rate at which free particles lose velocity [1/s], which Newton does not have.

    Raises:
        ModuleNotFoundError: if Newton is not installed.
    """
    import newton

    model = _model(scene, num_envs, device, color=name == "newton-vbd")
    solvers = {"newton": newton.solvers.SolverXPBD, "newton-vbd": newton.solvers.SolverVBD}
    solver = solvers[name](model, iterations=1)
    states, control = [model.state(), model.state()], model.control()

    def step(motion: np.ndarray, ctrl_dt: float) -> None:
        h = ctrl_dt / substeps
        shift, kept = wp.vec3(*(motion / substeps)), math.exp(-damping * h)
        for k in range(substeps):
            now = states[k % 2]
            now.clear_forces()
            wp.launch(
                _move_hands,
                dim=len(now.particle_q),
                inputs=[model.particle_inv_mass, shift, kept],
                outputs=[now.particle_q, now.particle_qd],
                device=model.device,
            )
            solver.step(now, states[1 - k % 2], control, None, h)
        if substeps % 2:
            states.reverse()
        wp.synchronize_device(model.device)

    def positions() -> np.ndarray:
        found: np.ndarray = states[0].particle_q.numpy()[: scene.particle_count]
        return found

    return Swung(f"Newton {newton.__version__} {type(solver).__name__}", step, positions)


@wp.kernel
@no_type_check
def _move_hands(
    inv_mass: wp.array1d[float], shift: wp.vec3, kept: float, q: wp.array1d[wp.vec3], qd: wp.array1d[wp.vec3]
):
    """Move what is pinned, and slow down what is free."""
    i = wp.tid()
    if inv_mass[i] == 0.0:
        q[i] = q[i] + shift
        qd[i] = wp.vec3()
    else:
        qd[i] = kept * qd[i]


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
