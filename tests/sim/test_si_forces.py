"""What is pulled, squeezed or swings answers as its material says: closed forms, at few and at many substeps."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import ClothMaterial, Model, RopeMaterial, Scene, SoftMaterial, Solver
from pbd_gym.geometry import box
from pbd_gym.sim.substeps import SOFTER, needed_substeps, softer_than_material

FRAME = 1 / 60


def pulled(
    scene: Scene, ends: list[int], stretch: float, substeps: int | None, compensate: bool | None = True
) -> tuple[float, int]:
    """Return the force at the first half of the hands, which draw a body longer along x [N], and the substeps taken."""
    solver = Solver(Model(scene), substeps, damping=3.0, grip_forces=True, compensate=compensate)
    state, control = solver.state(), solver.control()
    state.hold([ends])
    half, step = len(ends) // 2, 0.5 * stretch / 20
    control.move([[[-step, 0, 0]] * half + [[step, 0, 0]] * half])
    for _ in range(20):
        solver.step(state, control, FRAME)
    control.move(np.zeros(3))
    for _ in range(120):
        solver.step(state, control, FRAME)
    return abs(float(state.get_grip_forces()[0, :half, 0].sum())), solver.substeps


def rope(compliance: float = 1e-5, **options: bool) -> tuple[Scene, list[int]]:
    scene = Scene(gravity=(0, 0, 0), grip_count=2)
    particles = scene.add_rope(np.linspace((0, 0, 0), (0.4, 0, 0), 21), RopeMaterial(0.04, compliance, None), **options)
    return scene, [particles[0], particles[-1]]


def strip(**options: bool) -> tuple[Scene, list[int]]:
    """Eight threads along the pull, and next to nothing across."""
    scene = Scene(gravity=(0, 0, 0), grip_count=16)
    cloth = scene.add_cloth(8, 21, (0.4, 0.14), ClothMaterial(0.2, 1e-4, 1e3, None), **options)
    return scene, [*cloth.indices[:, 0], *cloth.indices[:, -1]]


def block(model: str, poisson_ratio: float, cells: int) -> tuple[Scene, list[int]]:
    scene = Scene(gravity=(0, 0, 0), grip_count=2 * (cells + 1) ** 2)
    mesh = box((cells, cells, cells), (0.08, 0.08, 0.08))
    scene.add_soft_body(mesh, SoftMaterial(1000.0, 1e5, poisson_ratio, model))
    across = scene.positions[:, 0]
    return scene, [*np.flatnonzero(across < -0.0399), *np.flatnonzero(across > 0.0399)]


@pytest.mark.parametrize("substeps", [10, 40, None])
def test_lines_pull_as_their_segments_are_stiff(substeps: int | None) -> None:
    """Stretch over compliance, of springs in series; threads side by side add up."""
    assert_allclose(pulled(*rope(), 0.004, substeps)[0], 0.004 / (20 * 1e-5), rtol=0.02)
    assert_allclose(pulled(*strip(), 0.004, substeps)[0], 8 * 0.004 / (20 * 1e-4), rtol=0.02)


def test_springs_get_the_substeps_that_they_need() -> None:
    """Without lines it takes many; where somebody insists on few, this is said with numbers, once."""
    force, substeps = pulled(*rope(lines=False), 0.004, None)
    assert_allclose(force, 20.0, rtol=0.03)
    with pytest.warns(RuntimeWarning, match=rf"'stretch' are softer .* with 40 substeps .* {substeps} substeps would"):
        assert pulled(*rope(lines=False), 0.004, 40)[0] < 2.0
    scene, _ = rope(lines=False)
    solver = Solver(Model(scene), 40, compensate=True)
    state, control = solver.state(), solver.control()
    with pytest.warns(RuntimeWarning, match="softer"):
        solver.step(state, control, FRAME)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solver.step(state, control, 0.5 * FRAME)
        quiet = Solver(Model(scene), 40, compensate=True, quiet=True)
        quiet.step(quiet.state(), quiet.control(), FRAME)
    for compliance, compensate, cure in (
        (1e-5, None, "334 substeps would do"),
        (1e-5, False, "334 substeps and compensate=True would do"),
        (1e-7, None, "even 334 substeps leave"),
    ):
        plain = Solver(Model(rope(compliance, lines=False)[0]), 40, compensate=compensate)
        with pytest.warns(RuntimeWarning, match=cure):
            plain.step(plain.state(), plain.control(), FRAME)
    assert softer_than_material(scene, FRAME / 40)[0] > SOFTER > softer_than_material(scene, FRAME / substeps)[0]


def test_who_takes_the_substeps_that_are_needed_gets_the_forces_too() -> None:
    """Guards ``substeps=needed_substeps(scene, dt)``, which was plain XPBD, and a quarter too soft."""
    scene, ends = rope(lines=False)
    needed = needed_substeps(scene, FRAME)
    assert needed == pulled(scene, ends, 0.004, None)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_allclose(pulled(scene, ends, 0.004, needed, None)[0], 20.0, rtol=0.03)


def test_a_block_without_poisson_ratio_is_a_spring() -> None:
    """E A / L, also where plain sweeps leave it a sixth softer."""
    wanted = 1e5 * 0.08 * 0.0004
    assert_allclose(pulled(*block("neo_hookean", 0.0, 4), 0.0004, None)[0], wanted, rtol=0.03)
    assert_allclose(pulled(*block("neo_hookean", 0.0, 4), 0.0004, 40)[0], wanted, rtol=0.03)


@pytest.mark.parametrize("cells", [3, 5])
def test_springs_of_a_solid_pull_as_at_short_substeps(cells: int) -> None:
    """Twenty substeps, where a plain sweep is 10 to 30 % softer, beside two hundred."""
    few = pulled(*block("edges_and_volumes", 0.25, cells), 0.0008, 20)[0]
    assert_allclose(few, pulled(*block("edges_and_volumes", 0.25, cells), 0.0008, 200)[0], rtol=0.02)


@pytest.mark.parametrize("softening", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("mass", [0.04, 4.0])
def test_a_rod_swings_with_its_own_period(softening: float, mass: float) -> None:
    """The lowest tone of a chain that is fixed at one end: omega = 2 sqrt(k / m) sin(pi / 4 n)."""
    count, compliance = 20, 1e-4
    scene = Scene(gravity=(0, 0, 0))
    path = np.linspace((0, 0, 0), (0.4, 0, 0), count + 1)
    scene.pin(scene.add_rope(path, RopeMaterial(mass, compliance, None), lines=False)[:1])
    m = mass * 0.4 / count
    period = np.pi / np.sqrt(1.0 / (compliance * m)) / np.sin(np.pi / (4 * count))
    h = np.sqrt(softening * 2.0 * compliance * m / 2.0)
    solver = Solver(Model(scene, dtype="float64", lanes=1), 1, compensate=True)
    state, control = solver.state(), solver.control()
    start = scene.positions.copy()
    start[:, 0] += 1e-3 * np.sin(np.arange(count + 1) * np.pi / (2 * count))
    state.set_positions(start)
    times, ends = h * np.arange(1, int(3.4 * period / h)), []
    for _ in times:
        solver.step(state, control, h)
        ends.append(state.get_positions()[0, -1, 0] - 0.4)
    end = np.array(ends)
    (falls,) = np.nonzero((end[:-1] > 0.0) & (end[1:] <= 0.0))
    zeros = times[falls] + h * end[falls] / (end[falls] - end[falls + 1])
    assert_allclose(np.diff(zeros).mean(), period, rtol=2e-3)


def test_a_lone_spring_is_not_compensated() -> None:
    """Nothing is still to come for it: the sag of a mass on one spring is exact at any substep."""
    scene = Scene()
    particles = scene.add_particles([[0, 0, 0], [0, -1, 0]], 1.0)
    scene.pin(particles[:1])
    scene.add_distance_constraints([particles], 1e-2)
    solver = Solver(Model(scene, dtype="float64", lanes=1), 1, damping=3.0, compensate=True, quiet=True)
    state, control = solver.state(), solver.control()
    for _ in range(300):
        solver.step(state, control, 0.05)
    assert_allclose(state.get_positions()[0, 1, 1], -1.0 - 9.81e-2, rtol=1e-6)


def test_tethers_leave_the_material_its_stretch() -> None:
    """A strip that carries fifty times its weight is as long as its threads make it."""
    scene = Scene()
    cloth = scene.add_cloth(11, 5, (0.1, 0.4), ClothMaterial(0.2, 1e-4, 1e3, None))
    scene.pin(cloth.indices[0])
    load = 50 * 0.2 * 0.04 / 5
    scene.inv_mass[cloth.indices[-1]] = 1.0 / load
    solver = Solver(Model(scene), damping=4.0)
    state, control = solver.state(), solver.control()
    for _ in range(150):
        solver.step(state, control, FRAME)
    height = -state.get_positions()[0, cloth.indices[-1], 1].mean()
    assert_allclose(height - 0.4, 10 * 1e-4 * 9.81 * load, rtol=0.05)


def test_default_substeps_follow_the_control_step() -> None:
    scene, _ = rope(lines=False)
    solver = Solver(Model(scene))
    state, control = solver.state(), solver.control()
    assert solver.substeps == 0
    for ctrl_dt in (1 / 600, 1 / 1200):
        solver.step(state, control, ctrl_dt)
        assert solver.substeps == needed_substeps(scene, ctrl_dt)
