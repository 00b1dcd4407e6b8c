"""How many substeps bodies need: closed forms, and what one sweep a substep really leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import Fabric, Model, RopeMaterial, Scene, Solver
from pbd_gym.sim.substeps import needed_substeps, substep_limits

GRAVITY = 9.81


def sheet(particles: int, **options: Any) -> Scene:
    scene = Scene()
    scene.add_cloth(particles, particles, (0.4, 0.4), Fabric.preset("towel"), **options)
    return scene


def rope(particles: int, compliance: float = 0.0) -> Scene:
    scene = Scene()
    path = np.linspace([0.0, 0.0, 0.0], [0.0, -0.5, 0.0], particles)
    scene.pin(scene.add_rope(path, RopeMaterial(0.1, compliance, None), lines=False)[:1])
    return scene


def test_bending_is_limited_by_rigidity_weight_and_spacing() -> None:
    """Softening 3 D h^2 / (w l^4) of the threads of a weave."""
    fabric, spacing = Fabric.preset("towel"), 0.4 / 9
    (bend,) = [limit for limit in substep_limits(sheet(10), softening=0.07) if limit.label == "bend"]
    wanted = np.sqrt(0.07 * fabric.density * spacing**4 / (3.0 * fabric.flexural_rigidity))
    assert_allclose([bend.softening, bend.longest], wanted, rtol=0.03)  # ends are lighter


def test_a_finer_weave_needs_more_and_its_threads_do_not() -> None:
    """As lines, threads carry the weight, so that only bending counts: with the square of the resolution."""
    looks: dict[str, Any] = {"softening": 0.1, "forces": False}
    assert [needed_substeps(sheet(n), 0.08, **looks) for n in (32, 64)] == [32, 99]
    assert needed_substeps(sheet(32, lines=False), 0.08, **looks) == 66


def test_forces_need_more_than_looks() -> None:
    """Diagonals that carry no weight may be soft, but not where they are pulled; threads that are lines never are."""
    limits = substep_limits(sheet(32))
    (shear,) = [limit for limit in limits if limit.label == "shear"]
    assert shear.stretch == np.inf and shear.exact == shear.softening < shear.longest
    assert needed_substeps(sheet(32), 0.08) == int(np.ceil(0.08 / min(limit.exact for limit in limits)))
    assert needed_substeps(rope(21, 1e-12), 0.01) == 200  # 0.05 ms, and no shorter


@pytest.mark.parametrize("particles", [11, 21])
def test_a_hanging_rope_is_longer_by_what_is_said(particles: int) -> None:
    """h^2 g L / (2 l^2) of a rope without compliance, one sweep a substep, at rest."""
    scene, h = rope(particles), 1e-3
    solver = Solver(Model(scene, dtype="float64"), substeps=25, damping=20.0, compensate=False)
    state, control = solver.state(), solver.control()
    for _ in range(80):
        solver.step(state, control, 25 * h)
    found = -state.get_positions()[0, -1, 1] / 0.5 - 1.0
    spacing = 0.5 / (particles - 1)
    assert_allclose(found, h**2 * GRAVITY * 0.5 / (2.0 * spacing**2), rtol=0.12)
    (limit,) = substep_limits(scene, stretch=found)
    assert limit.softening == 0.0
    assert_allclose(limit.longest, h, rtol=0.06)


def test_what_is_soft_enough_needs_no_more() -> None:
    """Compliance far above h^2 / m: the longest substep that contacts allow."""
    assert needed_substeps(rope(21, 1.0), 0.01) == 4
    assert needed_substeps(rope(21, 1.0), 0.01, longest=1e-3) == 10
    assert needed_substeps(Scene(), 1 / 30) == 14


def test_fast_hands_need_more_the_thinner_the_cloth() -> None:
    """A fifth of the thinnest layer in a substep; slow hands, or nothing that collides, need no more."""
    scene = Scene()
    looks = {"speed": 3.0, "forces": False}
    assert needed_substeps(scene, 0.08, **looks) == 32
    for k, thickness in enumerate((0.005, 0.002)):
        cloth = scene.add_cloth(16, 16, (0.4, 0.4), Fabric.preset("towel"), (0.0, 0.1 * k, 0.0), lines=True)
        scene.add_surface_contacts(cloth.triangles, thickness)
        # Layers touch at a little more than their thickness.
        assert_allclose(needed_substeps(scene, 0.08, **looks), 0.08 * 3.0 / (0.2 * thickness), rtol=0.05)
    assert needed_substeps(scene, 0.08, speed=0.1, forces=False) == 32


@pytest.mark.parametrize(
    ("name", "value"), [("softening", 0.0), ("stretch", -1.0), ("longest", 0.0), ("ctrl_dt", 0.0), ("speed", -1.0)]
)
def test_bad_numbers(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        needed_substeps(rope(3), **{"ctrl_dt": 0.1, name: value})
