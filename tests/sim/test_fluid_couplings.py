"""What a fluid does beside its density: options, environments that differ, and bodies that it meets, both ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import Model, Scene, SoftMaterial, Solver, geometry
from pbd_gym.colliders import Plane
from pbd_gym.materials.fluids import FluidMaterial, bell
from pbd_gym.scene.wet_bodies import wet_solids

S = 0.02
LYING = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


def run(scene: Scene, steps: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Return positions [m] and velocities [m/s] of the fluid after steps of 40 ms, shape (k, 3) each."""
    assert scene.fluid is not None
    solver = Solver(Model(scene, 1), substeps=8, threads=1)
    state, control = solver.state(), solver.control()
    for _ in range(steps):
        solver.step(state, control, 0.04)
    return state.get_positions()[0, scene.fluid.indices], state.get_velocities()[0, scene.fluid.indices]


def test_environments_differ_in_viscosity_gravity_and_friction() -> None:
    """A column collapses under each parameter, and farther the less there is of viscosity and friction."""
    scene = Scene()
    scene.add_collider(Plane(friction=0.5))
    scene.add_fluid_block((0, 0, 0), (5 * S, 10 * S, 5 * S), FluidMaterial(viscosity=0.01, wall_friction=1.0), S)
    solver = Solver(Model(scene, 5), substeps=8, threads=1)
    state, control = solver.state(), solver.control()
    moon, usual = (0.0, -1.62, 0.0), (0.0, -9.81, 0.0)
    state.set_parameters(
        viscosity=[1, 1, 1, 1e3, 1e4], friction=[1, 0, 1, 1, 1], gravity=[usual, usual, moon, usual, usual]
    )
    for _ in range(10):
        solver.step(state, control, 0.04)
    x = state.get_positions()
    water, slippery, on_the_moon, syrup, honey = np.ptp(x[:, :, 0], axis=1)
    assert slippery > 1.05 * water > 1.1 * syrup > 1.15 * honey
    assert honey < 0.6 * water and on_the_moon < 0.8 * water
    assert x[2, :, 1].mean() > 1.2 * x[0, :, 1].mean()


def test_cloth_holds_water_and_a_rope_gives_way_to_it() -> None:
    """Guards both directions: no drop goes through the weave, and what it falls on is weighed down by it."""
    scene = Scene(contact_radius=0.5 * S)
    cloth = scene.add_cloth(16, 16, (0.3, 0.3), position=(0.0, 0.4, 0.15), rotation=LYING, lines=False)
    along = np.linspace(-1.0, 1.0, 21)  # a rope that hangs: a taut one of 16 g/m hardly gives way
    rope = scene.add_rope(np.stack([1.0 + 0.2 * along, 0.4 - 0.06 * (1.0 - along**2), 0.0 * along], axis=1), lines=True)
    edges = np.concatenate([cloth.indices[0], cloth.indices[-1], cloth.indices[:, 0], cloth.indices[:, -1]])
    scene.pin(np.unique(np.concatenate([edges, rope[:1], rope[-1:]])))
    pool = scene.add_fluid_block((-2 * S, 0.42, -2 * S), (2 * S, 0.42 + 3 * S, 2 * S), spacing=S)
    scene.add_fluid_block((1.0 - 2 * S, 0.42, -2 * S), (1.0 + 2 * S, 0.42 + 5 * S, 2 * S), spacing=S)
    scene.add_fluid_boundary(np.concatenate([cloth.indices.ravel(), rope]))
    solver = Solver(Model(scene, 2), substeps=16, threads=1)
    state, control = solver.state(), solver.control()
    start = state.get_positions()
    start[1, scene.fluid.indices, 2] += 5.0  # the second environment stays dry
    state.set_positions(start)
    lowest = np.ones((2, 2))
    for _ in range(6):
        solver.step(state, control, 0.04)
        x = state.get_positions()
        heights = [x[:, members, 1].min(axis=1) for members in (cloth.indices.ravel(), rope)]
        lowest = np.minimum(lowest, np.transpose(heights))
    drops = x[0, pool]
    inside = (np.abs(drops[:, [0, 2]]) < 0.15).all(axis=1)  # what flows off over the edges may fall
    assert inside.any() and (drops[inside, 1] > heights[0][0] - 0.5 * S).all()
    assert (lowest[0] < lowest[1] - 0.005).all(), lowest


def test_a_rigid_body_floats_as_deep_as_it_is_heavy() -> None:
    """Archimedes for a rigid body, from its volumes; and again where a force pushes it down."""
    side, width = 4 * S, 9 * S
    scene = Scene(contact_radius=0.5 * S)
    for normal, offset in (
        ((0, 1, 0), 0.0), ((1, 0, 0), 0.0), ((-1, 0, 0), -width), ((0, 0, 1), 0.0), ((0, 0, -1), -width)
    ):  # fmt: skip
        scene.add_collider(Plane(normal, offset, friction=0.0))
    water = scene.add_fluid_block((0, 0, 0), (width, 8 * S, width), spacing=S)
    middle = 0.5 * width
    mesh = geometry.box((4, 4, 4), (side,) * 3)
    block = scene.add_rigid_body(mesh, 500.0, S, position=(middle, 10 * S, middle))
    scene.add_fluid_boundary(block.indices, block.volumes)
    solver = Solver(Model(scene, 1), substeps=10, threads=1)
    state, control = solver.state(), solver.control()

    for push in (0.0, 0.3 * side**3 * 1000.0 * 9.81):
        forces = np.zeros((scene.particle_count, 3))
        forces[block.indices, 1] = -push * scene.mass[block.indices] / block.mass
        control.set_forces(forces)
        for _ in range(40):
            solver.step(state, control, 0.05)
        under = 0.5 + push / (side**3 * 1000.0 * 9.81)  # share of it that is under water
        level = (len(water) * S**3 + under * side**3) / width**2
        height = state.get_rigid_poses()[0, block.index, 1]
        assert height == pytest.approx(level + (0.5 - under) * side, abs=0.12 * side)


@pytest.mark.parametrize("soft", [False, True])
def test_a_body_of_nearly_the_density_of_water_does_not_stick(soft: bool) -> None:
    """Cubes start at rest in water: 0.9 and 0.97 of its density rise to where Archimedes says, 1.03 sinks.

    Soft ones of 0.8 and 0.9 rise; 1.05 sinks, though slowly: with all of their volume it swam. A layer of particles may
    be left below what sinks. The floor carries water and cubes: momentum is kept.
    """
    s, side, width = 0.01, 0.04, 0.1
    scene = Scene(contact_radius=0.5 * s)
    for normal, offset in (
        ((0, 1, 0), 0.0), ((1, 0, 0), 0.0), ((-1, 0, 0), -width), ((0, 0, 1), 0.0), ((0, 0, -1), -width)
    ):  # fmt: skip
        scene.add_collider(Plane(normal, offset))
    start = np.array([0.5 * width, 0.055, 0.5 * width])
    cube: Any = None
    if soft:
        cube = scene.add_soft_body(geometry.box((4, 4, 4), (side,) * 3), SoftMaterial(1000.0, 1e5, 0.3), position=start)
    else:
        cube = scene.add_rigid_body(geometry.box((2, 2, 2), (side,) * 3), 1000.0, s, position=start)
    along = s * (np.arange(11) + 0.5)
    places = np.stack(np.meshgrid(along[:10], along, along[:10], indexing="ij"), axis=-1).reshape(-1, 3)
    water = scene.add_fluid(places[(np.abs(places - start) > 0.5 * side + 0.45 * s).any(axis=1)], spacing=s)
    scene.add_fluid_boundary(cube.indices)
    if not soft:
        assert_allclose(scene.fluid.volumes, cube.volumes / s**3)  # by default
    solver = Solver(Model(scene, 3), substeps=8, threads=1, wrenches=True)
    state, control = solver.state(), solver.control()
    ratios = np.array([0.8, 0.9, 1.05] if soft else [0.9, 0.97, 1.03])
    state.set_parameters(fluid_density=1.0 / ratios)
    carried, heights = [], []
    for _ in range(90):
        solver.step(state, control, 0.02)
        carried.append(state.get_wrenches()[:, 0, 1])
        middle = state.get_positions()[:, cube.indices, 1].mean(axis=1)
        heights.append(middle if soft else state.get_rigid_poses()[:, cube.index, 1])
    *light, heavy = np.mean(heights[-25:], axis=0)
    level = (len(water) * s**3 + ratios[:2] * side**3) / width**2
    assert light == pytest.approx(level + (0.5 - ratios[:2]) * side, abs=0.07 * side)
    assert heavy < (start[1] - 0.003 if soft else 0.5 * side + 1.5 * s)
    weight = 9.81 * (scene.mass[cube.indices].sum() + len(water) * 1000.0 / ratios * s**3)
    # With a soft cube it reads 4 % more, which is not understood.
    assert_allclose(-np.mean(carried[-40:], axis=0), weight, rtol=0.05 if soft else 0.02)


def test_wide_bodies_have_no_holes_for_water() -> None:
    """Guards wide bodies, which water entered where samples had got next to nothing: a plank of 0.9 sank to the floor.

    Half a spacing beneath the face of a plank, fluid feels nowhere less than three quarters of the average.
    """
    s, half = 0.01, np.array([0.15, 0.02, 0.1])
    scene = Scene(contact_radius=0.5 * s)
    plank = scene.add_rigid_body(geometry.box((2, 1, 2), 2.0 * half), 900.0, s, position=(0.0, 0.0, 0.0))
    scene.add_fluid([[0.5, 0.5, 0.5]], spacing=s)
    scene.add_fluid_boundary(plank.indices)
    x, z = np.meshgrid(np.arange(s - half[0], half[0] - s, 0.3 * s), np.arange(s - half[2], half[2] - s, 0.3 * s))
    places = np.stack([x, np.full_like(x, half[1] - 0.5 * s), z], axis=-1)
    gaps = np.linalg.norm(places[..., None, :] - plank.rest, axis=-1)
    felt = bell(gaps / (2.0 * s)) @ wet_solids(scene).volumes
    assert felt.min() > 0.75 * felt.mean()


def test_water_around_a_body_is_no_solid() -> None:
    """A slow eddy in deep water dies away. An elastic solid would swing back: its mode would change its sign."""
    s, width = 0.01, 0.1
    scene = Scene(contact_radius=0.5 * s)
    for normal, offset in (
        ((0, 1, 0), 0.0), ((1, 0, 0), 0.0), ((-1, 0, 0), -width), ((0, 0, 1), 0.0), ((0, 0, -1), -width)
    ):  # fmt: skip
        scene.add_collider(Plane(normal, offset, friction=0.0))
    water = scene.add_fluid_block((0, 0, 0), (width, width, width), spacing=s)
    bead = scene.add_particles([[0.5 * width, 1.0, 0.5 * width]], 1e-3)
    scene.pin(bead)
    scene.add_fluid_boundary(bead)  # far above: water reckons with other bodies
    solver = Solver(Model(scene, 1), substeps=8, threads=1)
    state, control = solver.state(), solver.control()

    def eddy() -> np.ndarray:
        """Return the velocities of an eddy in a square, where particles are, shape (k, 3)."""
        x, _, z = np.pi * (state.get_positions()[0, water] / width - 0.5).T
        return np.stack([-np.cos(x) * np.sin(z), 0.0 * x, np.sin(x) * np.cos(z)], axis=1)

    for _ in range(25):
        solver.step(state, control, 0.02)
    velocities = state.get_velocities()
    velocities[0, water] += 0.033 * eddy()
    state.set_velocities(velocities)
    left = []
    for _ in range(12):
        solver.step(state, control, 0.02)
        mode, low = eddy(), state.get_positions()[0, water, 1] < 0.066
        left.append((state.get_velocities()[0, water] * mode)[low].sum() / (mode[low] ** 2).sum() / 0.033)
    assert min(left) > -0.1 and left[3] > 0.2


def test_a_ball_of_many_samples_floats_where_it_fell() -> None:
    """Guards the room for samples: there are more near a particle than are usual, and none is lost."""
    width = 9 * S
    scene = Scene(contact_radius=0.5 * S)
    for normal, offset in (
        ((0, 1, 0), 0.0), ((1, 0, 0), 0.0), ((-1, 0, 0), -width), ((0, 0, 1), 0.0), ((0, 0, -1), -width)
    ):  # fmt: skip
        scene.add_collider(Plane(normal, offset, friction=0.0))
    water = scene.add_fluid_block((0, 0, 0), (width, 5 * S, width), spacing=S)
    middle = 0.5 * width
    ball = scene.add_rigid_body(geometry.ball(0.035, 4), 500.0, position=(middle, 0.15, middle))
    scene.add_fluid_boundary(ball.indices, ball.volumes)
    assert scene.fluid.capacity == 64 < scene.fluid.wet_capacity < len(ball.indices) + 8
    solver = Solver(Model(scene, 1), substeps=8, threads=1)
    state, control = solver.state(), solver.control()
    for _ in range(60):
        solver.step(state, control, 0.02)
        assert (state.get_fluid_overflow() == 0).all()
    x, y, z = state.get_rigid_poses()[0, 0, :3]
    assert np.hypot(x - middle, z - middle) < 0.02
    level = (len(water) * S**3 + 0.5 * ball.volumes.sum()) / width**2
    assert y == pytest.approx(level, abs=0.35 * S)


def test_there_is_room_for_all_samples_that_can_be_near() -> None:
    """Guards its size: what a particle has near it, wherever it is; small bodies side by side; cloth that folds."""
    scene = Scene()
    scene.add_fluid_block((5.0, 0.0, 0.0), (5.1, 0.1, 0.1), spacing=S)
    places = np.random.default_rng(0).uniform(-0.1, 0.1, (3000, 3))
    dense = scene.add_rigid_body(geometry.ball(0.05, 4), 500.0, 0.008)
    scene.add_fluid_boundary(dense.indices, dense.volumes)
    gaps = np.linalg.norm(places[:, None] - scene.positions[dense.indices], axis=2)
    most = (gaps < 2.0 * S).sum(axis=1).max()
    assert 64 < most <= scene.fluid.wet_capacity <= 3 * most
    small = Scene()
    small.add_fluid_block((5.0, 0.0, 0.0), (5.1, 0.1, 0.1), spacing=S)
    for x in (0.0, 1.0, 2.0):
        bead = small.add_rigid_body(geometry.ball(0.015, 3), 500.0, 0.008, position=(x, 0.0, 0.0))
        small.add_fluid_boundary(bead.indices, bead.volumes)
    assert small.fluid.wet_capacity >= 3 * len(bead.indices) > 64
    small.set_fluid_capacity(64, boundary=32)
    assert small.fluid.wet_capacity == 32


def test_a_rigid_cup_holds_water_while_it_is_lifted() -> None:
    """Guards walls: thinner than a particle, they count for what is behind them, so that none gets through."""
    s = 0.012
    scene = Scene(grip_count=2)
    scene.add_collider(Plane(friction=0.5))
    water = scene.add_fluid_block((-0.03, 0.02, -0.03), (0.03, 0.08, 0.03), spacing=s)
    profile = [(0, 0), (0.05, 0), (0.05, 0.12)]
    cup = scene.add_rigid_body(geometry.revolution(profile), 1200.0, s, thickness=s, position=(0, 0.006, 0))
    scene.add_fluid_boundary(cup.indices, cup.volumes)
    solver = Solver(Model(scene, 1), substeps=4, threads=1)
    state, control = solver.state(), solver.control()
    for _ in range(60):
        solver.step(state, control, 0.01)
    rim = cup.vertices[cup.rest[-len(cup.vertices) :, 1] > 0.05]
    across = state.get_positions()[0, rim, 0]
    state.hold([[rim[across.argmin()], rim[across.argmax()]]])
    control.move(np.full((1, 2, 3), (0.0, 0.003, 0.0)))
    for _ in range(40):
        solver.step(state, control, 0.01)
    x = state.get_positions()[0, water] - state.get_rigid_poses()[0, 0, :3]
    assert state.get_rigid_poses()[0, 0, 1] > 0.1
    assert (np.hypot(x[:, 0], x[:, 2]) < 0.05).all() and (x[:, 1] > 0.0).all()
    free = Scene()  # a solid has the volumes that it was given
    free.add_fluid_block((5.0, 0.0, 0.0), (5.1, 0.1, 0.1), spacing=S)
    ball = free.add_rigid_body(geometry.ball(0.05), 500.0)
    free.add_fluid_boundary(ball.indices, ball.volumes)
    assert_allclose(free.fluid.volumes, ball.volumes / S**3)


def test_surface_tension_rounds_a_cube() -> None:
    """Guards cohesion: corners of a cube in free fall go in, to where they are in a ball, and nothing drifts away."""
    material = FluidMaterial(surface_tension=0.5, viscosity=0.5, vorticity=1e-9)
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_fluid_block((-3 * S, -3 * S, -3 * S), (3 * S, 3 * S, 3 * S), material, S)
    x, v = run(scene)
    before, after = (np.linalg.norm(places, axis=1).max() for places in (scene.positions, x))
    assert after < 0.94 * before
    assert_allclose(v.mean(axis=0), 0.0, atol=1e-3)


def test_vorticity_keeps_an_eddy_alive() -> None:
    """Guards confinement: water that turns in a box has much more energy left with it than without."""
    energy = []
    for vorticity in (1e-9, 1.0):
        scene = Scene(gravity=(0.0, 0.0, 0.0))
        for axis, half in ((0, 5 * S), (1, 5 * S), (2, 2 * S)):
            for sign in (-1.0, 1.0):
                scene.add_collider(Plane(tuple(sign * np.eye(3)[axis]), -half, friction=0.0))
        material = FluidMaterial(vorticity=vorticity, viscosity=0.0, xsph=0.0, surface_tension=1e-9)
        scene.add_fluid_block((-5 * S, -5 * S, -2 * S), (5 * S, 5 * S, 2 * S), material, S)
        scene.velocities[:] = 5.0 * np.cross((0.0, 0.0, 1.0), scene.positions)
        energy.append((run(scene)[1] ** 2).sum())
    assert energy[1] > 2.0 * energy[0]
