"""Edges that give way: the flow rule against its closed form, and a block of clay that is pressed and let go."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym import Model, Plasticity, Scene, SoftMaterial, Solver, State
from pbd_gym.geometry.tetmeshes import box

from .helpers import NO_GRAVITY

MESH = box((3, 3, 3), (0.1, 0.1, 0.1))
TOP = np.flatnonzero(MESH.positions[:, 1] > 0.0499)
BOTTOM = np.flatnonzero(MESH.positions[:, 1] < -0.0499)
PRESS = 0.03
"""How far the block is pressed, of its height of 0.1 [m]."""


@pytest.mark.parametrize("direction", [1.0, -1.0])
@pytest.mark.parametrize("rate", [20.0, np.inf])
def test_flow_follows_its_rule(rate: float, direction: float) -> None:
    """Guards yield, rate and limit: the strain beyond the yield falls by 1 / (1 + rate h) each substep.

    Both ends are pinned, stretched or squeezed by 0.3, so nothing but the permanent strain changes.
    """
    scene = Scene(gravity=NO_GRAVITY)
    scene.add_particles([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]], 1.0)
    scene.pin([0, 1])
    for most in (0.9, 0.1):
        scene.add_constraints(
            "plastic_distance", [[0, 1]], yield_strain=0.05, creep_rate=rate, max_strain=most, compliance=1e-3
        )
    solver = Solver(Model(scene, dtype="float64"), substeps=5, iterations=2)
    state = solver.state()
    state.set_positions([[0.0, 0.0, 0.0], [2.0 + 0.6 * direction, 0.0, 0.0]])
    solver.step(state, solver.control(), 0.05)
    flown = 0.25 * (1.0 - (0.0 if rate == np.inf else (1.0 + 0.01 * rate) ** -5.0))
    assert_allclose(state.get_memory()[0], direction * np.array([flown, min(flown, 0.1)]), rtol=1e-12)


def test_below_the_yield_nothing_flows() -> None:
    """Guards the elastic range: the permanent strain is exactly zero."""
    scene = Scene(gravity=NO_GRAVITY)
    scene.add_particles([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], 1.0)
    scene.add_constraints("plastic_distance", [[0, 1]], yield_strain=0.1, compliance=1e-3)
    solver = Solver(Model(scene), substeps=10)
    state = solver.state()
    state.set_positions([[0.0, 0.0, 0.0], [1.09, 0.0, 0.0]])
    for _ in range(20):
        solver.step(state, solver.control(), 0.02)
    assert_array_equal(state.get_memory(), 0.0)


def test_flow_takes_energy_and_no_momentum() -> None:
    """Guards passivity: two masses on a yielding spring swing ever less, about a centre that moves on as it did."""
    scene = Scene(gravity=NO_GRAVITY)
    mass = np.array([1.0, 3.0])
    scene.add_particles([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], mass, [[0.5, 0.2, 0.0], [-0.1, 0.3, 0.2]])
    scene.add_constraints("plastic_distance", [[0, 1]], yield_strain=0.02, creep_rate=5.0, compliance=1e-2)
    solver = Solver(Model(scene, dtype="float64"), substeps=20)
    state = solver.state()
    v = state.get_velocities()[0]
    momentum, energy = mass @ v, 0.5 * mass @ (v**2).sum(1)
    for _ in range(100):
        solver.step(state, solver.control(), 0.02)
        v, x = state.get_velocities()[0], state.get_positions()[0]
        stretch = np.linalg.norm(x[1] - x[0]) - 1.0 - state.get_memory()[0, 0]
        assert_allclose(mass @ v, momentum, atol=1e-11)
        assert 0.5 * mass @ (v**2).sum(1) + 0.5 * stretch**2 / 1e-2 <= energy * (1 + 1e-9)
    assert np.abs(state.get_memory()).max() > 5e-3


def block(plasticity: Plasticity | None, num_envs: int = 1, **options: Any) -> tuple[Solver, State]:
    """Build a block that is held at its top and bottom."""
    scene = Scene(gravity=NO_GRAVITY, grip_count=len(TOP) + len(BOTTOM))
    material = SoftMaterial(young_modulus=2e4, poisson_ratio=0.4, model="edges_and_volumes", plasticity=plasticity)
    scene.add_soft_body(MESH, material)
    solver = Solver(Model(scene, num_envs, **options), substeps=10, damping=5.0, threads=1)
    state = solver.state()
    state.hold(np.concatenate([TOP, BOTTOM]))
    return solver, state


def press(solver: Solver, state: State, steps: int = 30, depth: Any = PRESS) -> None:
    """Move the top towards the bottom in half a second; ``depth`` may be one number for each environment."""
    control = solver.control()
    motion = np.zeros((solver.model.num_envs, len(TOP) + len(BOTTOM), 3))
    motion[:, : len(TOP), 1] = -np.reshape(depth, (-1, 1)) / 30
    control.move(motion)
    for _ in range(steps):
        solver.step(state, control, 1 / 60)


def let_go(solver: Solver, state: State, steps: int = 120) -> None:
    """Release the block and wait two seconds."""
    state.hold(-1)
    for _ in range(steps):
        solver.step(state, solver.control(), 1 / 60)


def height(x: np.ndarray) -> Any:
    """Height of the block [m], from the middle of its top to that of its bottom."""
    return x[..., TOP, 1].mean(-1) - x[..., BOTTOM, 1].mean(-1)


def volume(x: np.ndarray) -> float:
    """Volume of the block [m^3]."""
    corners = x[MESH.tets]
    return float(np.linalg.det(corners[:, 1:] - corners[:, :1]).sum() / 6.0)


def test_clay_keeps_its_new_shape_and_its_volume() -> None:
    """Guards the purpose: pressed by 30 %, clay keeps most of it where rubber comes back, and neither loses volume."""
    kept, volumes = {}, {}
    for name, plasticity in (("rubber", None), ("clay", Plasticity())):
        solver, state = block(plasticity)
        press(solver, state)
        assert_allclose(height(state.get_positions()[0]), 0.1 - PRESS, rtol=1e-4)
        let_go(solver, state)
        x = state.get_positions()[0]
        kept[name], volumes[name] = (0.1 - height(x)) / PRESS, volume(x) / 1e-3 - 1.0
        assert not state.diverged.numpy().any()
    assert abs(kept["rubber"]) < 0.05
    assert 0.7 < kept["clay"] < 0.8
    assert max(map(abs, volumes.values())) < 0.005


def test_environments_give_way_each_by_itself() -> None:
    """Guards lanes: whatever the batch and the lane, an environment has the same bits, and its own shape."""
    depths = np.linspace(0.0, PRESS, 5)
    found = {}
    for lanes in (1, 4, 8):
        solver, state = block(Plasticity(), 5, lanes=lanes)
        press(solver, state, 20, depths)
        let_go(solver, state, 5)
        found[lanes] = state.get_positions(), state.get_memory()
    for other in (4, 8):
        for mine, first in zip(found[other], found[1], strict=True):
            assert_array_equal(mine, first)
    assert (np.diff(np.abs(found[1][1]).sum(1)) > 0).all()
    assert_array_equal(found[1][1][0], 0.0)


def test_save_load_and_reset() -> None:
    """Guards the state: permanent strains go with it, to any row of any batch, and start anew with :meth:`reset`."""
    solver, state = block(Plasticity(), 3, lanes=4)
    press(solver, state, 20, np.array([0.01, 0.02, 0.03]))
    saved = state.save()
    let_go(solver, state, 10)
    ends = state.get_positions()
    other_solver, other = block(Plasticity(), 2, lanes=1)
    other.load(saved, np.array([2, 0]))
    assert_array_equal(other.get_memory(), saved["memory"][[2, 0]])
    let_go(other_solver, other, 10)
    assert_array_equal(other.get_positions(), ends[[2, 0]])
    state.reset()
    assert_array_equal(state.get_memory(), 0.0)
    with pytest.raises(ValueError, match="memory must be finite"):
        state.load(saved | {"memory": saved["memory"] * np.nan})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"yield_strain": -0.1}, "yield_strain"),
        ({"yield_strain": 0.1, "creep_rate": 0.0}, "creep_rate"),
        ({"yield_strain": 0.1, "creep_rate": np.nan}, "creep_rate"),
        ({"yield_strain": 0.1, "max_strain": 1.0}, "max_strain"),
        ({"yield_strain": 0.1, "rest_length": 0.0}, "rest_length"),
    ],
)
def test_bad_numbers_are_named(parameters: dict[str, Any], message: str) -> None:
    scene = Scene()
    scene.add_particles([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], 1.0)
    with pytest.raises(ValueError, match=message):
        scene.add_constraints("plastic_distance", [[0, 1]], **parameters)


def test_bad_materials_are_named() -> None:
    for bad in ({"yield_strain": -1.0}, {"creep_rate": 0.0}, {"max_strain": 1.0}, {"yield_strain": np.nan}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            Plasticity(**bad)
    with pytest.raises(ValueError, match="edges_and_volumes"):
        SoftMaterial(plasticity=Plasticity())
