"""The lesson in NumPy: the engine's own trajectory, in few lines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from docs import xpbd_in_numpy as lesson
from pbd_gym import ClothMaterial, Model, Scene, Solver

SCRIPT = Path(lesson.__file__)
FLAT = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, -1.0, 0.0]]
FRAMES = 60
TOLERANCE = 1e-9
"""[m]. Both round at 1e-16 m but in different places (products are fused in the engine); a cloth that buckles as it
swings back, after 0.4 s, amplifies that to 1e-11 m within the second. A wrong term shows in the first frame."""


def engine(dtype: str = "float64") -> tuple[Scene, Model]:
    scene = Scene()
    material = ClothMaterial(lesson.DENSITY, lesson.STRETCH, lesson.SHEAR, lesson.BEND)
    cloth = scene.add_cloth(12, 12, (0.5, 0.5), material, rotation=FLAT, lines=False)
    scene.pin(cloth.corners[:2])
    return scene, Model(scene, dtype=dtype)


def test_it_is_the_cloth_of_the_engine() -> None:
    scene, model = engine()
    cloth = lesson.Cloth()
    np.testing.assert_array_equal(scene.positions, cloth.x)
    np.testing.assert_allclose(scene.inv_mass, cloth.w, rtol=1e-14)
    np.testing.assert_array_equal(model.constraint_order["distance"], np.concatenate(cloth.colors))
    for color in cloth.colors:
        particles = cloth.pairs[color].ravel()
        assert len(np.unique(particles)) == len(particles)


@pytest.mark.parametrize(("substeps", "iterations"), [(5, 4), (10, 1)])
def test_it_moves_as_the_engine_does(substeps: int, iterations: int) -> None:
    _, model = engine()
    solver = Solver(model, substeps=substeps, compensate=False, iterations=iterations)
    state, control = solver.state(), solver.control()
    expected = lesson.simulate(FRAMES, substeps=substeps, iterations=iterations)
    assert np.ptp(expected[:, -1], axis=0).max() > 0.5  # it swings
    for frame in range(1, FRAMES + 1):
        solver.step(state, control, 1 / 60)
        np.testing.assert_allclose(state.get_positions()[0], expected[frame], rtol=0, atol=TOLERANCE)


def test_forgotten_multipliers_make_another_cloth() -> None:
    """The comparison above would see the mistake that the picture shows."""
    kept, forgotten = lesson.simulate(18), lesson.simulate(18, keep=False)
    assert np.abs(kept[1] - forgotten[1]).max() > 1e3 * TOLERANCE
    assert np.abs(kept[-1] - forgotten[-1]).max() > 1e-3


def test_it_is_short_and_needs_numpy_alone() -> None:
    assert len(SCRIPT.read_text().splitlines()) < 150
    names = ("warp", "gymnasium", "pbd_gym", "matplotlib")
    code = f"import sys, xpbd_in_numpy as x; x.simulate(1); print([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=SCRIPT.parent, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_it_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    still = lesson.Cloth().x
    monkeypatch.setattr(lesson, "simulate", lambda frames, **_: np.stack([still] * (frames + 1)))
    lesson.draw(tmp_path / "lesson.png")
    assert (tmp_path / "lesson.png").stat().st_size > 10_000
