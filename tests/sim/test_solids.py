"""Elastic solids against closed forms: moduli, squeeze, cantilever, and free rotation over many turns.

One sweep a substep leaves a static error that is even in the substep h, ``a h^2 + b h^4 + ...``. Three runs with h, h/2
and h/4 therefore give two extrapolations without ``a``; the second is nearer by a factor of 16, so that what the two
differ by bounds what it is off by.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from pbd_gym import Model, Plane, Scene, SoftMaterial, Solver
from pbd_gym.geometry.tetmeshes import TetMesh, ball, box
from tests.sim.newton import ImplicitEuler

SIDE = 0.2
"""Edge of the block [m]."""
YOUNG = 1e5
"""[Pa]."""
RATIOS = [0.3, 0.45, 0.49]


def lame(young: float, poisson: float) -> tuple[float, float]:
    """Lame constants mu and lambda [Pa]."""
    return young / (2 * (1 + poisson)), young * poisson / ((1 + poisson) * (1 - 2 * poisson))


def free_volume(height: float, mu: float, bulk: float) -> float:
    """Volume ratio J of a block squeezed to a ``height`` ratio whose sides are free.

    The stress across is ``mu t + (mu (J - 2) + lambda (J - 1)) t height`` for the stretch t; J is where it vanishes.
    """
    return (2 * mu + bulk - mu / height) / (mu + bulk)


def settle(
    scene: Scene, start: np.ndarray, substeps: int, iterations: int = 1, seconds: float = 2.0, damping: float = 20.0
) -> np.ndarray:
    """Positions of a scene when it has come to rest, by control steps of 10 ms.

    What swings decays by ``exp(-damping seconds / 2)``, by default to 2e-9 of itself.
    """
    solver = Solver(Model(scene, dtype="float64"), substeps, iterations, damping=damping, compensate=False)
    state, control = solver.state(), solver.control()
    state.set_positions(start)
    for _ in range(round(seconds / 0.01)):
        solver.step(state, control, 0.01)
    return state.get_positions()[0]


def extrapolated(measure: Callable[[int], float], substeps: int) -> tuple[float, float]:
    """Limit of a measured number for small steps, and a bound on what it is off by; checks the order on the way."""
    coarse, middle, fine = (measure(substeps * factor) for factor in (1, 2, 4))
    assert_allclose((coarse - middle) / (middle - fine), 4.0, rtol=0.15)
    first, second = (4 * middle - coarse) / 3, (4 * fine - middle) / 3
    return second, abs(second - first)


@pytest.mark.parametrize("poisson", RATIOS)
def test_block_between_plates_keeps_its_volume(poisson: float) -> None:
    """Guards the Poisson ratio: squeezed to 80 % between smooth plates, the sides bulge as uniaxial theory says.

    At 0.49 the block is to keep 99.5 % of its volume; it would lose 20 % if the sides stayed where they were. Volume is
    what is measured, because sweeps turn the block slowly on its plates, where nothing holds it.
    """
    height = 0.8
    mesh = box((2, 2, 2), (SIDE, SIDE, SIDE))

    def volume(substeps: int) -> float:
        scene = Scene(gravity=(0, 0, 0), contact_radius=0.0)
        scene.add_soft_body(mesh, SoftMaterial(1000.0, YOUNG, poisson))
        for normal in (1.0, -1.0):
            scene.add_collider(Plane((0.0, normal, 0.0), -SIDE / 2 * height, friction=0.0))
        found = settle(scene, scene.positions * [1.0, height, 1.0], substeps)
        assert_allclose(np.ptp(found[:, 1]), SIDE * height, rtol=1e-12)
        corners = found[mesh.tets]
        return float(np.linalg.det(corners[:, 1:] - corners[:, :1]).sum()) / (6 * SIDE**3)

    found, uncertain = extrapolated(volume, 20)
    wanted = free_volume(height, *lame(YOUNG, poisson))
    assert_allclose(found, wanted, rtol=0, atol=uncertain)
    assert uncertain < 1e-5
    assert_allclose(wanted, {0.3: 0.9, 0.45: 0.975, 0.49: 0.995}[poisson])


def loaded_block(poisson: float, pressure: float, confined: bool) -> Scene:
    """A block of one layer of cells on a smooth floor; its upper particles weigh ``pressure`` [Pa] on it.

    Its stress is homogeneous, which linear tetrahedra represent exactly: each upper particle has the mass of its share
    of the face, and the body itself next to none. The lower ones are as heavy, so that no mass ratio slows the sweeps.
    """
    scene = Scene(contact_radius=0.0)
    block = scene.add_soft_body(box((2, 1, 2), (SIDE, SIDE, SIDE)), SoftMaterial(1e-6, YOUNG, poisson))
    top = block.triangles[(scene.positions[block.triangles][:, :, 1] > 0).all(1)]
    corners = scene.positions[top]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 2
    mass = np.bincount(top.ravel(), np.repeat(area / 3, 3), len(scene.positions)) * pressure / 9.81
    mass[scene.positions[:, 1] < 0] = mass.sum() / 9
    scene.inv_mass = 1.0 / (1.0 / scene.inv_mass + mass)
    walls = ((1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)) if confined else ()
    for normal in ((0.0, 1.0, 0.0), *walls):
        scene.add_collider(Plane(normal, -SIDE / 2, friction=0.0))
    return scene


def sunk(scene: Scene, substeps: int, iterations: int = 1) -> float:
    """How far the upper face has gone down, over the height of the block."""
    found = settle(scene, scene.positions, substeps, iterations)
    top = scene.positions[:, 1] > 0
    assert np.ptp(found[top, 1]) < 1e-4 * SIDE  # it stays level
    return float(np.mean(scene.positions[top, 1] - found[top, 1])) / SIDE


@pytest.mark.parametrize("poisson", RATIOS)
def test_confined_block_has_the_bulk_modulus(poisson: float) -> None:
    """Guards volume stiffness: between smooth walls a block sinks by p / (lambda + 2 mu), linearly for this material.

    From that the bulk modulus K = lambda + 2/3 mu.
    """
    mu, bulk = lame(YOUNG, poisson)
    scene = loaded_block(poisson, 2000.0, confined=True)
    found, uncertain = extrapolated(lambda substeps: sunk(scene, substeps), 20)
    wanted = 2000.0 / (bulk + 2 * mu)
    assert_allclose(found, wanted, rtol=0, atol=uncertain)
    modulus = 2000.0 / found - 4 / 3 * mu
    assert_allclose(modulus, YOUNG / (3 * (1 - 2 * poisson)), rtol=5e-3)


@pytest.mark.parametrize("poisson", RATIOS)
def test_free_block_has_the_young_modulus(poisson: float) -> None:
    """Guards stiffness: with free sides a block sinks to where the nominal stress equals the load."""
    mu, bulk = lame(YOUNG, poisson)

    def stress(height: float) -> float:
        volume = free_volume(height, mu, bulk)
        return mu * height + (mu * (volume - 2) + bulk * (volume - 1)) * volume / height

    scene = loaded_block(poisson, 2000.0, confined=False)
    found, uncertain = extrapolated(lambda substeps: sunk(scene, substeps), 10)
    wanted = 1.0 - brentq(lambda height: stress(height) + 2000.0, 0.5, 1.0)
    assert_allclose(found, wanted, rtol=0, atol=uncertain)
    assert_allclose(2000.0 / found, YOUNG, rtol=0.03)  # but for the 2 % by which it is not linear


@pytest.mark.parametrize("poisson", RATIOS)
@pytest.mark.parametrize("confined", [False, True])
def test_stiffness_of_a_solid_does_not_depend_on_iterations(poisson: float, confined: bool) -> None:
    """Guards compliance and multipliers of the neo-Hookean pair: 5 iterations and 20 agree, with the closed form too.

    They differ by what 5 leave unsolved. From the closed form both are off by what gradients turn in a step of 0.5 ms,
    h^2 g = 2.5e-6 m on 0.2 m, or 1.2e-5 of the height: 2e-5 are allowed. The one sweep of above is 0.001 to 0.08 off.
    """
    scene = loaded_block(poisson, 2000.0, confined)
    few, many = sunk(scene, 20, 5), sunk(scene, 20, 20)
    assert_allclose(few, many, rtol=3e-6)
    mu, bulk = lame(YOUNG, poisson)
    if confined:
        assert_allclose(many, 2000.0 / (bulk + 2 * mu), rtol=2e-5)


def cantilever(cells: tuple[int, int, int]) -> tuple[Scene, np.ndarray]:
    """A beam of 1 m x 0.2 m x 0.2 m clamped at one end, sagging by 2 %, and its static shape by Newton's method."""
    scene = Scene(gravity=(0.0, -0.5, 0.0))
    scene.add_soft_body(box(cells, (1.0, SIDE, SIDE)), SoftMaterial(1000.0, 1e6, 0.3))
    scene.pin(np.flatnonzero(scene.positions[:, 0] < -0.5 + 1e-9))
    x = scene.positions
    for _ in range(4):  # steps of 10 s from rest, with hardly any inertia: each goes 99.99 % of what is left
        x = ImplicitEuler(scene, x, 0.0 * x, 10.0).solve(x)[0]
    return scene, x


def sag(scene: Scene, x: np.ndarray) -> float:
    """How far the free end is below its place at rest [m]."""
    end = scene.positions[:, 0] > 0.5 - 1e-9
    return float(np.mean((scene.positions - x)[end, 1]))


def test_cantilever_under_refinement() -> None:
    """Guards bending: the sag goes to that of Timoshenko's beam, from below, as linear tetrahedra do.

    ``q L^4 / (8 E I) + q L^2 / (2 k G A)`` with the shear factor k of Cowper 1966, doi:10.1115/1.3625046. Linear
    tetrahedra lock in bending: 0.35, 0.66 and 0.87 of it with 1, 2 and 4 cells across. Each refinement has to halve
    what is missing (it would quarter it in the end).
    """
    young, poisson, weight = 1e6, 0.3, 1000.0 * SIDE**2 * 0.5
    shear = 10 * (1 + poisson) / (12 + 11 * poisson) * young / (2 * (1 + poisson)) * SIDE**2
    timoshenko = weight / (8 * young * SIDE**4 / 12) + weight / (2 * shear)
    missing = [1.0 - sag(*cantilever((5 * n, n, n))) / timoshenko for n in (1, 2, 4)]
    assert missing[0] < 0.7
    assert missing[1] < 0.55 * missing[0]
    assert 0.0 < missing[2] < 0.5 * missing[1]


def test_cantilever_of_the_engine_is_that_of_its_mesh() -> None:
    """Guards statics of the stable neo-Hookean pair: put in the static shape, the beam keeps it, but for a h^2."""
    scene, static = cantilever((10, 2, 2))
    wanted = sag(scene, static)
    assert wanted > 0.01
    found, uncertain = extrapolated(lambda substeps: sag(scene, settle(scene, static, substeps, 1, 3.0, 8.0)), 20)
    assert_allclose(found, wanted, rtol=0, atol=uncertain)
    assert uncertain < 1e-3 * wanted


class Spinner:
    """A free solid set spinning about its centre of mass, in steps of ``h``."""

    def __init__(self, mesh: TetMesh, young: float, omega: tuple[float, float, float], h: float) -> None:
        scene = Scene(gravity=(0, 0, 0))
        scene.add_soft_body(mesh, SoftMaterial(1000.0, young, 0.3))
        self.mass, self.h = 1.0 / scene.inv_mass, h
        self.rest = scene.positions - self.mass @ scene.positions / self.mass.sum()
        self.omega = np.array(omega)
        self.solver = Solver(Model(scene, dtype="float64"), substeps=100)
        self.state, self.control = self.solver.state(), self.solver.control()
        self.state.set_positions(self.rest)
        self.state.set_velocities(np.cross(self.omega, self.rest))
        # By how much the body is stretched, and its inertia grown, by its own rotation.
        self.strain = 1000.0 * (self.omega @ self.omega) * (self.rest**2).sum(1).max() / young

    def step(self) -> None:
        """Advance by 100 substeps."""
        self.solver.step(self.state, self.control, 100 * self.h)

    def momentum(self) -> np.ndarray:
        """Angular momentum about the origin [kg m^2/s]."""
        x, v = self.state.get_positions()[0], self.state.get_velocities()[0]
        return (self.mass[:, None] * np.cross(x, v)).sum(0)

    def attitude(self) -> np.ndarray:
        """Rotation that fits the positions best, shape (3, 3)."""
        u, _, vt = np.linalg.svd((self.mass[:, None] * self.state.get_positions()[0]).T @ self.rest)
        return u @ vt


@pytest.mark.parametrize("h", [1e-3, 2.5e-4])
def test_spinning_ball_slows_down_by_the_closed_form(h: float) -> None:
    """Guards rotation over 20 s at 1 turn/s: the rate is ``w0 / sqrt(1 + 2 w0^2 h t)``, and its axis stands.

    Forces between particles are central where they are projected, so the momentum that a step ends with is
    ``sum m x' cross v = L - h sum m v cross v'``; for rigid rotation it loses ``(w h)^2`` of itself, hence
    ``dw/dt = -h w^3``. The elastic stretch is all that differs.
    """
    rate = 2 * np.pi
    spinner = Spinner(ball(0.1, 2), 1e6, (0.0, rate, 0.0), h)
    start = spinner.momentum()
    for k in range(1, round(20.0 / (100 * h)) + 1):
        spinner.step()
        found = spinner.momentum() / start[1]
        assert_allclose(found[1], (1 + 2 * rate**2 * h * (k * 100 * h)) ** -0.5, rtol=0, atol=spinner.strain)
        assert np.abs(found[[0, 2]]).max() < 1e-6
    centre = spinner.mass @ spinner.state.get_positions()[0] / spinner.mass.sum()
    # Each substep rounds velocities by eps |x| / h = 1e-13 m/s; at random, 80,000 of them come to 3e-11 m/s over 20 s.
    assert_allclose(centre, 0.0, atol=1e-9)
    assert found[1] < 0.9  # it has slowed down by something to measure


def test_tumbling_box_follows_eulers_equations() -> None:
    """Guards rotation about no fixed axis: spun about its middle axis a box turns over, as a rigid body does.

    The rigid body has the drag of implicit Euler, ``-h sum m v cross a``. The elastic stretch makes the inertia grow by
    up to twice the strain, and the angle turned so far is off by that share of itself.
    """
    h, seconds = 5e-4, 3.0
    spinner = Spinner(box((3, 2, 1), (0.3, 0.2, 0.1)), 1e7, (0.1, 2 * np.pi, 0.0), h)
    m, r0 = spinner.mass, spinner.rest
    inertia = np.einsum("n,nij->ij", m, (r0**2).sum(1)[:, None, None] * np.eye(3) - r0[:, :, None] * r0[:, None])

    def rate(_: float, y: np.ndarray) -> np.ndarray:
        turn, momentum = y[:9].reshape(3, 3), y[9:]
        r, now = r0 @ turn.T, turn @ inertia @ turn.T
        w = np.linalg.solve(now, momentum)
        v = np.cross(w, r)
        a = np.cross(np.linalg.solve(now, -np.cross(w, momentum)), r) + np.cross(w, v)
        return np.r_[np.cross(w, turn, axisb=0).T.ravel(), -h * (m[:, None] * np.cross(v, a)).sum(0)]

    times = np.arange(1, round(seconds / (100 * h)) + 1) * 100 * h
    start = np.r_[np.eye(3).ravel(), inertia @ spinner.omega]
    rigid = solve_ivp(rate, (0.0, seconds + h), start, "DOP853", times, rtol=1e-10, atol=1e-12).y.T
    size, rolled = np.linalg.norm(start[9:]), 0.0
    for t, y in zip(times, rigid, strict=True):
        spinner.step()
        turn = spinner.attitude()
        angle = np.arccos(np.clip((np.trace(turn.T @ y[:9].reshape(3, 3)) - 1) / 2, -1, 1))
        assert angle < 2 * spinner.strain * np.linalg.norm(spinner.omega) * t
        assert np.linalg.norm(spinner.momentum() - y[9:]) < 2 * spinner.strain * size
        rolled = max(rolled, np.arccos(turn[1, 1]))
    assert rolled > 2.0  # the middle axis has turned over
