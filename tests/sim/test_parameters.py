"""Environments that differ: each behaves as one alone whose scene says the same, and closed forms scale likewise."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.colliders import Plane
from pbd_gym.geometry.tetmeshes import ball
from pbd_gym.materials.materials import ClothMaterial, RopeMaterial, SoftMaterial
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State

SIZES = np.array([0.5, 1.0, 1.7])


def mixed(size: float = 1.0, density: float = 1.0, stiffness: float = 1.0, gravity: Any = (0.0, -9.81, 0.0)) -> Scene:
    """A cloth, a rope and a ball, whose scene says what parameters may say as well."""
    scene = Scene(gravity, contact_radius=0.005, grip_count=1)
    scene.add_collider(Plane())
    cloth = ClothMaterial(0.2 * density, 1e-4 / stiffness, 1e-3 / stiffness, 1e-2 / stiffness)
    scene.pin(scene.add_cloth(3, 4, (0.3 * size, 0.2 * size), cloth, lines=False).corners[:1])
    points = np.linspace([0.0, 0.0, 0.0], [0.4, 0.1, 0.0], 5) * size
    scene.add_rope(points, RopeMaterial(0.04 * density, 1e-4 / stiffness, 1e-2 / stiffness), lines=False)
    scene.add_soft_body(ball(0.1 * size, 1), SoftMaterial(80.0 * density, 1e4 * stiffness, 0.3))
    return scene


def run(solver: Solver, state: State, steps: int = 4) -> State:
    """Shake everything, hold something, and let it go in the end."""
    generator = np.random.default_rng(0)
    particles = state.model.particle_count
    state.set_positions(state.get_positions() + generator.normal(0, 0.01, (1, particles, 3)))
    state.hold(np.full((state.model.num_envs, 1), 5))
    control = solver.control()
    for step in range(steps):
        if step == steps // 2:
            state.hold(np.full((state.model.num_envs, 1), -1))
        solver.step(state, control, 0.02)
    return state


@pytest.mark.parametrize("name", ["size", "density", "stiffness", "gravity"])
def test_a_factor_is_another_scene(name: str) -> None:
    """Guards every place where a parameter enters: environments differ as scenes made with those numbers would.

    In double precision; 1e-9 m is left for rounding, which the stiff threads of the cloth amplify.
    """
    values: Any = [0.6, 1.0, 1.9] if name != "gravity" else [[0, -9.81, 0], [1.0, -3.0, 0.5], [0, 0, 0]]
    start = np.stack([mixed(**({name: value} if name == "size" else {})).positions for value in values])
    solver = Solver(Model(mixed(), 3, dtype="float64", lanes=4), substeps=5, iterations=2, damping=1.0, threads=1)
    state = solver.state()
    state.set_parameters(**{name: values})
    state.set_positions(start)
    found = run(solver, state).get_positions()
    for env, value in enumerate(values):
        alone = Solver(Model(mixed(**{name: value}), dtype="float64"), substeps=5, iterations=2, damping=1.0)
        wanted = run(alone, alone.state())
        assert_allclose(found[env], wanted.get_positions()[0], rtol=0, atol=1e-9)
        free = state.free_inv_mass_scalar.numpy()[0, :, env]
        assert_allclose(free, wanted.model.scene.inv_mass, rtol=1e-12)
        assert_array_equal(state.inv_mass_scalar.numpy()[0, :, env], free)  # what was held has its own mass back
    assert np.abs(found[0] - found[2] - start[0] + start[2]).max() > 1e-3


def test_damping_is_a_factor_of_the_rate() -> None:
    """Guards exp(-factor * rate * t), to rounding, on a particle that nothing else acts on."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_particles([[0.0, 0.0, 0.0]], 1.0, [[1.0, 2.0, 3.0]])
    solver = Solver(Model(scene, 3, dtype="float64"), substeps=7, damping=2.0)
    state = solver.state()
    state.set_parameters(damping=[0.0, 1.0, 2.5])
    solver.step(state, solver.control(), 0.1)
    wanted = np.exp(-2.0 * 0.1 * np.array([0.0, 1.0, 2.5]))[:, None] * [1.0, 2.0, 3.0]
    assert_allclose(state.get_velocities()[:, 0], wanted, rtol=1e-13)


def test_static_stretch_is_weight_over_stiffness() -> None:
    """Guards stiffness, density (a hanging mass of dimension 0) and gravity: m g / k to rounding, once at rest."""
    scene = Scene()
    ends = scene.add_particles([[0, 0, 0], [0, -1, 0]], 0.5)
    scene.pin(ends[:1])
    scene.add_distance_constraints([ends], 1e-3, 1.0)
    solver = Solver(Model(scene, 4, dtype="float64"), substeps=20, damping=20.0)
    state, control = solver.state(), solver.control()
    state.set_parameters(
        stiffness=[1.0, 0.25, 1.0, 1.0], density=[1.0, 1.0, 3.0, 1.0], gravity=np.outer([10, 10, 10, 2.5], [0, -1, 0])
    )
    for _ in range(150):
        solver.step(state, control, 0.05)
    assert_allclose(-1.0 - state.get_positions()[:, 1, 1], 0.5 * 10.0 * 1e-3 * np.array([1, 4, 3, 0.25]), rtol=1e-9)


def test_frequency_squared_is_stiffness_over_density() -> None:
    """Guards mass and stiffness together: implicit Euler's spring, s+ = beta (2 s - s-), beta = 1 / (1 + h^2 k / m)."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    ends = scene.add_particles([[0, 0, 0], [1.1, 0, 0]], 0.5)
    scene.pin(ends[:1])
    scene.add_distance_constraints([ends], 1e-2, 1.0)
    solver = Solver(Model(scene, 3, dtype="float64"), substeps=1)
    state, control = solver.state(), solver.control()
    stiffness, density = np.array([1.0, 1.0, 3.0]), np.array([1.0, 2.0, 0.5])
    state.set_parameters(stiffness=stiffness, density=density)
    beta = 1.0 / (1.0 + 0.01**2 * 100.0 * stiffness / (0.5 * density))
    now = before = np.full(3, 0.1)
    for _ in range(100):
        solver.step(state, control, 0.01)
        now, before = beta * (2.0 * now - before), now
        assert_allclose(state.get_positions()[:, 1, 0] - 1.0, now, rtol=0, atol=1e-12)


def test_masses_grow_with_length_area_and_volume() -> None:
    """Guards the dimension of each body: density times length, area or volume; loose particles keep theirs."""
    scene = mixed()
    scene.add_particles([[2.0, 2.0, 2.0]], 0.7)
    state = Solver(Model(scene, 3, lanes=4), substeps=10).state()
    state.set_parameters(size=SIZES, density=[1.0, 2.0, 1.0])
    inverse = state.free_inv_mass_scalar.numpy()[0, :, :3] / scene.inv_mass.clip(1e-9)[:, None]
    free = scene.inv_mass > 0
    for body, dimension in ((slice(0, 12), 2), (slice(12, 17), 1), (slice(17, -1), 3), (slice(-1, None), 0)):
        wanted = np.broadcast_to(1.0 / (SIZES**dimension * [1.0, 2.0, 1.0]), inverse[body].shape)
        assert_allclose(inverse[body][free[body]], wanted[free[body]], rtol=1e-6)


def test_labels_are_set_one_by_one() -> None:
    """Guards the mapping: bending alone changes the fall of a cloth that is bent, stretching alone what hangs."""
    scene = mixed()
    state = Solver(Model(scene, 2), substeps=10).state()
    assert state.model.labels == ("stretch", "shear", "bend", "elastic")
    state.set_parameters(stiffness={"bend": [2.0, 4.0], "elastic": 0.5})
    state.set_parameters(density=2.0)
    found = state.get_parameters()
    assert_array_equal(found["stiffness"]["bend"], [2.0, 4.0])
    assert_array_equal(found["stiffness"]["elastic"], [0.5, 0.5])
    assert_array_equal(found["stiffness"]["stretch"], [1.0, 1.0])
    assert_array_equal(found["density"], [2.0, 2.0])
    assert_allclose(found["gravity"], [[0, -9.81, 0]] * 2, rtol=1e-6)
    loose = Scene()
    loose.add_distance_constraints([loose.add_particles(np.eye(3)[:2], 1.0)], 1e-3, label="string")
    assert Model(loose).labels == ("string",)


@pytest.mark.parametrize("lanes", [1, 16])
def test_factors_of_one_change_no_bit(lanes: int) -> None:
    """Guards that both kernels compute the same: the one for environments that differ, and the one for all alike."""
    runs = []
    for varied in (False, True):
        solver = Solver(Model(mixed(), 3, lanes=lanes), substeps=5, iterations=2, damping=1.0)
        state = solver.state()
        if varied:
            state.set_parameters(size=[2.0, 1.0, 1.0])
            assert state.parameters.varied
            state.set_parameters(size=1.0)
        runs.append(run(solver, state).get_positions())
    assert_array_equal(runs[0], runs[1])


def varied_run(rows: list[int], lanes: int, threads: int = 1) -> dict[str, np.ndarray]:
    """Run some of 20 environments that differ in everything."""
    generator = np.random.default_rng(3)
    table = {name: generator.uniform(0.6, 1.5, 20) for name in ("size", "density", "stiffness", "friction", "damping")}
    gravity = generator.normal(0, 5, (20, 3))
    solver = Solver(Model(mixed(), len(rows), lanes=lanes), substeps=5, damping=1.0, threads=threads)
    state = solver.state()
    state.set_parameters(gravity=gravity[rows], **{name: values[rows] for name, values in table.items()})
    return run(solver, state).save()


@pytest.mark.parametrize(("lanes", "threads"), [(4, 1), (16, 2)])
def test_bits_do_not_depend_on_lane_or_batch(lanes: int, threads: int) -> None:
    """Guards the rows in their lanes: an environment has the bits that it has alone."""
    rows = [7, 0, 19, 4, 4, 12, *range(14)]
    found = varied_run(rows, lanes, threads)
    for at in (0, 2, 4, 19):
        alone = varied_run([rows[at]], 1)
        for name, value in alone.items():
            assert_array_equal(found[name][at], value[0], err_msg=name)


def test_saved_and_branched() -> None:
    """Guards a snapshot: a fresh state, which was never told of parameters, goes on with the same bits."""
    solver = Solver(Model(mixed(), 4, lanes=4), substeps=5, damping=1.0)
    state = solver.state()
    state.set_parameters(size=[0.9, 1.0, 1.1, 1.2], density=2.0, stiffness={"bend": 3.0})
    state.hold([[5], [6], [-1], [5]])
    solver.step(state, solver.control(), 0.02)
    saved = state.save()
    rows = np.array([3, 0, 0, 2])
    fresh = solver.state()
    fresh.load(saved, rows)
    state.load(saved, rows)
    assert_array_equal(fresh.get_parameters()["size"], np.float32([1.2, 0.9, 0.9, 1.1]))
    for each in (state, fresh):
        each.hold(np.full((4, 1), -1))
        solver.step(each, solver.control(), 0.02)
    for name, value in state.save().items():
        assert_array_equal(fresh.save()[name], value, err_msg=name)
    state.reset()
    assert not state.parameters.varied
    assert_array_equal(state.free_inv_mass.numpy(), solver.state().free_inv_mass.numpy())
    assert_array_equal(state.get_parameters()["density"], np.ones(4))


ERRORS: dict[str, tuple[dict[str, Any], str]] = {
    "size of zero": ({"size": [1.0, 0.0]}, "size is a factor from 0.001"),
    "negative density": ({"density": -1.0}, "density is a factor"),
    "stiffness of zero": ({"stiffness": 0.0}, "stiffness is a factor"),
    "negative friction": ({"friction": -0.1}, "friction is a factor from 0"),
    "huge damping": ({"damping": 1e7}, "damping is a factor"),
    "NaN": ({"size": float("nan")}, "size must be finite"),
    "gravity as a number of its own": ({"gravity": [1.0, 2.0]}, "gravity must broadcast"),
    "infinite gravity": ({"gravity": [0.0, np.inf, 0.0]}, "gravity must be finite"),
    "three environments": ({"density": [1.0, 2.0, 3.0]}, "density must broadcast"),
    "unknown label": ({"stiffness": {"stretch": 2.0, "shaer": 2.0}}, "no constraints are labelled 'shaer'"),
}


@pytest.mark.parametrize(("values", "words"), ERRORS.values(), ids=ERRORS.keys())
def test_refused(values: dict[str, Any], words: str) -> None:
    """Guards the checks: one error that names the parameter, and nothing has changed, not even what was good."""
    state = Solver(Model(mixed(), 2), substeps=10).state()
    before = state.save()
    with pytest.raises(ValueError, match=words):
        state.set_parameters(**{"damping": 2.0, **values})
    assert not state.parameters.varied
    for name, value in state.save().items():
        assert_array_equal(value, before[name], err_msg=name)


LABEL_ERRORS: list[tuple[Callable[[Scene], object], str]] = [
    (lambda s: s.add_particles([[0, 0, 0]], 1.0, dimension=4), "dimension must be at most 3"),
    (lambda s: s.add_particles([[0, 0, 0]], 1.0, dimension=-1), "dimension must be at least 0"),
]


@pytest.mark.parametrize(("act", "words"), LABEL_ERRORS)
def test_dimension_is_checked(act: Callable[[Scene], object], words: str) -> None:
    scene = Scene()
    with pytest.raises(ValueError, match=words):
        act(scene)
    assert scene.particle_count == 0


def test_friction_is_a_factor_on_slopes() -> None:
    """Guards friction with a plane and with gravity turned: a = g (sin - mu cos), exactly, once mu is below tan.

    As in test_contacts, rounding of n substeps adds up to n^2 eps |x| at most.
    """
    factors, angles = np.array([0.0, 0.5, 1.0, 2.0]), np.radians([30.0, 30.0, 20.0, 30.0])
    scene = Scene(contact_radius=0.01)
    scene.add_particles([[0.0, 0.01, 0.0]], 0.3)
    scene.add_collider(Plane(friction=0.3))
    substeps, h = 200, 0.002
    solver = Solver(Model(scene, 4, dtype="float64"), substeps=substeps)
    state = solver.state()
    tilted = 9.81 * np.stack([np.sin(angles), -np.cos(angles), 0.0 * angles], axis=1)
    state.set_parameters(friction=factors, gravity=tilted)
    solver.step(state, solver.control(), substeps * h)
    acceleration = 9.81 * np.maximum(np.sin(angles) - 0.3 * factors * np.cos(angles), 0.0)
    assert acceleration[-1] == 0.0 and (acceleration[:-1] > 0.1).all()
    travelled = acceleration * h**2 * substeps * (substeps + 1) / 2
    assert_allclose(state.get_positions()[:, 0, 0], travelled, rtol=0, atol=substeps**2 * 10 * 2.3e-16)


@pytest.mark.parametrize("grow", [0.25, 1.0, 3.0])
def test_particle_contacts_grow_with_the_size(grow: float) -> None:
    """Guards search and response: a cloud of another size is the cloud scaled, in lanes that differ.

    An overlap that was there before leaves with a speed, which is not scaled; there is none here.
    """
    generator = np.random.default_rng(0)
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    # Bodies of one particle each: no pair is left out for being close at rest.
    points = generator.uniform(-0.3, 0.3, (60, 3))
    for index in scene.add_particles(points, 1.0):
        scene.add_particle_contacts([index], 0.06, 0.5)
    velocities = generator.normal(0.0, 1.0, (60, 3))
    solver = Solver(Model(scene, 3, dtype="float64", lanes=4), substeps=10)
    state, control = solver.state(), solver.control()
    sizes = np.array([1.0, grow, 2.0])[:, None, None]
    spread = 2.5 * points * sizes
    state.set_parameters(size=sizes[:, 0, 0])
    state.set_positions(spread)
    state.set_velocities(-4.0 * points * sizes + 0.2 * velocities * sizes)
    for _ in range(10):
        solver.step(state, control, 0.02)
    found = state.get_positions()
    moved = np.abs(found[0] - spread[0] - 0.2 * (-4.0 * points + 0.2 * velocities)).max(axis=1)
    assert (moved > 1e-3).sum() > 10  # many have met
    assert_allclose(found[1] / grow, found[0], rtol=0, atol=1e-9)
    assert_allclose(found[2] / 2.0, found[0], rtol=0, atol=1e-9)


def test_friction_between_particles_is_a_factor() -> None:
    """Guards the coefficient of a pair: a fast approach stops as much slip as the factor allows."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_particles([(0.0, 0.0, 0.0), (0.1, 0.0, 0.0)], 1.0, [(4.0, 0.0, 0.0), (0.0, 6.0, 0.0)])
    for i in range(2):
        scene.add_particle_contacts([i], 0.05, 0.5)
    solver = Solver(Model(scene, 3, dtype="float64"), 1)
    state = solver.state()
    state.set_parameters(friction=[0.0, 1.0, 2.0])
    solver.step(state, solver.control(), 1e-6)
    v = state.get_velocities()
    assert_allclose(v[:, 1, 1] - v[:, 0, 1], [6.0, 4.0, 2.0], atol=1e-3)
