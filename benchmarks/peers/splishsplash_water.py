"""Peers of W6: SPlisHSPlasH, fluids in C++. ``pip install pysplishsplash``; it needs the system's libGL."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.metadata
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.peer import Peer, closed_walls
from pbd_gym.bench.scenes import CTRL_DT, SUBSTEPS
from pbd_gym.scene.scene import Scene

METHODS = {"PBF": 2, "DFSPH": 4}
"""What its scene files call its methods."""
VOLUME_MAPS = 2
"""Its default way to treat walls: measured faster than particles on them, which let the water leak besides."""
FACES = (
    (1, 2, 4), (1, 4, 3), (5, 7, 8), (5, 8, 6), (1, 5, 6), (1, 6, 2), (3, 4, 8), (3, 8, 7), (1, 3, 7), (1, 7, 5),
    (2, 6, 8), (2, 8, 4),
)  # fmt: skip
"""Triangles of a box, of corners that are counted from 1 with z fastest."""


def pbf(scene: Scene, num_envs: int, device: str = "cpu") -> Peer:
    """Set up its position-based fluids, with as many iterations a step as the scene's fluid has.

    Args:
        scene: a block of water in a tank of planes.
        num_envs: has no say: a process steps one environment.
        device: ``"cpu"``, for one thread.

    Raises:
        ModuleNotFoundError: if pySPlisHSPlasH is not installed.
        ImportError: without the system's libGL.
        ValueError: for another device or another tank.
    """
    return _build("PBF", scene, device)


def dfsph(scene: Scene, num_envs: int, device: str = "cpu") -> Peer:
    """Set up its divergence-free SPH, which iterates until the errors are below its defaults; else like :func:`pbf`."""
    return _build("DFSPH", scene, device)


def configuration(scene: Scene, method: str) -> dict[str, Any]:
    """Return the scene file for a block of water in a tank: same spacing, support, steps, and XSPH.

    Args:
        scene: as for :func:`pbf`.
        method: one of :data:`METHODS`.
    """
    fluid, x = scene.fluid, scene.positions
    assert fluid is not None
    lower, upper = _room(scene)
    iterations = {"minIterations": fluid.material.iterations, "maxIterations": fluid.material.iterations}
    settings = {
        "particleRadius": 0.5 * fluid.spacing,  # its support is twice the spacing, as ours
        "simulationMethod": METHODS[method],
        "timeStepSize": CTRL_DT / SUBSTEPS,
        "cflMethod": 0,  # steps of one size
        "gravitation": [float(g) for g in scene.gravity],
        "boundaryHandlingMethod": VOLUME_MAPS,
        "PBF": iterations,
    }
    tank = {
        "geometryFile": "tank.obj", "isWall": True, "mapInvert": True, "isDynamic": False,
        "translation": [0, 0, 0], "scale": [1, 1, 1], "rotationAxis": [1, 0, 0], "rotationAngle": 0,
        "mapResolution": np.ceil((upper - lower) / fluid.spacing - 1e-6).astype(int).tolist(),
    }  # fmt: skip
    # It leaves a spacing free on each side of a block.
    block = {
        "denseMode": 0, "translation": [0, 0, 0], "scale": [1, 1, 1],
        "start": (x.min(axis=0) - fluid.spacing).tolist(), "end": (x.max(axis=0) + fluid.spacing).tolist(),
    }  # fmt: skip
    water = {"id": "Fluid", "density0": fluid.material.density, "XSPH": {"xsph": fluid.material.xsph}}
    return {"Configuration": settings, "Materials": [water], "RigidBodies": [tank], "FluidBlocks": [block]}


def mesh(lower: np.ndarray, upper: np.ndarray) -> str:
    """Return a box as the text of an OBJ file.

    Args:
        lower, upper: corners [m], shape (3,).
    """
    corners = np.stack(np.meshgrid(*zip(lower, upper, strict=True), indexing="ij"), axis=-1).reshape(-1, 3)
    lines = ["v {} {} {}".format(*corner) for corner in corners.tolist()] + ["f {} {} {}".format(*f) for f in FACES]
    return "\n".join([*lines, ""])


def _room(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of a tank that leaves its particles the room that the scene's walls leave ours [m].

    Its walls count as if particles lay on them, and its water stays a spacing away; ours half a spacing.
    """
    assert scene.fluid is not None
    lower, upper = closed_walls(scene)  # its tank is a mesh, which is closed
    return lower - 0.5 * scene.fluid.spacing, upper + 0.5 * scene.fluid.spacing


def _build(method: str, scene: Scene, device: str) -> Peer:
    if device != "cpu":
        raise ValueError("SPlisHSPlasH is a peer on a CPU")
    os.environ["OMP_NUM_THREADS"] = "1"  # read when the library is loaded
    with contextlib.suppress(OSError):  # the wheel's own copy crashes where the system's libGL does not come first
        ctypes.CDLL("libGL.so.1", ctypes.RTLD_GLOBAL)
    import pysplishsplash as sph

    given = configuration(scene, method)
    # The library knows one simulation, the current one: each peer makes its own, and sets it before it steps.
    sph.Simulation.setCurrent(None)
    sph.TimeManager.setCurrent(None)
    sph.Exec.SceneConfiguration.setCurrent(None)
    with _silent(), tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "scene.json")
        path.write_text(json.dumps(given))
        path.with_name("tank.obj").write_text(mesh(*_room(scene)))
        base = sph.Exec.SimulatorBase()
        base.init(sceneFile=str(path), outputDir=folder, useCache=False, useGui=False)
        base.initSimulation()
        base.setValueFloat(base.STOP_AT, 1e-6)
        base.runSimulation()  # walls come to be in here only, with a first step
    simulation, clock = sph.Simulation.getCurrent(), sph.TimeManager.getCurrent()
    model, method_step = simulation.getFluidModel(0), simulation.getTimeStep().step
    count = model.numActiveParticles()
    if count != scene.particle_count:
        raise ValueError(f"SPlisHSPlasH filled the block with {count} particles, not {scene.particle_count}")

    def step(keep: object = base) -> None:
        sph.Simulation.setCurrent(simulation)
        sph.TimeManager.setCurrent(clock)
        for _ in range(SUBSTEPS):
            method_step()

    version = importlib.metadata.version("pysplishsplash")
    return Peer(
        f"pySPlisHSPlasH {version} {method}, 1 environment", step,
        lambda: np.array(model.getFieldBuffer("position"))[:count], alone=True,
    )  # fmt: skip


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keep what C++ says off standard output, where numbers go."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), 1)
        yield
    finally:
        ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
