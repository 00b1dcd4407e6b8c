"""A towel that two hands swing by its corners: what stretches, at which resolution, by which method, at what price.

Beside the engine's methods stands Newton's method on the same springs and time steps
(:class:`pbd_gym.ImplicitEuler`): that strain belongs to the material, the rest to the method.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pbd_gym.bench.rows import Options, Row
from pbd_gym.geometry.grids import grid
from pbd_gym.materials.materials import ClothMaterial
from pbd_gym.scene.scene import Cloth, Scene
from pbd_gym.sim.implicit_euler import ImplicitEuler
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.substeps import needed_substeps

SIDE = 0.4
"""Of the towel [m]."""
SPEED = 1.0
"""Of the hands [m/s]."""
CTRL_DT = 1 / 30
"""[s]"""
FRAMES = 60
"""Control steps; the hands go to and fro twice."""
SUBSTEPS = 20
DAMPING = 0.5
"""[1/s]"""
MATERIAL = ClothMaterial(0.3, 1e-4, 1e-3, 1e-2)
SIZES = (16, 32, 64)
NEWTON_SIZES = (16, 32)
"""Resolutions at which Newton's method takes minutes, not hours."""


@dataclass(frozen=True)
class Method:
    """How the springs of a towel are solved."""

    lines: bool = False
    """Whether threads are solved as lines."""
    tethers: bool = False
    """Whether there are tethers to the hands."""
    iterations: int = 1
    chebyshev: float = 0.0


METHODS = {
    "distance": Method(),
    "lines": Method(lines=True),
    "tethers": Method(tethers=True),
    "lines and tethers": Method(lines=True, tethers=True),
    "distance, 8 iterations": Method(iterations=8),
    "distance, 8 iterations with Chebyshev": Method(iterations=8, chebyshev=0.9),
}
MOST_SUBSTEPS = 640


class Swing(NamedTuple):
    """What came of one towel."""

    strain: float
    """99th percentile over the edges along threads of what they are longer than at rest, as a share; mean over time."""
    largest: float
    """Largest of these percentiles."""
    seconds: float
    """Processor time of a control step of all environments [s]."""


def towel(particles: int, method: Method = METHODS["distance"]) -> tuple[Scene, Cloth]:
    """Return the towel that is swung, and where it is in its scene."""
    scene = Scene(grip_count=2)
    lines, tethers = method.lines, method.tethers
    return scene, scene.add_cloth(particles, particles, (SIDE, SIDE), MATERIAL, lines=lines, tethers=tethers)


def swing(
    particles: int,
    method: Method = METHODS["distance"],
    substeps: int = SUBSTEPS,
    num_envs: int = 16,
    device: str = "cpu",
) -> Swing:
    """Swing a towel of ``particles`` x ``particles`` to and fro by two corners.

    Args:
        particles: along a side.
        method: how springs are solved.
        substeps: of a control step.
        num_envs: environments, all alike.
        device: Warp device.
    """
    scene, cloth = towel(particles, method)
    steps = substeps, method.iterations, DAMPING
    solver = Solver(
        Model(scene, num_envs, device), *steps, threads=1, chebyshev=method.chebyshev, compensate=False, quiet=True
    )
    state, control = solver.state(), solver.control()
    solver.step(state, control, 1e-6)  # compiles
    state.reset()
    state.hold(np.tile(cloth.corners[:2], (num_envs, 1)))

    def step(motion: np.ndarray) -> np.ndarray:
        control.move(motion)
        solver.step(state, control, CTRL_DT)
        return state.get_positions()[0]

    return _swung(cloth, step)


def swing_exactly(particles: int, substeps: int = SUBSTEPS) -> Swing:
    """Swing one towel by implicit Euler, solved by Newton's method in each substep.

    Args:
        particles: along a side.
        substeps: of a control step.

    Raises:
        ImportError: without SciPy.
    """
    scene, cloth = towel(particles)
    exact = ImplicitEuler(scene, DAMPING, tolerance=1e-7)
    exact.hold(cloth.corners[:2])

    def step(motion: np.ndarray) -> np.ndarray:
        for _ in range(substeps):
            exact.advance(CTRL_DT / substeps, motion / substeps)
        return exact.positions

    return _swung(cloth, step)


def swing_peer(name: str, particles: int, substeps: int, num_envs: int, device: str) -> tuple[str, Swing]:
    """Swing towels by another engine.

    Args:
        name: ``"newton"`` or ``"newton-vbd"``.
        particles: along a side.
        substeps: of a control step.
        num_envs: environments, all alike.
        device: Warp device.

    Returns:
        Its name and version, and what came of it.

    Raises:
        ModuleNotFoundError: if it is not installed.
    """
    from benchmarks.peers import newton

    scene, cloth = towel(particles)
    scene.pin(cloth.corners[:2])
    newton.swing(name, scene, num_envs, device, 1, DAMPING).step(np.zeros(3), CTRL_DT)  # compiles
    peer = newton.swing(name, scene, num_envs, device, substeps, DAMPING)

    def step(motion: np.ndarray) -> np.ndarray:
        peer.step(motion, CTRL_DT)
        return peer.positions()

    return peer.what, _swung(cloth, step)


def _swung(cloth: Cloth, step: Callable[[np.ndarray], np.ndarray]) -> Swing:
    """Return what comes of a towel in hands that go to and fro.

    Args:
        cloth: the towel.
        step: does a control step in which hands move by a vector [m], and returns the positions [m], shape (n, 3).
    """
    particles = len(cloth.indices)
    edges = cloth.indices.ravel()[grid(particles, particles, SIDE, SIDE).structural]
    rest, found, seconds = SIDE / (particles - 1), [], 0.0
    for frame in range(FRAMES):
        towards = 1.0 if (4 * frame // FRAMES) % 2 == 0 else -1.0
        start = time.process_time()
        x = step(np.array([0.0, 0.0, towards * SPEED * CTRL_DT]))
        seconds += time.process_time() - start
        found.append(np.percentile(np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1) / rest - 1.0, 99))
    return Swing(float(np.mean(found)), float(np.max(found)), seconds / FRAMES)


def rows(options: Options, peers: Sequence[str] = ()) -> Iterator[Row]:
    """Measure every method at every resolution, then distance constraints with more substeps until they do as well.

    Then come Newton's method, where it does not take hours, and peers that are asked for.

    Args:
        options: what every workload is told.
        peers: names of the engines to measure beside this one.

    Raises:
        ImportError: without SciPy.
        ModuleNotFoundError: for a peer that is not installed.
    """
    num_envs = options.num_envs or 16
    ImplicitEuler(Scene())  # that SciPy is missing is said before minutes of measuring
    for particles in SIZES:
        scene, _ = towel(particles)
        needed, wanted = needed_substeps(scene, CTRL_DT, softening=0.1, forces=False), np.inf
        for what, method in METHODS.items():
            runs = [swing(particles, method, SUBSTEPS, num_envs, options.device) for _ in range(options.repeats)]
            if what == "lines and tethers":
                wanted = runs[0].strain
            yield _row(particles, what, SUBSTEPS, num_envs, runs)
        counts = [needed]
        while SUBSTEPS * 2 ** len(counts) <= MOST_SUBSTEPS:
            counts.append(SUBSTEPS * 2 ** len(counts))
        for substeps in sorted(set(counts)):
            run = swing(particles, METHODS["distance"], substeps, num_envs, options.device)
            what = "distance, as many substeps as are needed" if substeps == needed else "distance"
            yield _row(particles, what, substeps, num_envs, [run])
            if run.strain <= wanted:
                break
        if particles in NEWTON_SIZES:
            yield _row(particles, "implicit Euler by Newton's method", SUBSTEPS, 1, [swing_exactly(particles)])
        for peer in peers:
            for substeps in (SUBSTEPS, 8 * SUBSTEPS):
                name, run = swing_peer(peer, particles, substeps, num_envs, options.device)
                yield _row(particles, name, substeps, num_envs, [run])


def _row(particles: int, what: str, substeps: int, num_envs: int, runs: list[Swing]) -> Row:
    times = [run.seconds for run in runs]
    seconds = float(np.median(times))
    return Row(
        "swing", f"{particles} x {particles}, {what}, {substeps} substeps", num_envs / seconds, "frames/s",
        (max(times) - min(times)) / seconds, strain=runs[0].strain, resolution=particles, num_envs=num_envs,
    )  # fmt: skip
