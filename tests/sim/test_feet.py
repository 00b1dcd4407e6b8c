"""Particles on rigid bodies touch the body's faces, not the balls beneath them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import Model, Plane, Scene, SoftMaterial, Solver, geometry
from pbd_gym.geometry.grids import LYING
from pbd_gym.geometry.tetmeshes import TetMesh

G = 9.81


def box(size: tuple[float, float, float]) -> TetMesh:
    return geometry.box((1, 1, 1), size)


def balls_on_a_slab(
    spacing: float, thickness: float, radii: np.ndarray, cloth: bool = False, block_dim: int = 1
) -> np.ndarray:
    """Return how high balls lie above a slab after half a second [m], less their radius, shape (k,)."""
    rng = np.random.default_rng(2)
    scene = Scene()
    scene.add_collider(Plane(friction=5.0))
    scene.add_rigid_body(box((0.2, thickness, 0.2)), 2000.0, spacing, position=(0.0, thickness / 2, 0.0))
    places = np.stack(np.meshgrid(np.linspace(-0.06, 0.06, 4), np.linspace(-0.06, 0.06, 4)), axis=-1).reshape(-1, 2)
    places += rng.uniform(-0.005, 0.005, places.shape)
    heights = thickness + radii + 0.001
    balls = scene.add_particles(np.column_stack([places[:, 0], heights, places[:, 1]]), 0.01)
    for ball, radius in zip(balls, radii, strict=True):
        scene.add_particle_contacts([ball], radius, 0.4)
    if cloth:  # contacts are then solved in two passes
        towel = scene.add_cloth(4, 4, (0.06, 0.06), position=(0.5, 0.01, 0.0), rotation=LYING)
        scene.add_surface_contacts(towel.triangles, 0.002)
    solver = Solver(Model(scene, 1, "cpu", block_dim=block_dim), substeps=20, quiet=True)
    state, control = solver.state(), solver.control()
    for _ in range(30):
        solver.step(state, control, 1 / 60)
    found: np.ndarray = state.get_positions()[0, balls, 1] - thickness - radii
    return found


@pytest.mark.parametrize(
    ("spacing", "thickness", "cloth", "block_dim"),
    [(0.02, 0.05, False, 1), (0.0126, 0.02, False, 1), (0.01, 0.01, True, 1), (0.02, 0.05, True, 4)],
)
def test_balls_of_any_size_lie_on_a_face(spacing: float, thickness: float, cloth: bool, block_dim: int) -> None:
    """Guards the surface between a body's balls: small ones sank in by up to 8 mm here, or fell through.

    They also sank by gravity's way within a substep, by which the slab falls before its own contacts hold it.
    """
    radii = np.geomspace(0.05, 1.2, 16) * 0.5 * spacing
    fall = G / (60 * 20) ** 2
    assert_allclose(balls_on_a_slab(spacing, thickness, radii, cloth, block_dim), 0.0, atol=0.75 * fall)


def test_balls_at_the_rim_of_a_plate_as_thin_as_its_balls() -> None:
    """Guards faces that are lines: a particle above one was taken to touch it, and flew off by metres."""
    scene = Scene()
    scene.add_collider(Plane(friction=5.0))
    scene.add_rigid_body(box((0.2, 0.01, 0.2)), 2000.0, 0.01, position=(0.0, 0.005, 0.0))
    places = np.column_stack([(0.09, 0.0935, 0.0945, 0.0949), np.full(4, 0.0145), np.linspace(-0.06, 0.06, 4)])
    balls = scene.add_particles(places, 0.01)
    for ball in balls:
        scene.add_particle_contacts([ball], 0.004, 0.4)
    solver = Solver(Model(scene, 1, "cpu"), substeps=20, quiet=True)
    state, control = solver.state(), solver.control()
    for _ in range(30):
        solver.step(state, control, 1 / 60)
    places[:, 1] = 0.014
    assert_allclose(state.get_positions()[0, balls], places, atol=2e-5)


def test_a_soft_body_slides_on_a_rigid_one_by_coulombs_law() -> None:
    """Guards friction on a smooth face: it slid at 0.8 of the angle at which friction should have held it."""
    friction, radius = 0.4, 0.004
    tangents = friction * np.array([0.5, 0.97, 1.03, 1.5])
    scene = Scene()
    scene.add_collider(Plane(friction=5.0))
    scene.add_rigid_body(box((0.6, 0.04, 0.3)), 2000.0, 0.02, position=(0.1, 0.02, 0.0), friction=friction)
    cube = scene.add_soft_body(
        geometry.box((2, 2, 2), (0.04, 0.04, 0.04)), SoftMaterial(), position=(0.003, 0.06 + radius, 0.004)
    )
    scene.add_particle_contacts(cube.indices, radius, friction)
    solver = Solver(Model(scene, len(tangents), "cpu"), substeps=20, quiet=True)
    state, control = solver.state(), solver.control()

    def go(frames: int, share: float) -> np.ndarray:
        angle = np.arctan(tangents) * share
        state.set_parameters(gravity=G * np.stack([np.sin(angle), -np.cos(angle), 0.0 * angle], axis=1))
        for _ in range(frames):
            solver.step(state, control, 1 / 60)
        speeds: np.ndarray = state.get_velocities()[:, cube.indices, 0].mean(axis=1)
        return speeds

    go(15, 0.0)
    for k in range(30):
        go(1, (k + 1) / 30)
    start = state.get_positions()[:2, cube.indices].mean(axis=1)
    before = go(5, 1.0)
    moved = state.get_positions()[:2, cube.indices].mean(axis=1) - start
    gained = (go(15, 1.0) - before) / 0.25
    angle = np.arctan(tangents)
    assert_allclose(gained, G * np.maximum(np.sin(angle) - friction * np.cos(angle), 0.0), rtol=0.02, atol=0.002)
    # Slab and cube fell together before the slab's contacts in every substep; now only in the first of a control step.
    assert (np.abs(moved[:, 0]) < 0.25 * G * np.sin(angle[:2]) / (60 * 20) * (5 / 60)).all()


def test_a_rope_lies_on_a_slab_at_its_radius() -> None:
    """Guards thin things of many balls: a rope of 4 mm lay 3 mm too deep."""
    scene = Scene(contact_radius=0.004)
    scene.add_collider(Plane(friction=1.0))
    scene.add_rigid_body(box((0.3, 0.05, 0.2)), 2000.0, 0.02, position=(0.0, 0.025, 0.0))
    rope = scene.add_rope(np.linspace((-0.1, 0.056, 0.007), (0.1, 0.056, 0.013), 26))
    scene.add_particle_contacts(rope, 0.004)
    solver = Solver(Model(scene, 1, "cpu"), quiet=True)
    state, control = solver.state(), solver.control()
    for _ in range(60):
        solver.step(state, control, 1 / 60)
    assert_allclose(state.get_positions()[0, rope, 1], 0.054, atol=2e-4)


class Strike:
    """A ball that strikes a free block without gravity or friction, off the block's centre and between its balls.

    Args:
        restitution: of both.
        place: of the ball [m], shape (3,).
        velocity: its velocity [m/s], shape (3,).
        radius: [m].
    """

    def __init__(self, restitution: float, place: np.ndarray, velocity: np.ndarray, radius: float) -> None:
        scene = Scene(gravity=(0.0, 0.0, 0.0))
        box_ = box((0.1, 0.06, 0.08))
        block = scene.add_rigid_body(box_, 400.0, 0.02, friction=0.0, restitution=restitution)
        (ball,) = scene.add_particles([place], 0.1)
        scene.add_particle_contacts([ball], radius, 0.0, restitution)
        solver = Solver(Model(scene, 1, "cpu", "float64"), substeps=1, quiet=True)
        state, control = solver.state(), solver.control()
        before = state.get_velocities()[0]
        before[ball] = velocity
        state.set_velocities(before[None])
        self.ways: list[np.ndarray] = []
        for _ in range(400):
            solver.step(state, control, 2.5e-4)
            self.ways.append(state.get_positions()[0, ball])
        after, positions = state.get_velocities()[0], state.get_positions()[0]
        self.momenta = scene.mass @ before, scene.mass @ after
        self.spins = scene.mass @ np.cross(scene.positions, before), scene.mass @ np.cross(positions, after)
        self.energies = scene.mass @ (before**2).sum(axis=1), scene.mass @ (after**2).sum(axis=1)
        self.inertia, self.mass, self.after = block.inertia, block.mass, after[ball]


@pytest.mark.parametrize(("restitution", "error"), [(0.0, 0.06), (1.0, 0.001)])
def test_a_push_beside_a_ball_turns_the_body(restitution: float, error: float) -> None:
    """Guards the moment of what acts at a foot: linear and angular momentum, and the speed by the closed form.

    What does not bounce is stopped within two substeps, and leaves the overlap of the first with a little speed.
    """
    place, speed = np.array((0.023, 0.06, -0.017)), 1.0
    strike = Strike(restitution, place, np.array((0.0, -speed, 0.0)), 0.004)
    assert_allclose(*strike.momenta, atol=1e-12)
    assert_allclose(*strike.spins, atol=1e-6)
    lever = np.cross(place, (0.0, 1.0, 0.0))
    effective = 1.0 / (1.0 / 0.1 + 1.0 / strike.mass + lever @ np.linalg.solve(strike.inertia, lever))
    assert strike.after[1] == pytest.approx(-speed + (1.0 + restitution) * speed * effective / 0.1, abs=error)
    assert strike.energies[1] < strike.energies[0] * (1.0 + 1e-6)


@pytest.mark.parametrize("along", [0.0, 0.0031, 0.0067])
def test_edges_are_round(along: float) -> None:
    """Guards the way along an edge: it is as round as the balls, between them as well."""
    radius, rounding = 0.004, 0.01
    direction = np.array((1.0, 1.0, 0.0)) / np.sqrt(2.0)
    edge = np.array((0.05 - rounding, 0.03 - rounding, along))
    strike = Strike(1.0, edge + 0.03 * direction, -direction, radius)
    nearest = min(float(np.linalg.norm(way - edge)) for way in strike.ways[:120])
    assert nearest == pytest.approx(radius + rounding, abs=3e-4)


def test_jaws_hold_a_soft_cube_by_coulombs_law() -> None:
    """Guards friction on both sides of what is squeezed: it slips where that does not carry its weight."""
    friction, ratios = 0.5, np.array([0.9, 1.1, 2.0])
    scene = Scene()
    jaws = [
        scene.add_rigid_body(box((0.01, 0.08, 0.08)), 2000.0, 0.01, position=(x, 0.2, 0.0), friction=friction)
        for x in (-0.0285, 0.0285)
    ]
    cube = scene.add_soft_body(
        geometry.box((2, 2, 2), (0.04, 0.04, 0.04)), SoftMaterial(500.0), position=(0.0, 0.2, 0.0)
    ).indices
    scene.add_particle_contacts(cube, 0.0035, friction)
    solver = Solver(Model(scene, len(ratios), "cpu"), substeps=20, quiet=True)
    state, control = solver.state(), solver.control()
    weight = G * scene.mass[cube].sum()
    forces = np.zeros((len(ratios), scene.particle_count, 3))
    for jaw, side in zip(jaws, (1.0, -1.0), strict=True):
        share = scene.mass[jaw.indices] / jaw.mass
        forces[:, jaw.indices, 0] = side * np.outer(0.5 * ratios * weight / friction, share)
        forces[:, jaw.indices, 1] = (G * jaw.mass + 0.5 * weight) * share  # the jaws carry the cube
    control.set_forces(forces)
    for _ in range(40):
        solver.step(state, control, 1 / 60)
    fallen = 0.2 - state.get_positions()[:, cube, 1].mean(axis=1)
    assert fallen[0] > 0.1 and (fallen[1:] < 0.005).all()
