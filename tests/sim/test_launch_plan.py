"""A step cut into many launches is the same step, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.colliders import Plane, Sphere
from pbd_gym.geometry.grids import LYING
from pbd_gym.geometry.tetmeshes import box
from pbd_gym.materials.materials import ClothMaterial, SoftMaterial
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.costs import phase_times
from pbd_gym.sim.launch_plan import choose_schedule
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver


def everything() -> Scene:
    """A cloth that bends and a block of tetrahedra over a floor that bounces, a sphere that moves, contacts, a grip."""
    scene = Scene(contact_radius=0.01, grip_count=1)
    cloth = scene.add_cloth(
        7, 6, (0.3, 0.3), ClothMaterial(0.2, 1e-5, 1e-4, 1e-2), (0.0, 0.08, 0.0), LYING, tethers=True, lines=False
    )
    scene.add_soft_body(box((1, 1, 2), (0.1, 0.1, 0.1)), SoftMaterial(1000.0, 1e5, 0.45), (0.0, 0.2, 0.0))
    scene.add_collider(Plane(friction=0.5, restitution=0.3))
    scene.add_collider(Sphere((0.05, 0.0, 0.0), 0.05), moving=True)
    scene.add_particle_contacts(cloth.indices.ravel(), 0.02, friction=0.3)
    return scene


def run(schedule: Any, dtype: Any = "float32", envs: int = 3, **options: Any) -> tuple[np.ndarray, ...]:
    scene = everything()
    model = Model(scene, envs, dtype=dtype, lanes=4)
    solver = Solver(model, 4, damping=0.3, schedule=schedule, threads=1, **options)
    assert solver.schedule == schedule
    state, control = solver.state(), solver.control()
    state.set_positions(scene.positions[None] + 0.01 * np.arange(envs)[:, None, None])
    state.hold(np.zeros((envs, 1), dtype=np.int32))
    control.move((0.0, 0.02, 0.01))
    control.move_collider(1, (0.01, 0.02, 0.0), (0.0, 0.1, 0.0))
    for _ in range(8):
        solver.step(state, control, 1 / 30)
    return state.get_positions(), state.get_velocities(), state.get_poses(), state.diverged.numpy().copy()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"iterations": 3, "method": "symmetric", "chebyshev": 0.4},
        {"iterations": 2, "method": "jacobi", "relaxation": 0.8},
    ],
    ids=["plain", "symmetric", "jacobi"],
)
def test_launches_by_color_give_the_same_bits(options: dict[str, Any]) -> None:
    """Guards every part of the step: one left out, or done twice or too early, changes what comes out."""
    for found, expected in zip(run("colors", **options), run("block", **options), strict=True):
        assert np.isfinite(found).all()
        assert_array_equal(found, expected)


def test_the_bits_move() -> None:
    """Guards the test above, which must be able to fail: another order of the contacts is another result."""
    assert (run("colors")[0] != run("colors", iterations=2)[0]).any()


def test_a_cpu_does_whole_steps() -> None:
    """Guards the choice: on a CPU there is one thread for a group, whatever its size."""
    scene = Scene()
    scene.add_cloth(60, 60, lines=False)
    assert choose_schedule(Model(scene, 1)) == "block"
    with pytest.raises(ValueError, match="schedule must be"):
        Solver(Model(scene, 1), substeps=10, schedule="graph")  # type: ignore[arg-type]


@pytest.mark.parametrize("threads", [1, 2])
def test_phases_are_timed(threads: int) -> None:
    """Guards what is measured: all phases of a step that is one like any other, for all threads."""
    states = []
    for timed in (True, False):
        model = Model(everything(), 6, lanes=4)
        solver = Solver(model, 3, schedule="colors", threads=threads)
        assert solver.threads == threads
        state, control = solver.state(), solver.control()
        if timed:
            found = phase_times(solver, state, control, 1 / 30)
            names = {"grips", "predict", "place", "tethers", "particle contacts", "collider contacts and advance"}
            assert names < found.keys()
            assert sum(name.startswith("sweep, colour") for name in found) == model.color_count
            assert list(found.values()) == sorted(found.values(), reverse=True)
            assert min(found.values()) > 0
        else:
            for _ in range(2):
                solver.step(state, control, 1 / 30)
        states.append(state.get_positions())
    assert_array_equal(states[0], states[1])
    with pytest.raises(ValueError, match="schedule='colors', not 'block'"):
        phase_times(Solver(model, 3, schedule="block"), state, control, 1 / 30)
