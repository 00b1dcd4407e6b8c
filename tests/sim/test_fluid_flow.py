"""Nozzles and drains: how much comes out, where it is put, and what a saved state knows of it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym import Box, Model, Scene, Solver

S = 0.02


@pytest.mark.parametrize(
    ("speed", "h"), [(0.3, 0.005), (1.3, 0.005), (1.9, 0.01), (2.5, 0.005), (3.5, 0.005), (9.0, 0.005)]
)
def test_as_much_comes_out_as_flows_through(speed: float, h: float) -> None:
    """Speed times area at any speed and step; each particle a spacing behind the one before, and none nearer."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_fluid_emitter((0, 0, 0), (1.0, 0.0, 0.0), speed, 1.2 * S, count=400, spacing=S)
    solver = Solver(Model(scene, 2, dtype="float64"), substeps=3, threads=1)
    state, control = solver.state(), solver.control()
    control.set_emission([[1.0], [0.6]])
    for step in range(1, 9):
        solver.step(state, control, 3 * h)
        for env, factor in enumerate((1.0, 0.6)):
            way = (3 * step - 1) * h * factor * speed  # since the first particle left, at the start of a substep
            x = state.get_positions()[env]
            x = x[(x != scene.fluid.depot).any(axis=1)]
            assert len(x) == 5 * (1 + int(way / S + 1e-6))
            along = np.sort(x[:, 0])[::5]
            assert_allclose(np.diff(along), S, atol=0.02 * S)
    gaps = np.linalg.norm(x[:, None] - x, axis=2) + np.eye(len(x))
    assert gaps.min() > 0.97 * S


def test_a_saved_state_knows_what_is_due() -> None:
    """Guards what nozzles remember: saved, restored into another batch, and forgotten when a state is reset."""
    scene = Scene()
    scene.add_fluid_emitter((0, 0, 0), (0.0, -1.0, 0.0), 1.37, 1.2 * S, count=60, spacing=S)
    scene.add_fluid_drain((-1.0, -0.3, -1.0), (1.0, -0.1, 1.0))
    solver = Solver(Model(scene, 2), substeps=3, threads=1)
    state, control = solver.state(), solver.control()
    fresh = state.save()
    for _ in range(10):
        solver.step(state, control, 0.01)
    saved = state.save()
    assert saved["memory"].shape == (2, 5) and (saved["memory"] != 0.0).all()
    other = Solver(Model(scene, 3), substeps=3, threads=1)
    again, still = other.state(), other.control()
    again.load(saved, np.array([1, 0, 0]))
    for _ in range(10):
        solver.step(state, control, 0.01)
        other.step(again, still, 0.01)
    assert_array_equal(again.get_positions()[[1, 0]], state.get_positions())
    assert_array_equal(again.get_positions()[2], state.get_positions()[0])
    state.reset()
    for name, value in fresh.items():
        assert_array_equal(state.save()[name], value)


def test_what_comes_out_keeps_clear_of_plates_and_of_other_nozzles() -> None:
    """Guards places in front of a nozzle, which is as far as the last particle went: a plate, another fast jet."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_collider(Box((0.05, 0.0, 0.0), (0.01, 0.2, 0.2)))
    scene.add_fluid_emitter((0, 0, 0), (1.0, 0.0, 0.0), 20.0, 1.2 * S, count=200, spacing=S)
    solver = Solver(Model(scene, 1), substeps=1, threads=1)
    state, control = solver.state(), solver.control()
    for _ in range(20):
        solver.step(state, control, 0.005)
        assert state.get_positions()[..., 0].max() < 0.04
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    for x in (-1.0, 1.0):
        scene.add_fluid_emitter((2.0 * S * x, 0, 0), (-x, 0.0, 0.0), 16.0, 0.5 * S, count=20, spacing=S)
    solver = Solver(Model(scene, 1), substeps=1, threads=1)
    state, control = solver.state(), solver.control()
    waiting = np.float32(scene.fluid.depot)
    before = state.get_positions()[0]
    for _ in range(2):
        solver.step(state, control, 0.005)
        after, v = state.get_positions()[0], state.get_velocities()[0]
        new = (before == waiting).all(axis=1) & (after != waiting).any(axis=1)
        places = (after - 0.005 * v)[new]  # at the start of the substep
        gaps = np.linalg.norm(places[:, None] - places, axis=2) + np.eye(len(places))
        assert len(places) >= 2 and gaps.min() > 0.79 * S
        before = after


def test_water_comes_out_of_a_nozzle_and_goes_down_a_drain() -> None:
    """Rate, speed, closing; what has gone waits, comes out again, and a saved state knows it."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    jet = scene.add_fluid_emitter((0, 0, 0), (2.0, 0.0, 0.0), 1.0, 1.2 * S, count=60, spacing=S)
    scene.add_fluid_drain((0.2, -1, -1), (0.4, 1, 1))
    depot, sites = scene.fluid.depot, len(scene.fluid.emitters[0].sites)
    assert sites == 5
    model = Model(scene, 2)
    solver = Solver(model, substeps=5, threads=1)
    state, control = solver.state(), solver.control()
    control.set_emission([[1.0], [0.0]])

    def there() -> np.ndarray:
        return (state.get_positions() != depot.astype(np.float32)).any(axis=2)

    # A layer leaves every S / speed = 20 ms, four substeps of 5 ms.
    for step in range(6):
        solver.step(state, control, 0.025)
        layers = 1 + (5 * step + 4) // 4
        assert there().sum(axis=1).tolist() == [min(layers * sites, 60), 0]
    flying = there()[0]
    assert_allclose(state.get_velocities()[0, flying, 0], 1.0, atol=0.05)
    for _ in range(20):  # beyond x = 0.2 there is none, and the jet never runs out
        solver.step(state, control, 0.025)
        x = state.get_positions()[0]
        assert x[:, 0].max() < 0.2 + 0.006
        assert 45 <= there()[0].sum() <= 60
    saved = state.save()
    ends = []
    for _ in range(2):
        state.load(saved)
        solver.step(state, control, 0.025)
        ends.append(state.get_positions())
    assert_array_equal(*ends)
    control.set_emission(0.0)
    for _ in range(12):
        solver.step(state, control, 0.025)
    assert not there().any()
    assert_array_equal(state.get_velocities()[:, jet], 0.0)
    with pytest.raises(ValueError, match="must not be negative"):
        control.set_emission(-1.0)


def test_a_nozzle_in_a_plane_stays_in_it() -> None:
    """Guards two dimensions: what comes out has the z of the nozzle, side by side, and goes on in the plane."""
    scene = Scene(gravity=(0.0, -2.0, 0.0))
    scene.add_fluid_emitter((0, 0, 0.3), (0.6, -0.8, 0.0), 1.0, 1.2 * S, count=30, spacing=S, dimension=2)
    sites = scene.fluid.emitters[0].sites
    assert_allclose(sorted(sites @ (0.8, 0.6, 0.0)), [-S, 0.0, S], atol=1e-12)
    solver = Solver(Model(scene, 2), substeps=5, threads=1)
    state, control = solver.state(), solver.control()
    for _ in range(6):
        solver.step(state, control, 0.025)
    assert_array_equal(state.get_positions()[:, :, 2], np.float32(0.3))
    assert (state.get_positions()[:, :, 1] < -0.5 * S).sum() >= 2 * 18
