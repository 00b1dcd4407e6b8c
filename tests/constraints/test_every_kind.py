"""What every constraint kind must keep, by its name: momentum, rest, objectivity, pins, compliance, energy, bits.

A kind that is added to KINDS without a sample fails here. All kinds run together, in one scene in which no two elements
share a particle, because compiling a kernel for each would take minutes; each test looks at the elements of one kind.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym import Model, Scene, Solver
from pbd_gym.constraints import KINDS, kinds
from pbd_gym.constraints.tet_fem import COLLAPSED
from pbd_gym.kernels.lanes.wide import LANE_COUNTS
from pbd_gym.kernels.native import constant

from .helpers import rotations
from .samples import COUNT, SAMPLES, deformed, every_sample

SLACK = constant("SLACK")

EPS = float(np.finfo(np.float64).eps)
NAMES = [kind.name for kind in KINDS]
H = 0.05
"""Step [s]."""

scene_of = functools.cache(lambda seed, **more: every_sample(np.random.default_rng(seed), **more))
"""Scene of every kind, and the particles of each, by a seed."""


@functools.cache
def solver_of(scene: Scene, **options: Any) -> Solver:
    """A solver in double precision; scenes are told apart by what they are, not by what is in them."""
    return Solver(Model(scene, dtype="float64"), substeps=1, **options)


@functools.cache
def stepped(scene: Scene, x: bytes, v: bytes, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    solver = solver_of(scene, **options)
    state = solver.state()
    state.set_positions(np.frombuffer(x).reshape(-1, 3))
    state.set_velocities(np.frombuffer(v).reshape(-1, 3))
    solver.step(state, solver.control(), H)
    found = state.get_positions()[0], state.get_velocities()[0]
    for values in found:
        values.setflags(write=False)
    return found


def moved(scene: Scene, x: np.ndarray, v: np.ndarray | float = 0.0, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and velocities after one step of ``H`` in double precision, shape (n, 3) each.

    Tests of all kinds ask for the same steps, which are made once.
    """
    return stepped(scene, x.tobytes(), np.broadcast_to(np.asarray(v, float), x.shape).tobytes(), **options)


def step(scene: Scene, x: np.ndarray, v: np.ndarray | float = 0.0, iterations: int = 1, **options: Any) -> np.ndarray:
    """Return positions alone, of sweeps that do not subtract their softening."""
    return moved(scene, x, v, iterations=iterations, compensate=False, **options)[0]


def test_every_kind_has_a_sample() -> None:
    """Guards these tests themselves: a new kind is held to them once its sample stands in samples.py."""
    assert set(SAMPLES) == set(NAMES)


def upright(kind: str, rest: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return which elements are solved once: not those that are helped up, the second time from where the first led.

    Args:
        kind: of the elements.
        rest: positions of their particles at rest [m], shape (m, k, 3).
        points: where they are [m], likewise.
    """
    if kinds()[kind].rescue is None:
        return np.ones(len(points), dtype=bool)
    before, after = (np.linalg.det(x[:, 1:] - x[:, :1]) for x in (rest, points))
    return np.asarray(after > 1.001 * COLLAPSED * before)


@pytest.mark.parametrize("kind", NAMES)
def test_projection_conserves_momentum(kind: str) -> None:
    """Guards gradients and weights: sum m dx = 0 and sum m x cross dx = 0 for each element, x before the projection.

    A correction is a sum of some ten rounded products: 100 eps of the largest term are allowed.
    """
    scene, members = scene_of(1)
    x = deformed(scene, np.random.default_rng(1))
    at = members[kind]
    at = at[upright(kind, scene.positions[at], x[at])]
    mass, points = 1.0 / scene.inv_mass[at][:, :, None], x[at]
    shift = mass * (step(scene, x) - x)[at]
    assert np.median(np.abs(shift).max((1, 2))) > 1e-3  # it does something
    size = (mass * np.abs(points)).max((1, 2))[:, None]
    assert (np.abs(shift.sum(1)) < 100 * EPS * size).all()
    assert (np.abs(np.cross(points, shift).sum(1)) < 300 * EPS * size).all()


@functools.cache
def measured() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """C of every element at deformed positions, shape (COUNT,), and its gradient by differences, (COUNT, k, 3).

    Where every particle is pinned, nothing moves and an element takes up its multiplier alone, ``-C / alpha``.
    """
    scene, members = every_sample(np.random.default_rng(12))
    scene.pin(np.arange(scene.particle_count))
    solver = Solver(Model(scene, dtype="float64"), substeps=1, iterations=2)
    state, control = solver.state(), solver.control()

    def values(x: np.ndarray) -> dict[str, np.ndarray]:
        state.set_positions(x)
        solver.step(state, control, H)
        by_kind = np.split(state.get_lambda()[0], len(members))
        return {name: -lam * alpha_of(scene, name) for name, lam in zip(NAMES, by_kind, strict=True)}

    x, delta = deformed(scene, np.random.default_rng(12)), 1e-5
    gradients = {kind: np.zeros((*at.shape, 3)) for kind, at in members.items()}
    for k in range(max(at.shape[1] for at in members.values())):
        for axis in range(3):
            both = []
            for sign in (1.0, -1.0):
                moved = x.copy()
                for at in members.values():
                    moved[at[:, min(k, at.shape[1] - 1)], axis] += sign * delta
                both.append(values(moved))
            for kind, at in members.items():
                if k < at.shape[1]:
                    gradients[kind][:, k, axis] = (both[0][kind] - both[1][kind]) / (2 * delta)
    return values(x), gradients


def alpha_of(scene: Scene, kind: str) -> np.ndarray:
    """Compliance over the square of the step, shape (COUNT,)."""
    return np.concatenate(scene.constraints[kind].values["compliance"]) / H**2


# A pinned particle of a cluster counts as a heavy one, and C cannot be had by pinning: see test_shape_matching.py.
@pytest.mark.parametrize("kind", [name for name in NAMES if name != "shape_matching"])
def test_step_is_that_of_the_constraint(kind: str) -> None:
    """Guards that C and its gradients belong together: ``dx = -W g C / (g W g + alpha)`` with g by differences of C.

    A program that has a factor in the one and not in the other (as a published one has for volumes) fails here.
    Central differences over 1e-5 m are good to some 1e-9.
    """
    scene, members = scene_of(12)
    x, at = deformed(scene, np.random.default_rng(12)), members[kind]
    shift = (step(scene, x) - x)[at]
    value, gradient = (found[kind] for found in measured())
    w = scene.inv_mass[at][:, :, None]
    total = (w * gradient**2).sum((1, 2)) + alpha_of(scene, kind)
    wanted = -w * gradient * (value / total)[:, None, None]
    assert np.median(np.abs(wanted).max((1, 2))) > 1e-4
    off = np.abs(shift - wanted).max((1, 2)) / np.abs(wanted).max((1, 2)).clip(1e-3)
    off = off[upright(kind, scene.positions[at], x[at])]
    if kind == "line":  # one that is so taut that it is solved for in rounds goes elsewhere: see test_taut_line.py
        length = np.linalg.norm(x[at[:, 0]] - x[at[:, 1]], axis=1)
        slack = w.max((1, 2)) * np.abs(value) / total / length <= SLACK
        assert slack.mean() > 0.9
        off = off[slack]
    assert (off < 1e-7).all()


@pytest.mark.parametrize("kind", NAMES)
def test_many_iterations_conserve_linear_momentum(kind: str) -> None:
    """Guards later iterations, which go on from the multiplier: 20 of them leave sum m dx = 0."""
    scene, members = scene_of(2)
    rng = np.random.default_rng(2)
    x, v = deformed(scene, rng), rng.normal(size=scene.positions.shape)
    at = members[kind]
    mass = 1.0 / scene.inv_mass[at][:, :, None]
    shift = mass * (step(scene, x, v, 20) - (x + H * v))[at]
    size = (mass * (np.abs(x) + H * np.abs(v))[at]).max((1, 2))[:, None]
    assert (np.abs(shift.sum(1)) < 1000 * EPS * size).all()


@functools.cache
def resting() -> list[tuple[np.ndarray, np.ndarray]]:
    """Return rest positions, turned and shifted, and where they are after 200 substeps."""
    scene, _ = scene_of(3)
    solver = Solver(Model(scene, dtype="float64"), substeps=100)
    state, found = solver.state(), []
    for turn in rotations(3):
        start = scene.positions @ turn.T + [0.3, -0.2, 0.1]
        state.set_positions(start)
        state.set_velocities(0.0)
        for _ in range(2):
            solver.step(state, solver.control(), 0.1)
        found.append((start, state.get_positions()[0]))
    return found


@pytest.mark.parametrize("kind", NAMES)
def test_rest_shape_stays_wherever_it_is(kind: str) -> None:
    """Guards the rest state: turned and shifted it has no energy, and 200 substeps move it by rounding alone."""
    at = scene_of(3)[1][kind]
    for start, end in resting():
        assert_allclose(end[at], start[at], rtol=0, atol=200**2 * EPS)


@pytest.mark.parametrize("kind", NAMES)
def test_correction_turns_with_the_element(kind: str) -> None:
    """Guards objectivity: an element that is turned and shifted is corrected by the turned correction."""
    scene, members = scene_of(4)
    x, at = deformed(scene, np.random.default_rng(4)), members[kind]
    plain = (step(scene, x, iterations=3) - x)[at]
    assert np.abs(plain).max() > 1e-2
    for turn in rotations(4)[1:]:
        moved = x @ turn.T + [0.3, -0.2, 0.1]
        assert_allclose((step(scene, moved, iterations=3) - moved)[at], plain @ turn.T, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", NAMES)
def test_lone_elements_need_no_under_relaxation(kind: str) -> None:
    """Guards Jacobi: where no two constraints share a particle, all at once is one after the other."""
    scene, members = scene_of(10)
    x, at = deformed(scene, np.random.default_rng(10)), members[kind]
    together, each = step(scene, x, iterations=3, method="jacobi"), step(scene, x, iterations=3)
    assert np.abs(each - x)[at].max() > 1e-2
    assert_allclose(together[at], each[at], rtol=0, atol=10 * EPS)


@pytest.mark.parametrize("kind", NAMES)
def test_strong_damping_stops_the_motion_along_the_gradient(kind: str) -> None:
    """Guards Rayleigh damping: with a damping time of 1e6 steps nothing moves along the gradient when a step is over.

    What damping has taken, ``M (v - u)`` with u the velocities without it, tells the gradient; along it the rest of
    the velocity is one part in a million. Positions are as they are without damping.
    """
    (scene, members), (plain, _) = scene_of(11, damping_time=1e6 * H), scene_of(11)
    rng = np.random.default_rng(11)
    x, v, at = deformed(scene, rng), rng.normal(size=scene.positions.shape), members[kind]
    found, left = moved(scene, x, v)
    free, before = moved(plain, x, v)
    assert_array_equal(found[at], free[at])
    gradient = ((left - before) / scene.inv_mass[:, None])[at].reshape(COUNT, -1)
    acts = np.abs(gradient).max(1) > 1e-9  # a constraint on one side may have nothing to do
    assert acts.sum() >= COUNT / 5
    gradient, left = gradient[acts], left[at].reshape(COUNT, -1)[acts]
    assert np.median(np.abs(gradient).max(1)) > 1e-3
    along = (gradient * left).sum(1) / (np.linalg.norm(gradient, axis=1) * np.linalg.norm(left, axis=1))
    values = scene.constraints[kind].values
    limited = np.concatenate(values["side"]) != 0.0 if "side" in values else np.zeros(COUNT, dtype=bool)
    assert (along[limited[acts]] <= 1e-4).all()
    assert_allclose(along[~limited[acts]], 0.0, atol=1e-4)


@functools.cache
def pinned() -> tuple[Scene, dict[str, np.ndarray]]:
    """Return a scene whose elements have a pinned particle, or are pinned all over, and the particles of each kind."""
    scene, members = every_sample(np.random.default_rng(5))
    for at in members.values():
        scene.pin(np.concatenate([at[:10, 0], at[10:15].ravel()]))
    return scene, members


@pytest.mark.parametrize("kind", NAMES)
def test_pinned_particles_stay_and_others_do_not(kind: str) -> None:
    """Guards inverse mass 0: a pinned particle keeps its bits, and an element that is pinned all over is left alone."""
    scene, members = pinned()
    at = members[kind]
    pins = np.concatenate([at[:10, 0], at[10:15].ravel()])
    x = deformed(scene, np.random.default_rng(5))
    for iterations in (1, 3):
        found = step(scene, x, iterations=iterations)
        assert np.isfinite(found[at]).all()
        assert_array_equal(found[pins], x[pins])
        moved = np.abs(found - x)[at].max(2)
        assert (moved[:10, 1:].max(1) > 0).sum() >= 5


@pytest.mark.parametrize("kind", NAMES)
def test_collapsed_elements_stay_finite(kind: str) -> None:
    """Guards zero denominators: all particles in one place, on a line, in a plane."""
    scene, members = scene_of(6)
    x = deformed(scene, np.random.default_rng(6))
    for at in members.values():
        for i, axes in enumerate(([0, 0, 0], [1, 0, 0], [1, 1, 0])):
            x[at[5 * i : 5 * i + 5]] *= axes
    for iterations in (1, 3):
        assert np.isfinite(step(scene, x, iterations=iterations)[members[kind]]).all()


@pytest.mark.parametrize("kind", NAMES)
def test_stiffness_does_not_depend_on_iterations(kind: str) -> None:
    """Guards compliance: one element reaches ``C + alpha lambda = 0`` and stays there, short of its rest shape.

    Where multipliers were forgotten between iterations, each would go on towards the rest shape.
    """
    scene, members = scene_of(7)
    x, at = deformed(scene, np.random.default_rng(7), 0.15), members[kind]
    once, many, more = (step(scene, x, iterations=n) for n in (1, 150, 300))
    assert_allclose(more[at], many[at], rtol=0, atol=1e-9)
    # What one iteration leaves to do is little beside what it does, but what a second substep does is not.
    again = step(scene, many, iterations=150)
    moved = [np.abs(b - a)[at].max((1, 2)) for a, b in ((x, once), (once, many), (many, again))]
    taut = moved[0] > 0.0  # a constraint on one side may have nothing to do
    assert taut.sum() >= COUNT / 2
    assert np.median((moved[1] / np.where(taut, moved[0], 1.0))[taut]) < 0.2
    assert np.median((moved[2] / np.where(taut, moved[0], 1.0))[taut]) > 0.02


SIZES = np.array([0.5, 1.0, 2.5])


@functools.cache
def sized() -> tuple[np.ndarray, np.ndarray]:
    """Return where all elements are after a step from rest in environments of three sizes, scaled and not scaled."""
    scene, _ = scene_of(7)
    solver = Solver(Model(scene, 3, dtype="float64", lanes=4), substeps=1)
    state, ends = solver.state(), []
    state.set_parameters(size=SIZES)
    for scale in (SIZES, np.ones(3)):
        state.set_positions(scale[:, None, None] * scene.positions)
        state.set_velocities(0.0)
        solver.step(state, solver.control(), H)
        ends.append(state.get_positions() - scale[:, None, None] * scene.positions)
    return ends[0], ends[1]


@pytest.mark.parametrize("kind", NAMES)
def test_rest_shape_grows_with_the_size(kind: str) -> None:
    """Guards ``size``: an element as large as its environment says is at rest, to rounding; one that is not moves.

    Hinges have the same angle in any size, components of shear the same strain, and embedded points the same weights:
    those stay.
    """
    at = scene_of(7)[1][kind]
    scaled, unscaled = (np.abs(moved[:, at]).max((2, 3)) for moved in sized())
    assert scaled.max() < 1e4 * EPS
    if kind not in ("dihedral", "isometric_bending", "embedded_point"):
        assert (unscaled[[0, 2]] > 1e-4).mean() > 0.4
    assert unscaled[1].max() < 1e4 * EPS


@functools.cache
def stiffened() -> tuple[np.ndarray, np.ndarray]:
    """Return a step of four times the stiffness of each kind by its label, and a step twice as long."""
    scene, _ = scene_of(8)
    x = deformed(scene, np.random.default_rng(8))
    solver = Solver(Model(scene, 2, dtype="float64", lanes=4), substeps=1)
    state = solver.state()
    state.set_parameters(stiffness={kind: [1.0, 4.0] for kind in NAMES})
    state.set_positions(x)
    solver.step(state, solver.control(), H)
    factor = state.get_positions()[1]
    plain = solver.state()
    plain.set_positions(x)
    solver.step(plain, solver.control(), 2.0 * H)
    return factor - x, plain.get_positions()[0] - x


@pytest.mark.parametrize("kind", NAMES)
def test_stiffness_is_a_factor(kind: str) -> None:
    """Guards labels: from rest, a projection depends on compliance / h^2 alone, so 4 k is the same as 2 h."""
    at = scene_of(8)[1][kind]
    factor, longer = (moved[at] for moved in stiffened())
    assert np.abs(longer).max() > 1e-3
    assert_allclose(factor, longer, rtol=0, atol=1e3 * EPS)


@functools.cache
def free_motion() -> tuple[dict[str, np.ndarray], dict[str, list[np.ndarray]]]:
    """Kinetic energy of each element at the start, and in 100 moments of 10,000 substeps, by kind."""
    scene, members = scene_of(8, held_together=True)
    solver = Solver(Model(scene, dtype="float64"), substeps=100)
    state, control = solver.state(), solver.control()
    v = np.random.default_rng(8).normal(0.0, 0.3, scene.positions.shape)
    for at in members.values():
        # Without the motion of the whole, which no constraint may slow down, elements stay where they are.
        mass = 1.0 / scene.inv_mass[at][:, :, None]
        v[at] -= (mass * v[at]).sum(1, keepdims=True) / mass.sum(1, keepdims=True)
    state.set_velocities(v)

    def energies(speed: np.ndarray) -> dict[str, np.ndarray]:
        each = 0.5 * (speed**2).sum(1) / scene.inv_mass
        return {kind: each[at].sum(1) for kind, at in members.items()}

    start, later = energies(v), []
    for _ in range(100):
        solver.step(state, control, 0.1)
        later.append(energies(state.get_velocities()[0]))
    return start, {kind: [found[kind] for found in later] for kind in members}


@pytest.mark.parametrize("kind", NAMES)
def test_energy_does_not_grow_in_ten_thousand_substeps(kind: str) -> None:
    """Guards stability without damping: elements leave their rest shape with some speed, and never have more than that.

    All the energy is kinetic at the start, so no later kinetic energy may be above it.
    """
    start, later = free_motion()
    for found in later[kind]:
        assert (found <= start[kind] * (1 + 1e-9)).all()


@functools.cache
def by_lanes() -> list[np.ndarray]:
    """Positions of 16 environments after some steps in single precision, for every lane count."""
    scene, _ = scene_of(9)
    rng = np.random.default_rng(9)
    starts = np.stack([deformed(scene, rng, 0.2) for _ in range(16)])
    found = [starts]
    for lanes in LANE_COUNTS:
        solver = Solver(Model(scene, num_envs=16, lanes=lanes), substeps=5, iterations=2, threads=1)
        state = solver.state()
        state.set_positions(starts)
        for _ in range(5):
            solver.step(state, solver.control(), 0.02)
        found.append(state.get_positions())
    return found


@pytest.mark.parametrize("kind", NAMES)
def test_lanes_give_the_same_bits(kind: str) -> None:
    """Guards the promise that neither the batch nor the lane of an environment changes a bit."""
    _, members = scene_of(9)
    starts, *found = (positions[:, members[kind]] for positions in by_lanes())
    assert np.isfinite(found[0]).all()
    assert np.abs(found[0] - starts).max() > 1e-2
    for other in found[1:]:
        assert_array_equal(other, found[0])


@pytest.mark.parametrize("kind", NAMES)
def test_parameters_that_are_no_numbers_are_named(kind: str) -> None:
    """Guards each kind's own checks: strings are refused where numbers belong, and a component's name is none."""
    sample = SAMPLES[kind]
    scene = Scene()
    particles = scene.add_particles(sample.rest(np.random.default_rng(0)).reshape(-1, 3), 1.0)
    for name, value in sample.parameters.items():
        if name != "component":
            with pytest.raises(TypeError, match=f"{name} must be real numbers"):
                scene.add_constraints(
                    kind, particles.reshape(COUNT, -1), **{**sample.parameters, name: np.asarray(value).astype(str)}
                )
