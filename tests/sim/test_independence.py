"""No environment depends on the others of its group, whatever these do: some hang over an edge, others do not."""

import numpy as np
import pytest

from pbd_gym.colliders import Box, Plane, Sphere
from pbd_gym.geometry import tetmeshes
from pbd_gym.geometry.grids import LYING
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver

ENVS, STEPS = 8, 8


def scene_of(kind: str) -> Scene:
    """A rope over the edge of a box, a towel over one, or rigid blocks of which some are pulled into the ground."""
    scene = Scene(grip_count=2)
    if kind == "rope":
        line = np.linspace((-0.45, 0.03, 0.0), (0.35, 0.03, 0.05), 25)
        scene.add_particle_contacts(scene.add_rope(line), 0.008, 0.3)
        scene.add_collider(Box((0.0, -0.1, 0.0), (0.2, 0.1, 0.2), friction=0.5))
    elif kind == "towel":
        cloth = scene.add_cloth(8, 7, (0.4, 0.36), position=(0.0, 0.03, 0.0), rotation=LYING, tethers=True)
        scene.add_surface_contacts(cloth.triangles, 0.006, 0.4)
        scene.add_collider(Box((0.0, -0.1, 0.0), (0.12, 0.1, 0.12), friction=0.4))
    else:
        mesh = tetmeshes.box((1, 1, 1), (0.1, 0.1, 0.1))
        for k in range(3):
            scene.add_rigid_body(mesh, 300.0, 0.05, 0.025, position=(0.09 * k, 0.06 + 0.04 * k, 0.0))
        scene.add_collider(Plane(friction=0.5, restitution=0.3))
    scene.add_collider(Sphere((0.15, 0.25, 0.0), 0.05), moving=True)
    return scene


def simulate(model: Model, rows: np.ndarray) -> list[dict[str, np.ndarray]]:
    """Return what the environments of some rows of a fixed table have come to, after each step."""
    solver = Solver(model, substeps=8, wrenches=True, grip_forces=True, threads=1, quiet=True)
    state, control = solver.state(), solver.control()
    rng, rest = np.random.default_rng(3), model.scene.positions
    if not model.scene.rigid_bodies:
        aside = rng.normal(scale=0.1, size=(ENVS, 1, 3)) * (np.arange(ENVS) % 4 > 0)[:, None, None] * (1.0, 0.1, 1.0)
        state.set_positions((rest + aside + rng.normal(scale=0.001, size=(ENVS, *rest.shape)))[rows])
    speeds = rng.normal(scale=0.3, size=(ENVS, 1, 3)) + rng.normal(scale=0.05, size=(ENVS, *rest.shape))
    state.set_velocities(speeds[rows])
    held = rng.integers(0, len(rest), (ENVS, 2))
    held[:, 1] = np.where(rng.random(ENVS) < 0.5, -1, (held[:, 0] + len(rest) // 2) % len(rest))
    state.hold(held[rows])
    found = []
    for _ in range(STEPS):
        control.move((rng.normal(scale=0.01, size=(ENVS, 2, 3)) - (0.0, 0.01, 0.0))[rows])
        control.move_collider(1, rng.normal(scale=0.02, size=(ENVS, 3))[rows])
        solver.step(state, control, 0.02)
        found.append(state.save() | {"grips": state.get_grip_forces(), "wrenches": state.get_wrenches()})
    return found


@pytest.mark.parametrize("kind", ["rope", "towel", "blocks"])
def test_an_environment_does_not_see_the_others_of_its_group(kind: str) -> None:
    together = simulate(Model(scene_of(kind), ENVS, lanes=4), np.arange(ENVS))
    single = Model(scene_of(kind), 1, lanes=1)
    for row in range(ENVS):
        for step, (found, wanted) in enumerate(zip(together, simulate(single, np.array([row])), strict=True)):
            for name, value in wanted.items():
                assert found[name][row].tobytes() == value[0].tobytes(), (row, step, name)
