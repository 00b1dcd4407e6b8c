"""A scene moves the same in any unit of length, and with all masses and stiffnesses times the same factor."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym import (
    Box,
    Capsule,
    ClothMaterial,
    FluidMaterial,
    Model,
    Plane,
    RopeMaterial,
    Scene,
    SoftMaterial,
    Solver,
    geometry,
)

TWICE = 1024.0
"""Factor of lengths or masses: a power of two, so that floats round alike."""
LYING = ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0.0))


def empty(unit: float, **options: float) -> Scene:
    """Return a scene whose lengths are given in a unit, as a part of a metre."""
    scene = Scene((0.0, -9.81 * unit, 0.0), 0.005 * unit, meters_per_unit=1.0 / unit, **options)  # type: ignore[arg-type]
    scene.add_collider(Plane(friction=0.5, restitution=0.3))
    return scene


def surfaces(unit: float, mass: float) -> Scene:
    """Return towels, one of them in the ground at the start, the other in two hands over a bar, and a rope on a box."""
    scene = empty(unit, grip_count=2)
    scene.add_collider(Capsule((-0.3 * unit, 0.1 * unit, 0.0), (0.3 * unit, 0.1 * unit, 0.0), 0.02 * unit))
    scene.add_collider(Box((0.7 * unit, 0.05 * unit, 0.0), (0.1 * unit, 0.05 * unit, 0.1 * unit), friction=0.3))
    cotton = ClothMaterial(0.2 * mass / unit**2, 1e-5 / mass, 1e-2 / mass, 1e-2 / mass, thickness=0.004 * unit)
    held = scene.add_cloth(10, 10, (0.4 * unit, 0.4 * unit), cotton, (0.0, 0.53 * unit, 0.0), tethers=True)
    low = scene.add_cloth(8, 8, (0.3 * unit, 0.3 * unit), cotton, (0.0, 0.002 * unit, 0.3 * unit), LYING)
    for cloth in (held, low):
        scene.add_surface_contacts(cloth.triangles, 0.004 * unit, 0.3)
    turn = np.linspace(0.0, 9.0, 30)
    points = np.stack([0.7 + 0.01 * turn * np.cos(turn), 0.11 + 0.01 * turn, 0.01 * turn * np.sin(turn)], axis=1)
    scene.add_rope(points * unit, RopeMaterial(0.04 * mass / unit, 1e-6 / mass, 1e-2 / mass))
    return scene


def solids(unit: float, mass: float) -> Scene:
    """Return soft blocks and bouncing balls on each other, and a stack of rigid boxes that begin in one another."""
    scene = empty(unit)
    box = geometry.box((1, 1, 1), (0.1 * unit,) * 3)
    for height, spacing in ((0.08, 0.05), (0.21, 0.1)):
        mesh = geometry.lattice(box.positions, box.triangles, spacing * unit)
        scene.add_soft_body(mesh, SoftMaterial(1e3 * mass / unit**3, 3e4 * mass / unit), (0.0, height * unit, 0.0))
    scene.add_particle_contacts(np.arange(scene.particle_count), 0.02 * unit, 0.4)
    for k in range(4):
        ball = scene.add_particles([[0.4 * unit, (0.04 + 0.05 * k) * unit, 0.001 * k * unit]], 0.1 * mass)
        scene.add_particle_contacts(ball, 0.02 * unit, 0.3, 0.6)
    for k in range(2):
        place = ((-0.4 + 0.01 * k) * unit, (0.045 + 0.09 * k) * unit, 0.0)
        scene.add_rigid_body(box, 500.0 * mass / unit**3, position=place)
    return scene


def water(unit: float, mass: float) -> Scene:
    """Return water between walls, with a floating box."""
    scene = empty(unit)
    for normal in ((1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)):
        scene.add_collider(Plane(normal, -0.1 * unit, friction=0.0))
    liquid = FluidMaterial(1e3 * mass / unit**3, 1e-3 * mass / unit)
    scene.add_fluid_block((-0.1 * unit, 0.0, -0.1 * unit), (0.0, 0.12 * unit, 0.1 * unit), liquid, spacing=0.02 * unit)
    box = geometry.box((1, 1, 1), (0.06 * unit,) * 3)
    scene.add_rigid_body(box, 500.0 * mass / unit**3, position=(-0.05 * unit, 0.2 * unit, 0.0))
    return scene


def path(scene: Scene) -> np.ndarray:
    """Return where particles are after each of some steps [m], shape (steps, n, 3)."""
    solver = Solver(Model(scene), substeps=10, quiet=True)
    state, control = solver.state(), solver.control()
    if scene.grip_count:
        state.hold([[0, 9]])
        control.move(scene.meter * np.array([[[0.004, 0.0, 0.006], [-0.003, -0.008, 0.004]]]))
    found = []
    for _ in range(20):
        solver.step(state, control, 1 / 60)
        found.append(state.get_positions()[0] / scene.meter)
    return np.array(found)


@pytest.mark.parametrize("make", [surfaces, solids, water])
def test_neither_units_nor_masses_move_anything(make: Callable[[float, float], Scene]) -> None:
    """Guards numbers of the engine's own: overlaps left at 1.5 mm/s in scenes in millimetres too, and so 1000 times
    too slowly, and creases were always as wide as in towels that move.
    """
    wanted = path(make(1.0, 1.0))
    assert np.abs(wanted[-1] - wanted[0]).max() > 0.01
    assert_allclose(path(make(TWICE, 1.0)), wanted, atol=1e-6, rtol=0.0)
    assert_array_equal(path(make(1.0, TWICE)), wanted)
    slack = [[body.slack for body in make(*factors).tethered_bodies] for factors in ((1.0, 1.0), (TWICE, TWICE))]
    assert slack[0] == slack[1]


@pytest.mark.parametrize(
    ("gravity", "meters"),
    [
        (9.81, 1.0),
        (9.8, 1.0),
        (1.62, 1.0),
        (0.0, 1.0),
        (98.1, 1.0),
        (9810.0, 1e-3),
        (9800.0, 1e-3),
        (981.0, 1e-2),
        (386.1, 0.0254),
        (32.2, 0.3048),
    ],
)
def test_gravity_tells_the_unit(gravity: float, meters: float) -> None:
    """Guards scenes in millimetres whose author says nothing; planets and centrifuges are in metres."""
    scene = Scene((0.0, -gravity, 0.0))
    assert scene.meter == pytest.approx(1.0 / meters)
    assert Solver(Model(with_ball(scene))).max_speed == pytest.approx(1e3 / meters)
    assert Scene((0.0, 0.0, -gravity), meters_per_unit=0.5).meter == 2.0


def with_ball(scene: Scene) -> Scene:
    """Return the scene with a particle in it."""
    scene.add_particles([[0.0, 1.0, 0.0]], 1.0)
    return scene


@pytest.mark.parametrize("unit", [0.0, -1.0, float("nan"), float("inf"), "mm"])
def test_units_that_are_none(unit: object) -> None:
    """Guards the error: it names the argument."""
    with pytest.raises((ValueError, TypeError), match="meters_per_unit"):
        Scene(meters_per_unit=unit)  # type: ignore[arg-type]


def test_towels_in_millimetres_come_out_of_the_ground() -> None:
    """Guards what is said to people: depths are in metres in any unit, and what lies in the ground comes out."""
    scene = Scene((0.0, -9810.0, 0.0), contact_radius=5.0)
    scene.add_collider(Plane())
    scene.add_collider(Box((0.0, 1000.0, 0.0), (50.0, 50.0, 50.0)))
    scene.add_cloth(6, 6, (200.0, 200.0), ClothMaterial(2e-7), (0.0, 2.0, 0.0), LYING)
    scene.add_particles([[0.0, 1000.0, 0.0]], 0.1)
    with pytest.warns(RuntimeWarning, match=r"starts 0\.05 m inside collider 1"):
        model = Model(scene)
    solver = Solver(model, quiet=True)
    state, control = solver.state(), solver.control()
    for _ in range(150):
        solver.step(state, control, 1 / 60)
    assert_allclose(state.get_positions()[0, :36, 1], 5.0, atol=0.1)
