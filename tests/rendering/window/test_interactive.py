"""What is read and turned while a simulation runs, beside what a new simulation would do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.colliders import Plane
from pbd_gym.materials.materials import ClothMaterial
from pbd_gym.rendering.window.dials import Dial
from pbd_gym.rendering.window.interactive import InteractiveSimulation
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver

STEP = 1 / 30


def make(friction: float = 0.4, gravity: float = -9.81, **solver: Any) -> InteractiveSimulation:
    scene = Scene(gravity=(0.0, gravity, 0.0), grip_count=1)
    scene.add_cloth(4, 5, (0.4, 0.3), ClothMaterial(bend_compliance=0.1), (0.0, 0.5, 0.0), lines=False)
    scene.pin([0])
    if friction:
        scene.add_collider(Plane(friction=friction))
    found = Solver(Model(scene), **{"substeps": 6, "threads": 1, **solver})
    return InteractiveSimulation(found, found.state(), found.control(), STEP, 0)


def run(live: InteractiveSimulation, steps: int = 8) -> np.ndarray:
    for _ in range(steps):
        live.solver.step(live.state, live.control, live.ctrl_dt)
        live.control.motion.zero_()
    return live.state.get_positions()[0]


def turn(live: InteractiveSimulation, name: str, value: Any) -> None:
    (dial,) = (dial for dial in live.dials() if dial.name == name)
    dial.turn(value)
    assert dial.read() == pytest.approx(value)


def test_dials_do_what_another_simulation_does() -> None:
    live, other = make(), make(gravity=-3.0, substeps=9, iterations=2)
    for name, value in (("gravity [m/s²]", -3.0), ("substeps", 9), ("iterations", 2), ("time step [ms]", 20.0)):
        turn(live, name, value)
    other.ctrl_dt = 0.02
    assert_allclose(run(live), run(other), atol=2e-6)


def test_stiffness_mass_and_friction_are_factors() -> None:
    live = make()
    names = [dial.name for dial in live.dials()]
    for label in ("stretch", "shear", "bend"):
        turn(live, f"stiffness factor, {label}", 0.1)
    turn(live, "mass factor", 2.0)
    turn(live, "friction factor", 0.5)
    found = live.state.get_parameters()
    assert found["stiffness"]["bend"][0] == pytest.approx(0.1)
    assert (found["density"][0], found["friction"][0]) == (2.0, 0.5)
    assert "friction factor" in names
    assert "friction factor" not in [dial.name for dial in make(friction=0.0).dials()]


def test_rigid_constraints_have_no_dial() -> None:
    scene = Scene(grip_count=1)
    scene.add_particles([[0, 0, 0], [1, 0, 0], [2, 0, 0]], 1.0)
    scene.add_distance_constraints([[0, 1]], 0.0, label="rigid")
    scene.add_distance_constraints([[1, 2]], 0.1, label="soft")
    solver = Solver(Model(scene), substeps=10)
    names = [dial.name for dial in InteractiveSimulation(solver, solver.state(), solver.control(), STEP, 0).dials()]
    assert [name for name in names if "stiffness" in name] == ["stiffness factor"]


def test_what_was_turned_is_turned_again_in_another_model() -> None:
    live = make()
    turn(live, "mass factor", 3.0)
    turn(live, "substeps", 11)
    other = make(iterations=2)
    live.attach(other.solver, other.state, other.control, 0)
    assert live.state is other.state
    assert live.state.get_parameters()["density"][0] == pytest.approx(3.0)
    assert (live.solver.substeps, live.solver.iterations) == (11, 2)


def test_the_hand_takes_a_particle_along() -> None:
    live = make()
    live.hold(19)
    start = live.state.get_positions()[0, 19]
    for _ in range(5):
        live.move(np.array([0.0, 0.01, 0.02]))
        run(live, 1)
    assert_allclose(live.state.get_positions()[0, 19], start + np.array([0.0, 0.05, 0.1]), atol=1e-6)
    live.hold(None)
    assert live.state.held.numpy()[0].tolist() == [-1]


def test_pins() -> None:
    live = make()
    assert live.toggle_pin(19)
    assert not live.toggle_pin(0)
    assert_array_equal(live.pinned(), [19])


def test_energies_and_stretch_are_those_of_the_formulas() -> None:
    """m v^2 / 2, m g h, and the change of length of each spring, worked out by hand for three particles."""
    scene = Scene(gravity=(0.0, -10.0, 0.0), grip_count=1)
    scene.add_particles([[0.0, 2.0, 0.0], [1.0, 1.0, 0.0], [3.0, 1.0, 0.0]], [1.0, 2.0, 4.0])
    scene.add_distance_constraints([[0, 1], [1, 2]], 0.1, rest_length=[2.0**0.5, 1.6])
    scene.pin([0])
    solver = Solver(Model(scene), substeps=10)
    live = InteractiveSimulation(solver, solver.state(), solver.control(), STEP, 0)
    live.state.set_velocities([[[0, 0, 0], [0, 3.0, 4.0], [0.5, 0, 0]]])
    assert live.kinetic_energy() == pytest.approx(0.5 * 2 * 25 + 0.5 * 4 * 0.25)
    assert live.gravitational_energy() == pytest.approx(60.0)
    assert live.elastic_energy() == pytest.approx(0.5 * 0.4**2 / 0.1)
    strain = live.stretch()
    assert strain is not None
    assert_allclose(strain, [0.0, 0.25], atol=1e-6)
    assert "3 particles   2 constraints   stretch: mean 12.50 %, largest 25.0 %" in live.readout()
    live.state.set_parameters(density=2.0, size=2.0)
    assert live.kinetic_energy() == pytest.approx(2 * 25.5)
    assert_allclose(live.stretch(), [-0.5, -0.375], atol=1e-6)


def test_the_energy_of_gravity_is_called_that() -> None:
    """Guards a read-out that called it the potential energy, to which springs and bent cloth belong as well."""
    live = make()
    before = live.gravitational_energy()
    positions = live.state.get_positions()
    positions[0, :, 0] *= 1.5  # stretches the cloth and lifts nothing
    live.state.set_positions(positions)
    assert live.gravitational_energy() == pytest.approx(before)
    assert live.elastic_energy() > 0.0
    assert f"elastic {live.elastic_energy():.3g} J   gravitational {before:.3g} J" in live.readout()
    assert "potential" not in live.readout()


def test_a_free_fall_keeps_its_energy() -> None:
    scene = Scene(grip_count=1)
    scene.add_particles([[0.0, 1.0, 0.0]], 2.0)
    solver = Solver(Model(scene), substeps=20)
    live = InteractiveSimulation(solver, solver.state(), solver.control(), STEP, 0)
    before = live.gravitational_energy() + live.kinetic_energy()
    run(live, 5)
    assert live.kinetic_energy() > 1.0
    assert live.gravitational_energy() + live.kinetic_energy() == pytest.approx(
        before, abs=0.05
    )  # a semi-implicit step loses m g^2 h t / 2
    assert live.stretch() is None


@pytest.mark.parametrize(
    ("low", "high", "logarithmic", "whole"),
    [(0.1, 1000.0, True, False), (-5.0, 5.0, False, False), (1, 20, False, True)],
)
def test_places_on_a_scale(low: float, high: float, logarithmic: bool, whole: bool) -> None:
    value = [0.0]
    dial = Dial("x", lambda: value[0], lambda v: value.__setitem__(0, v), low, high, logarithmic, whole)
    places = np.linspace(0.0, 1.0, 20)
    for place in places:
        dial.turn(dial.value_at(place))
        assert low <= value[0] <= high
        assert dial.fraction() == pytest.approx(place, abs=0.03)
    assert (dial.value_at(0.0), dial.value_at(1.0)) == (low, high)
    middle = dial.value_at(0.5)
    assert middle == pytest.approx(10.0 if logarithmic else (low + high) / 2, abs=0.6)
    assert isinstance(middle, int) == whole
    value[0] = 10 * high  # keys may have gone beyond the scale
    assert dial.fraction() == 1.0


def test_words_have_stops() -> None:
    dial = Dial("shape", lambda: "ball", lambda v: None, choices=("box", "ball", "torus"))
    assert (dial.stops, dial.fraction(), dial.value_at(0.9), dial.text()) == (2, 0.5, "torus", "shape ball")


@pytest.mark.parametrize(("low", "high", "logarithmic"), [(1.0, 1.0, False), (0.0, 1.0, True), (0.0, np.inf, False)])
def test_bad_scales_are_refused(low: float, high: float, logarithmic: bool) -> None:
    with pytest.raises(ValueError, match="x "):
        Dial("x", lambda: 0.0, lambda v: None, low, high, logarithmic)
