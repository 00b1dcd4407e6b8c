"""Fluids: closed forms, a substep in NumPy, water at rest, moving walls, and bodies that float or sink."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym import Model, Scene, ShapeMaterial, Solver
from pbd_gym.colliders import Box, Plane
from pbd_gym.geometry import tetmeshes
from pbd_gym.materials.fluids import FluidMaterial, Smoothing
from pbd_gym.scene.fluids import SOFT_FELT
from pbd_gym.sim.upload.fluid import cohesion
from tests.sim.fluid_reference import behind, substep

S = 0.02


def tank(block: tuple[int, int, int], length: int, friction: float = 0.0, **material: Any) -> Scene:
    """A column of so many particles along each side, in a tank of planes."""
    scene = Scene()
    x, y, z = (S * count for count in block)
    for normal, offset in (
        ((0, 1, 0), 0.0), ((1, 0, 0), 0.0), ((-1, 0, 0), -S * length), ((0, 0, 1), 0.0), ((0, 0, -1), -z)
    ):  # fmt: skip
        scene.add_collider(Plane(normal, offset, friction=friction))
    scene.add_fluid_block((0.0, 0.0, 0.0), (x, y, z), FluidMaterial(**material), S)
    return scene


def run(scene: Scene, seconds: float, num_envs: int = 1, h: float = 0.005, **options: Any) -> tuple[Any, Any]:
    """Advance, sixteen substeps at a time; returns the state and the solver."""
    model = Model(scene, num_envs, **options)
    solver = Solver(model, substeps=16, iterations=1, threads=1)
    state, control = solver.state(), solver.control()
    for _ in range(round(seconds / (16 * h))):
        solver.step(state, control, 16 * h)
    return state, solver


@pytest.mark.parametrize(("wall_friction", "least", "most"), [(0.0, 0.95, 1.05), (1.0, 0.6, 0.9)])
def test_the_surface_is_level_whatever_the_walls(wall_friction: float, least: float, most: float) -> None:
    """Guards that liquids do not stick to rough walls as grains do: in a tilted tank the surface stays level."""
    slope, length, depth = np.tan(np.radians(5.0)), 16, 4
    scene = tank((length, depth, 4), length, 0.5, wall_friction=wall_friction)
    scene.gravity = tuple(9.81 * np.array([slope, -1.0, 0.0]) / np.hypot(slope, 1.0))
    model = Model(scene)
    solver = Solver(model, 8)
    state, control = solver.state(), solver.control()
    before = state.get_positions()[0, :, 0].mean()
    for _ in range(75):
        solver.step(state, control, 0.02)
    shift = state.get_positions()[0, :, 0].mean() - before
    assert least < shift / (S * slope * length**2 / (12.0 * depth)) < most


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_kernel_is_what_it_is_said_to_be(dimension: int) -> None:
    """Integral, second moment and the share behind a wall, by quadrature; gradients against differences."""
    smoothing = Smoothing(dimension, 0.5)  # support 1
    n = 240 if dimension == 2 else 80
    grid = (np.arange(n) + 0.5) / n * 2.0 - 1.0
    places = np.stack(np.meshgrid(*[grid] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    q = np.linalg.norm(places, axis=1)
    weights = np.where(q < 1.0, (1.0 - q) ** 4 * (1.0 + 4.0 * q), 0.0)
    weights /= weights.sum()
    assert_allclose((weights * places[:, 0] ** 2).sum(), smoothing.spread, rtol=2e-3)
    cubes = np.maximum(1.0 - q, 0.0) ** 3 * (2.0 / n) ** dimension * 2.0**dimension  # two spacings are the support
    for distance in (0.0, 0.25, 0.5):
        assert_allclose(weights[places[:, 0] > distance].sum(), smoothing.wall_share(distance), atol=3e-3)
        beyond = np.where(places[:, 0] > distance, cubes, 0.0)
        e = 1.0 - distance
        moments = e**4 * np.polynomial.polynomial.polyval(e, smoothing.wall_moments().T)
        assert_allclose(moments, [(beyond * places[:, a] ** 2).sum() for a in (0, 1)], rtol=0.03)
        assert smoothing.wall_share(-distance) + smoothing.wall_share(distance) == pytest.approx(1.0)
    # Lattice: 1 at rest, but for what settling takes off; the volume of a particle is spacing^dimension.
    integral = {2: np.pi / 7.0, 3: 2.0 * np.pi / 21.0}[dimension]
    assert smoothing.amplitude * integral / 0.5**dimension == pytest.approx(1.0, abs=0.06)


def test_a_substep_is_that_of_numpy() -> None:
    """Guards density, walls, multipliers, moves and viscosity: float64, random particles, to rounding."""
    rng = np.random.default_rng(0)
    scene = Scene(gravity=(0.4, -9.81, 0.2))
    scene.add_collider(Plane((0, 1, 0), 0.0, friction=0.0))
    material = FluidMaterial(viscosity=3.0, xsph=0.1, regularization=0.1, iterations=3)
    scene.add_fluid_block((0, 0.2 * S, 0), (5 * S, 6.2 * S, 5 * S), material, S)
    x = scene.positions + rng.uniform(-0.15 * S, 0.15 * S, scene.positions.shape)
    v = rng.uniform(-0.5, 0.5, x.shape)
    model = Model(scene, 2, dtype="float64")
    solver = Solver(model, substeps=1, threads=1)
    state = solver.state()
    state.set_positions(x)
    state.set_velocities(v)
    solver.step(state, solver.control(), 0.004)
    expected_x, expected_v = substep(scene, x, v, 0.004)
    assert np.abs(expected_x - x - 0.004 * v).max() > 0.05 * S
    # The reference takes the slope of a wall from differences, good to 1e-9 of it.
    for env in range(2):
        assert_allclose(state.get_positions()[env], expected_x, atol=1e-10)
        assert_allclose(state.get_velocities()[env], expected_v, atol=1e-7)
    assert_allclose(behind(np.array([0.3 * S]), 2 * S), scene.fluid.smoothing.wall_share([0.3 * S]), atol=1e-12)


def test_water_comes_to_rest_at_its_level() -> None:
    """Ten layers deep, default settings: compression, level, speed; nothing is lost, and batches are alike."""
    scene = tank((8, 20, 5), 16)
    state, solver = run(scene, 4.8, 2)
    x, v = state.get_positions(), state.get_velocities()
    assert_array_equal(x[0], x[1])
    density = state.get_fluid_density()[0]
    height, width, depth = 10 * S, 16 * S, 5 * S
    assert np.maximum(density - 1.0, 0.0).mean() <= 0.01
    assert 0.97 < 2.0 * x[0, :, 1].mean() / height < 1.03
    for part in np.array_split(np.argsort(x[0, :, 0]), 4):  # level all along
        assert 0.92 < 2.0 * x[0, part, 1].mean() / height < 1.08
    assert np.sqrt((v[0] ** 2).sum(axis=1).mean()) < 0.06
    inside = 0.4999 * S
    assert (x[0] > inside).all() and (x[0] < np.array([width, 2.0 * height, depth]) - inside).all()
    assert (state.get_fluid_overflow() == 0).all()
    # Hydrostatics: the floor carries the weight. Momentum of free fall in a step, less that of rest, is its push.
    saved = state.save()
    again = solver.state()
    again.load(saved)
    solver.step(state, solver.control(), 0.08)
    solver.step(again, solver.control(), 0.08)
    assert_array_equal(again.get_positions(), state.get_positions())  # a state is all that there is
    sag = state.get_positions()[0, :, 1].mean() - x[0, :, 1].mean()
    assert abs(sag) < 0.01 * 0.5 * 9.81 * 0.08**2  # of free fall


def test_momentum_is_kept_where_nothing_is_in_the_way() -> None:
    """Two drops meet in free fall; pairs push and rub with opposite forces, to rounding (float64)."""
    scene = Scene(gravity=(0.0, -2.0, 0.0))
    material = FluidMaterial(viscosity=5.0, surface_tension=0.05)
    for shift, speed in ((0.0, 1.0), (8 * S, -0.5)):
        scene.add_fluid_block((shift, 0, 0), (shift + 5 * S, 5 * S, 5 * S), material, S, velocities=(speed, 0.1, 0))
    before = scene.velocities.sum(axis=0)
    state, _ = run(scene, 0.32, dtype="float64")
    after = state.get_velocities()[0].sum(axis=0)
    assert_allclose(after, before - np.array([0.0, 2.0 * 0.32 * scene.particle_count, 0.0]), atol=1e-9)
    spread = np.ptp(state.get_velocities()[0][:, 0])
    assert spread < 1.4  # they have slowed each other down


def closed_box(scene: Scene, inner: float, wall: float) -> list[int]:
    """Six boxes around the cube (0, inner)^3."""
    middle, half = 0.5 * inner, 0.5 * inner + wall
    numbers = []
    for axis in range(3):
        for side in (-1.0, 1.0):
            center, extents = np.full(3, middle), np.full(3, half)
            center[axis] += side * (middle + 0.5 * wall)
            extents[axis] = 0.5 * wall
            box = Box(tuple(center), tuple(extents), friction=0.2)
            numbers.append(scene.add_collider(box, moving=True))
    return numbers


@pytest.mark.parametrize("h", [0.005, 1.0 / 60.0])
def test_walls_of_one_particle_hold_at_two_metres_a_second(h: float) -> None:
    """A box with walls as thick as a particle is thrown to and fro, at once, along each axis and turned."""
    scene = Scene()
    inner = 6 * S
    walls = closed_box(scene, inner, S)
    scene.add_fluid_block((0, 0, 0), (inner, 4 * S, inner), spacing=S)
    scene.set_fluid_capacity(96)  # what is thrown into a corner is denser for a moment
    model = Model(scene, 1)
    solver = Solver(model, substeps=1, threads=1)
    state, control = solver.state(), solver.control()
    for step in range(72):
        move = np.zeros(3)
        move[step // 24] = 2.0 * h * (1.0 if step // 6 % 2 else -1.0)
        for wall in walls:
            control.move_collider(wall, move)
        solver.step(state, control, h)
        x = state.get_positions()[0]
        # All walls move alike: what is in the first one's frame is where it was built.
        local = x - (state.get_poses()[0, 0, :3] - scene.colliders[walls[0]].origin)
        assert (local > 0.3 * S).all() and (local < inner - 0.3 * S).all()
    assert state.get_fluid_overflow()[0, 1] == 0


def test_bodies_float_and_sink() -> None:
    """Archimedes: a block of 0.4 times the density of water sinks in by that share of its side, a heavy one wholly.

    Guards volumes by default: as a sheet it displaced too little.
    """
    side, scene = 4 * S, Scene(contact_radius=0.5 * S)
    width = 11 * S
    for normal, offset in (
        ((0, 1, 0), 0.0), ((1, 0, 0), 0.0), ((-1, 0, 0), -width), ((0, 0, 1), 0.0), ((0, 0, -1), -width)
    ):  # fmt: skip
        scene.add_collider(Plane(normal, offset, friction=0.0))
    scene.add_fluid_block((0, 0, 0), (width, 9 * S, width), spacing=S)
    mesh = tetmeshes.box((4, 4, 4), (side,) * 3)
    block = scene.add_shape_matching(mesh, ShapeMaterial(density=400.0), position=(0.5 * width, 11 * S, 0.5 * width))
    scene.add_fluid_boundary(block.indices)
    assert_allclose(scene.fluid.volumes, SOFT_FELT * mesh.vertex_volumes() / S**3)
    model = Model(scene, 2)
    solver = Solver(model, substeps=16, threads=1)
    state, control = solver.state(), solver.control()
    state.set_parameters(fluid_density=[1.0, 0.25])
    for _ in range(25):
        solver.step(state, control, 0.08)
    x = state.get_positions()
    fluid = scene.fluid.indices
    level = 2.0 * x[0, fluid, 1].mean()
    submerged = (len(fluid) * S**3 + 0.4 * side**3) / width**2  # level, with the water that the block pushes aside
    assert level < submerged * 1.05
    middle = x[:, block.indices, 1].mean(axis=1)
    assert middle[0] == pytest.approx(submerged + (0.5 - 0.4) * side, abs=0.12 * side)
    assert middle[1] < 0.5 * side + 2 * S


def test_fluid_that_gets_into_a_solid_is_warned_of() -> None:
    """Guards coarse solids that sink though they are lighter than water."""
    scene = Scene()
    scene.add_fluid_block((0, 0, 0), (0.1, 0.1, 0.1), spacing=S)
    block = scene.add_soft_body(tetmeshes.box((2, 2, 2), (3 * S,) * 3), position=(0.0, 0.5, 0.0))
    with pytest.warns(UserWarning, match="27 of 27 particles of solids have no other within 1.2 spacings"):
        scene.add_fluid_boundary(block.indices)


def test_bad_fluid_raises_one_clear_error() -> None:
    """Every error names its numbers and leaves the scene as it was."""
    scene = Scene()
    scene.add_collider(Plane())
    block = scene.add_fluid_block((0, 0, 0), (0.1, 0.1, 0.1), spacing=S)
    assert len(block) == 125
    loose = scene.add_particles([[5.0, 1.0, 0.0]], 1.0)
    count = scene.particle_count
    for match, call in (
        ("room for 125 particles with a spacing of 0.02 m, not for 126",
         lambda: scene.add_fluid_block((1, 0, 0), (1.1, 0.1, 0.1), spacing=S, count=126)),
        ("50 particles are nearer to another than half a spacing of 0.02 m, the nearest two 0.005 m apart; 25 of these",
         lambda: scene.add_fluid_block((0.085, 0.0, 0.0), (0.185, 0.1, 0.1), spacing=S)),
        ("1 of 1 particles of the fluid have their centre in a collider",
         lambda: scene.add_fluid([[1.0, -0.1, 0.0]], spacing=S)),
        ("all fluid of a scene has the same spacing: it is 0.02, got 0.03",
         lambda: scene.add_fluid([[1.0, 1.0, 0.0]], spacing=0.03)),
        ("spacing must be finite and above zero", lambda: scene.add_fluid([[1.0, 1.0, 0.0]], spacing=0.0)),
        ("at least one particle", lambda: scene.add_fluid(np.zeros((0, 3)))),
        ("cannot be a boundary", lambda: scene.add_fluid_boundary(block[:1])),
        ("volumes must be above zero", lambda: scene.add_fluid_boundary(loose, 0.0)),
        ("capacity must be a multiple of 8, got 12", lambda: scene.set_fluid_capacity(12)),
        ("boundary must be a multiple of 8, got 20", lambda: scene.set_fluid_capacity(16, boundary=20)),
        ("5 of 5 places of the nozzle are in a collider",
         lambda: scene.add_fluid_emitter((1.0, -0.1, 0.0), (0, 1, 0), 1.0, S, 5, spacing=S)),
        ("same dimension: it is 3, got 2",
         lambda: scene.add_fluid_emitter((1.0, 0.1, 0.0), (0, 1, 0), 1.0, S, 5, spacing=S, dimension=2)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=re.escape(match)):
            call()
    assert scene.particle_count == count and len(scene.fluid.boundary) == 0 and not scene.fluid.emitters
    scene.add_fluid_emitter((1.0, 0.5, 0.0), (0, 1, 0), 1.0, S, 5, spacing=S)
    count = scene.particle_count
    for match, call in (
        ("125 of 125 particles of the fluid would be in the collider",
         lambda: scene.add_collider(Box((0.0, 0.0, 0.0), (0.2, 0.2, 0.2)))),
        ("5 of 5 places of nozzles would be in the collider",
         lambda: scene.add_collider(Box((1.0, 0.5, 0.0), (0.05, 0.05, 0.05)))),
        ("5 of 5 places of a nozzle are in the fluid: the nearest particle is 0.0173 m away, less than a",
         lambda: scene.add_fluid_emitter((0.06, 0.04, 0.06), (0, 1, 0), 1.0, S, 5, spacing=S)),
        ("5 of 5 places of a nozzle are in the fluid: the nearest particle is 0.0173 m away",
         lambda: scene.add_fluid_block((0.9, 0.4, -0.1), (1.1, 0.6, 0.1), spacing=S)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=re.escape(match)):
            call()
    assert scene.particle_count == count and len(scene.colliders) == 1 and len(scene.fluid.emitters) == 1
    scene.add_collider(Box((1.0, 0.44, 0.0), (0.05, 0.05, 0.05)))  # from which the nozzle sticks out
    with pytest.raises(ValueError, match=r"overlaps number 0: places of theirs are 0\.005 m apart"):
        scene.add_fluid_emitter((1.005, 0.5, 0.0), (0, 1, 0), 1.0, S, 5, spacing=S)
    with pytest.raises(ValueError, match="lanes=1, got 4"):
        Model(scene, lanes=4)
    with pytest.raises(ValueError, match=r"FluidMaterial\.clamp"):
        FluidMaterial(clamp=0.1)
    with pytest.raises(ValueError, match="viscosity is a parameter of fluid"):
        bare = Scene()
        bare.add_particles([[0.0, 0.0, 0.0]], 1.0)
        dry = Solver(Model(bare), substeps=10).state()
        assert dry.get_fluid_density().shape == (1, 0)
        dry.set_parameters(viscosity=2.0)


def test_what_is_twice_as_heavy_flows_half_as_viscously() -> None:
    """A shear wave decays with ``nu k^2``: nu is the dynamic viscosity over the density, whatever made it heavier."""
    length = 20 * S
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_fluid_block((0, 0, 0), (length, length, 0), FluidMaterial(viscosity=10.0, xsph=0.0), S, dimension=2)
    solver = Solver(Model(scene, 5, dtype="float64"), substeps=4, threads=1)
    state, control = solver.state(), solver.control()
    state.set_parameters(fluid_density=[1, 4, 1, 2, 1], density=[1, 1, 4, 2, 1], viscosity=[1, 1, 1, 1, 0.25])
    wave = np.cos(2.0 * np.pi / length * scene.positions[:, 0])
    velocities = np.zeros((5, scene.particle_count, 3))
    velocities[..., 1] = 0.05 * wave
    state.set_velocities(velocities)
    for _ in range(10):
        solver.step(state, control, 0.01)
    left = state.get_velocities()[..., 1] @ wave / (0.05 * wave @ wave)
    found = -np.log(left) / ((2.0 * np.pi / length) ** 2 * 0.1)
    assert found[0] == pytest.approx(10.0 / 1000.0, rel=0.15)
    assert_allclose(found[0] / found, [1.0, 4.0, 4.0, 4.0, 4.0], rtol=0.02)


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_surface_costs_its_tension(dimension: int) -> None:
    """Parting two halves takes twice the tension, by quadrature over all pairs, in a plane and in space."""
    scene = Scene()
    scene.add_fluid_block((0, 0, 0), (0.1, 0.1, 0.1 * (dimension - 2)), FluidMaterial(900.0, surface_tension=0.5), S,
                          dimension=dimension)  # fmt: skip
    fluid, n = scene.fluid, {2: 800, 3: 160}[dimension]
    axes = [(np.arange(n) + 0.5) / n] + [2.0 * (np.arange(n) + 0.5) / n - 1.0] * (dimension - 1)
    z, *across = np.meshgrid(*axes, indexing="ij", sparse=True)
    q = np.sqrt(z**2 + sum(x**2 for x in across))
    bump = 64.0 * (1.0 - q) ** 3 * q**3
    force = np.where(q < 1.0, np.where(q > 0.5, bump, 2.0 * bump - 1.0), 0.0) * fluid.particle_mass * cohesion(fluid)
    # Halves that are d apart pull with n^2 int_{z > d} (z - d) F z / r; over all d that is z^3 / (2 r).
    pairs = (force * z**3 / (2.0 * q)).sum() * 2.0 ** (dimension - 1) / n**dimension
    work = pairs * fluid.smoothing.support ** (dimension + 2) / fluid.spacing ** (2 * dimension)
    assert work == pytest.approx(2.0 * 0.5, rel=2e-3)


def test_a_fluid_in_a_plane_stays_there() -> None:
    """Guards what would leave the plane, which nothing brings back to it."""
    scene = Scene()
    scene.add_fluid_block((0, 0, 0.1), (0.1, 0.1, 0.1), spacing=S, dimension=2)
    for match, call in (
        ("same z, got 0.1 to 0.2 m", lambda: scene.add_fluid([[1.0, 0.0, 0.2]], spacing=S, dimension=2)),
        ("may move along z", lambda: scene.add_fluid([[1.0, 0.0, 0.1]], None, S, (0.0, 0.0, 1.0), 2)),
        ("same z, got 0 to 0.1 m", lambda: scene.add_fluid_emitter((0, 1, 0), (0, -1, 0), 1.0, S, 5, spacing=S)),
        ("may move along z", lambda: scene.add_fluid_emitter((0, 1, 0.1), (0, -1, 1), 1.0, S, 5, spacing=S)),
    ):
        with pytest.raises(ValueError, match=match):
            call()
    assert scene.particle_count == 25 and scene.fluid.depot is None


def test_more_fluid_than_memory_raises_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards against a process that is killed: the error names particles and bytes, and comes before either is made."""
    scene = Scene()
    for call in (
        lambda: scene.add_fluid_block((0, 0, 0), (1, 1, 1), spacing=1e-5, count=10),
        lambda: scene.add_fluid_emitter((0, 0, 0), (1, 0, 0), 1.0, 100.0, 10, spacing=1e-6),
    ):
        with pytest.raises(MemoryError, match=r"hold [\d,]+ particles with a spacing of 1e-0\d m: .* GiB are free"):
            call()
    assert scene.particle_count == 0
    scene.add_fluid_block((0, 0, 0), (0.1, 0.1, 0.1), spacing=S)
    scene.set_fluid_capacity(800_000)
    monkeypatch.setattr("pbd_gym.sim.upload.fluid.free_memory", lambda device: 2**29)
    with pytest.raises(MemoryError, match=r"125 fluid particles, up to 800,000 each, take 0\.7 GiB, and 0\.5 GiB"):
        Solver(Model(scene), substeps=10).state()
    beside = scene.add_particles([[0.5, 0.5, 0.5]], 1.0)
    scene.add_fluid_boundary(beside)
    scene.set_fluid_capacity(64, boundary=1_600_000)
    with pytest.raises(MemoryError, match=r"up to 64 and 1,600,000 samples of other bodies each, take 0\.7 GiB"):
        Solver(Model(scene), substeps=10).state()


@pytest.mark.parametrize(("opening", "leaks"), [(0.8, False), (2.0, True)])
def test_a_slit_narrower_than_a_particle_is_tight(opening: float, leaks: bool) -> None:
    """Guards what add_fluid says of openings: beneath a wall, so many spacings high."""
    scene = tank((5, 6, 4), 12)
    gap = opening * S
    scene.add_collider(Box((6 * S, gap + 0.1, 2 * S), (S, 0.1, 4 * S)))
    state, _ = run(scene, 0.8)
    assert (state.get_positions()[0, :, 0] > 7 * S).any() == leaks


def test_what_there_is_no_room_for_is_counted() -> None:
    """A list that is too short leaves neighbours out, and says how many."""
    scene = tank((8, 20, 5), 16)
    scene.set_fluid_capacity(16)
    with pytest.warns(RuntimeWarning, match=r"no room for [\d,]+ neighbours of fluid particles and 0 walls"):
        state, solver = run(scene, 0.08, 2)
    overflow = state.get_fluid_overflow()
    assert (overflow[:, 0] > 1000).all() and (overflow[0] == overflow[1]).all() and (overflow[:, 1] == 0).all()
    solver.step(state, solver.control(), 0.08)  # once is enough
    assert (state.get_fluid_overflow()[:, 0] > 1000).all()
