"""Overlaps that are there when a substep begins: they leave, and nothing gets speed by that."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym import Box, Capsule, Model, Plane, Scene, SoftMaterial, Solver, Sphere, geometry
from pbd_gym.colliders.solid import matrix_of
from tests.colliders.helpers import rotation

GRAVITY = 9.81
LYING = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
COUNT = 36
"""Environments, of four bodies each."""


class Overlaps:
    """Cloth of springs and of lines, a soft block and a rope over a plane, and a collider for each; no gravity."""

    def __init__(self) -> None:
        self.scene = scene = Scene(gravity=(0.0, 0.0, 0.0))
        scene.add_collider(Plane(friction=0.5))
        block = geometry.box((2, 2, 2), (0.1, 0.1, 0.1))
        self.bodies = [
            scene.add_cloth(8, 8, (0.1, 0.1), position=(-0.4, 0.0, 0.0), lines=False).indices.ravel(),
            scene.add_soft_body(block, SoftMaterial(1000.0, 1e5, 0.3)).indices,
            np.asarray(scene.add_rope(np.linspace((0.4, 0.0, -0.1), (0.4, 0.0, 0.1), 14))),
            scene.add_cloth(8, 8, (0.1, 0.1), position=(0.8, 0.0, 0.0)).indices.ravel(),
        ]
        solids = [
            Box((-0.4, 0.0, 0.0), (0.05, 0.03, 0.05)),
            Capsule((0, 0, -0.05), (0, 0, 0.05), 0.04),
            Sphere((0.4, 0, 0), 0.05),
            Box((0.8, 0.0, 0.0), (0.05, 0.03, 0.05)),
        ]
        self.solids = [scene.add_collider(solid, moving=True) for solid in solids]
        self.model = Model(scene, num_envs=COUNT, device="cpu", lanes=1)

    def place(self, state: object, rng: np.random.Generator) -> None:
        """Turn each body at random, and put it up to 8 mm into the plane, a collider into it, or both."""
        scene, positions = self.scene, np.repeat(self.scene.positions[None], COUNT, axis=0)
        for body, solid in zip(self.bodies, self.solids, strict=True):
            middle = scene.positions[body].mean(axis=0)
            origins, turns = np.tile([middle[0], 3.0, 0.0], (COUNT, 1)), rng.normal(size=(COUNT, 4))
            for env in range(COUNT):
                points = (scene.positions[body] - middle) @ rotation(rng).T + [middle[0], 0.0, 0.0]
                points[:, 1] -= points[:, 1].min() - scene.contact_radius
                which = env % 3
                if which != 1:
                    points[:, 1] -= rng.uniform(0.0, 0.008)
                if which != 0:
                    way = rng.normal(size=3) * [1.0, 0.3, 1.0] + [0.0, 1.0, 0.0]
                    way /= np.linalg.norm(way)
                    wanted, low, high = scene.contact_radius - rng.uniform(0.0, 0.008), 0.0, 0.5
                    for _ in range(30):  # bisection for how near it must come
                        half = (low + high) / 2
                        there = scene.colliders[solid].moved(points.mean(axis=0) + half * way, matrix_of(turns[env]))
                        low, high = (half, high) if there.signed_distance(points)[0].min() < wanted else (low, half)
                    origins[env] = points.mean(axis=0) + low * way
                positions[env, body] = points
            state.set_pose(solid, origins, turns)  # type: ignore[attr-defined]
        state.set_positions(positions)  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def overlaps() -> Overlaps:
    return Overlaps()


@pytest.mark.parametrize("h", [0.0002, 0.001, 0.004])
def test_of_random_overlaps_no_body_gets_energy(overlaps: Overlaps, h: float) -> None:
    """Guards push-out: kinetic energy stays below 1 % of what lifts a body by the contact radius.

    Cloth of springs that a collider squeezes against the plane bulges, and gets up to 2 %.
    """
    substeps = 20
    solver = Solver(overlaps.model, substeps=substeps)
    state, control = solver.state(), solver.control()
    overlaps.place(state, np.random.default_rng(4))
    mass, radius = overlaps.scene.mass, overlaps.scene.contact_radius
    moved = state.get_positions()
    for _ in range(round(0.2 / (h * substeps))):
        solver.step(state, control, h * substeps)
        speeds = np.square(state.get_velocities().astype(float)).sum(axis=2)
        for body in overlaps.bodies:
            energy = 0.5 * (speeds[:, body] * mass[body]).sum(axis=1)
            share = energy / (mass[body].sum() * GRAVITY * radius)
            between = np.arange(COUNT) % 3 == 2
            assert share[~between].max() < 0.01
            assert share[between].max() < 0.03
    assert (np.abs(state.get_positions() - moved).max(axis=(1, 2)) > 1e-4).mean() > 0.9  # and out they go


@pytest.mark.parametrize("depth", [0.004, 0.03])
@pytest.mark.parametrize("substeps", [10, 80])
def test_what_lies_too_deep_rises_to_the_contact_radius_and_no_farther(depth: float, substeps: int) -> None:
    """Guards a cloth set down nearer to the ground than its contact radius, or below it."""
    scene = Scene()
    scene.add_collider(Plane())
    scene.add_cloth(5, 5, (0.1, 0.1), position=(0.0, scene.contact_radius - depth, 0.1), rotation=LYING)
    solver = Solver(Model(scene, device="cpu"), substeps=substeps)
    state, control = solver.state(), solver.control()
    tops = []
    for _ in range(100):
        solver.step(state, control, 1 / 60)
        tops.append(state.get_positions()[0, :, 1].max())
    assert max(tops) < scene.contact_radius + 1e-5
    assert_allclose(tops[-1], min(scene.contact_radius, scene.contact_radius - depth + 0.0015 * 100 / 60), atol=1e-4)


def test_an_overlap_does_not_press() -> None:
    """Guards friction: what slides while it is too deep is slowed by its weight, not by how deep it is."""
    scene = Scene()
    scene.add_collider(Plane(friction=0.5))
    scene.add_cloth(5, 5, (0.1, 0.1), position=(0.0, 0.002, 0.1), rotation=LYING)
    solver = Solver(Model(scene, device="cpu"), substeps=20)
    state = solver.state()
    state.set_velocities(np.tile([2.0, 0.0, 0.0], (1, 25, 1)))
    solver.step(state, solver.control(), 0.1)
    assert_allclose(state.get_velocities()[0, :, 0], 2.0 - 0.5 * GRAVITY * 0.1, rtol=2e-3)


@pytest.mark.parametrize("speed", [-40.0, 40.0])
def test_a_bullet_that_begins_inside_is_not_thrown(speed: float) -> None:
    """Guards swept contacts: a chain that starts in a thin sheet and moves on through it keeps at most its speed."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_collider(Box((0, 0, 0), (1.0, 0.002, 1.0), friction=0.0))
    scene.add_rope([[0.0, 0.004, 0.0], [0.1, 0.004, 0.0], [0.2, 0.004, 0.0]])
    solver = Solver(Model(scene, device="cpu"), substeps=1)
    state, control = solver.state(), solver.control()
    state.set_velocities(np.tile([0.0, speed, 0.0], (1, 3, 1)))
    for _ in range(5):
        solver.step(state, control, 0.002)
        found = state.get_velocities()[0, :, 1]
        assert_allclose(found, max(speed, 0.0), atol=1e-3)
    assert (state.get_positions()[0, :, 1] > 0.003).all()


def test_restitution_gives_back_the_approach_alone() -> None:
    """Guards bounces out of an overlap: at rest there is none, and an approach comes back by its share."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_collider(Plane(restitution=0.5))
    scene.add_particles([[0.0, 0.001, 0.0], [0.1, 0.001, 0.0]], 1.0)
    solver = Solver(Model(scene, dtype="float64", device="cpu"), substeps=4)
    state = solver.state()
    state.set_velocities([[[0.0, 0.0, 0.0], [0.0, -0.8, 0.0]]])
    solver.step(state, solver.control(), 0.004)
    assert_allclose(state.get_velocities()[0, :, 1], [0.0, 0.4], atol=1e-9)


def test_a_collider_in_an_overlap_still_gives_its_own_speed() -> None:
    """Guards what moves: a plate put 3 mm into a rope, that then rises, takes the rope along at its speed."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    plate = scene.add_collider(Box((0.1, -0.5, 0.0), (0.3, 0.01, 0.3)), moving=True)
    rope = scene.add_rope([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.2, 0.0, 0.0]])
    solver = Solver(Model(scene, num_envs=2, device="cpu"), substeps=10)
    state, control = solver.state(), solver.control()
    state.set_pose(plate, [0.1, -0.012, 0.0])
    control.move_collider(plate, (0.0, 0.01, 0.0))
    solver.step(state, control, 0.02)
    found = state.get_velocities()[:, rope]
    assert_allclose(found[..., 1], 0.5, rtol=1e-3)
    assert_array_equal(found[0], found[1])
