"""Peer of W6: Genesis, whose liquid is of position-based fluids. ``pip install genesis-world`` (Python 3.11)."""

from __future__ import annotations

import importlib.metadata

import numpy as np

from benchmarks.peers.peer import Peer, closed_walls
from pbd_gym.bench.scenes import CTRL_DT, SUBSTEPS
from pbd_gym.scene.scene import Scene

DENSITY = 1.0
"""Of its liquid [kg/m^3]. What a particle is moved by its neighbours is divided by it: with that of water they hardly
push, and in steps of this length the column lies in one layer on the floor."""
SLACK = 1e-6
"""By which its walls are farther out [m]: it refuses particles that touch them."""


def build(scene: Scene, num_envs: int, device: str = "cpu") -> Peer:
    """Set Genesis up for a block of water in a tank: same spacing, steps and iterations, in one batch.

    Its particles feel each other within 1.25 spacings, which it does not let one choose; ours within two.

    Args:
        scene: a block of water in a tank of planes.
        num_envs: environments.
        device: ``"cpu"``, for one thread.

    Raises:
        ModuleNotFoundError: if Genesis is not installed.
        ValueError: for another device or another tank.
    """
    if device != "cpu":
        raise ValueError("Genesis is a peer on a CPU")
    import genesis as gs

    if not gs._initialized:  # once in a process
        gs.init(backend=gs.cpu, precision="32", logging_level="error", seed=0)
    fluid, x = scene.fluid, scene.positions
    assert fluid is not None
    lower, upper = closed_walls(scene)  # it wants a lid
    radius = 0.5 * fluid.spacing
    theirs = gs.Scene(
        sim_options=gs.options.SimOptions(dt=CTRL_DT, substeps=SUBSTEPS, gravity=tuple(map(float, scene.gravity))),
        pbd_options=gs.options.PBDOptions(
            particle_size=fluid.spacing,
            max_density_solver_iterations=fluid.material.iterations,
            lower_bound=tuple((lower + radius - SLACK).tolist()),
            upper_bound=tuple((upper - radius + SLACK).tolist()),
        ),
        show_viewer=False,
    )
    first, last = x.min(axis=0) - radius, x.max(axis=0) + radius
    water = theirs.add_entity(
        morph=gs.morphs.Box(pos=tuple((0.5 * (first + last)).tolist()), size=tuple((last - first).tolist())),
        material=gs.materials.PBD.Liquid(rho=DENSITY, sampler="regular"),
    )
    theirs.build(n_envs=num_envs)
    if water.n_particles != scene.particle_count:
        raise ValueError(f"Genesis filled the block with {water.n_particles} particles, not {scene.particle_count}")
    version = importlib.metadata.version("genesis-world")
    return Peer(
        f"Genesis {version} PBD, {num_envs} environments", theirs.step,
        lambda: np.asarray(water.get_particles_pos()[0].cpu()),
    )  # fmt: skip
