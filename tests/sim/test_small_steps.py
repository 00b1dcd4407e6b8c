"""Substeps as short as anybody likes, metres away from the origin: what float32 rounds off does not count."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pbd_gym.geometry.tetmeshes import box
from pbd_gym.materials.materials import RopeMaterial
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.control import Control
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State

GRAVITY = 9.81
COMPLIANCE = 1e-3


def start(scene: Scene, h: float, ctrl_dt: float = 1 / 60, **given: Any) -> tuple[Solver, State, Control]:
    solver = Solver(Model(scene, **given), substeps=round(ctrl_dt / h), damping=6.0, far=1e3)
    return solver, solver.state(), solver.control()


def spring(y: float) -> Scene:
    """Return 1 kg that hangs on a spring from a pin at the height y."""
    scene = Scene()
    scene.add_particles([(y, y, 0.0), (y, y - 0.5, 0.0)], mass=1.0)
    scene.pin([0])
    scene.add_distance_constraints([[0, 1]], COMPLIANCE)
    return scene


@pytest.mark.parametrize("ctrl_dt", [1 / 60, 1 / 600])
@pytest.mark.parametrize("h", [1 / 600, 1 / 2400, 5e-5])
@pytest.mark.parametrize("y", [1.0, 3.0, 10.0])
def test_a_weight_hangs_as_far_down_as_its_spring_says(y: float, h: float, ctrl_dt: float) -> None:
    solver, state, control = start(spring(y), h, ctrl_dt)
    for _ in range(round(2.0 / ctrl_dt)):
        solver.step(state, control, ctrl_dt)
    extension = y - 0.5 - float(state.get_positions()[0, 1, 1])
    assert extension == pytest.approx(COMPLIANCE * GRAVITY, rel=0.01)


def rope(scene: Scene, y: float) -> None:
    scene.add_rope(np.linspace((0.0, y, 0.0), (0.3, y, 0.0), 7), RopeMaterial(0.02, 1e-6, None), lines=True)


def block(scene: Scene, y: float) -> None:
    scene.add_rigid_body(box((1, 1, 1), (0.1, 0.1, 0.1)), 500.0, position=(0.0, y, 0.0))


@pytest.mark.parametrize("make", [rope, block])
def test_bodies_fall_as_they_must(make: Callable[[Scene, float], None]) -> None:
    """Guards lines and rigid bodies; a cloth two metres up fell 2.98 m in place of 4.9 once."""
    scene = Scene(contact_radius=0.0)
    make(scene, 10.0)
    solver = Solver(Model(scene), substeps=333)
    state, control = solver.state(), solver.control()
    before = state.get_positions()[0].astype(np.float64)
    for _ in range(6):
        solver.step(state, control, 1 / 60)
    fallen = state.get_positions()[0] - before
    assert -fallen[:, 1].mean() == pytest.approx(0.5 * GRAVITY * 0.1**2, rel=0.003)
    assert np.abs(fallen - fallen.mean(axis=0)).max() < 2e-6  # two roundings
    assert -state.get_velocities()[0, :, 1] == pytest.approx(0.1 * GRAVITY, rel=1e-4)


def test_steps_in_double_leave_nothing_behind() -> None:
    """Guards what a state is: all that a step depends on, the same in every lane, and what is loaded goes on alike."""
    found = []
    for lanes, count in ((1, 1), (4, 5)):
        solver, state, control = start(spring(3.0), 1 / 2400, num_envs=count, lanes=lanes)
        for _ in range(5):
            solver.step(state, control, 1 / 60)
        saved = state.save()
        for _ in range(3):
            solver.step(state, control, 1 / 60)
        other = solver.state()
        other.load(saved)
        for _ in range(3):
            solver.step(other, control, 1 / 60)
        np.testing.assert_array_equal(other.get_positions(), state.get_positions())
        found += [*state.get_positions()]
    for row in found[1:]:
        np.testing.assert_array_equal(row, found[0])


def test_scenes_near_the_origin_stay_in_single_precision() -> None:
    model = Model(spring(1.0))
    assert not Solver(model, substeps=20).works_in_double(1 / 60)
    assert Solver(model, substeps=40).works_in_double(1 / 60)
    assert not Solver(model, substeps=40, double=False).works_in_double(1 / 60)
    assert Solver(model, substeps=1, double=True).works_in_double(1 / 60)
    assert Solver(Model(spring(10.0)), substeps=10).works_in_double(1 / 60)
    with pytest.raises(TypeError, match="double"):
        Solver(model, double="yes")  # type: ignore[arg-type]


def test_what_float32_cannot_do_is_said_once() -> None:
    solver, state, control = start(spring(0.9), 1 / 600)
    solver.step(state, control, 1 / 60)
    state.set_positions(state.get_positions() + np.float32(50.0))
    solver.step(state, control, 1 / 60)
    for _ in range(29):
        solver.step(state, control, 1 / 60)
    with pytest.warns(RuntimeWarning, match=r"50\.\d m from the origin.*double=True"):
        for _ in range(3):
            solver.step(state, control, 1 / 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(40):
            solver.step(state, control, 1 / 60)
    far = Solver(Model(spring(1e5)), substeps=10)
    with pytest.warns(RuntimeWarning, match="move the scene to the origin"):
        far.step(far.state(), far.control(), 1 / 60)
