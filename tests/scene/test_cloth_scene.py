"""What `Scene.add_cloth` makes: masses, triangles, and constraints with the compliance of their kind."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.materials.materials import ClothMaterial
from pbd_gym.scene.scene import Scene

ROWS, COLUMNS = 4, 6
WIDTH, HEIGHT = 1.5, 0.9


def make_scene(bend_compliance: float | None = 3e-3) -> Scene:
    """A cloth that is not the first thing in its scene."""
    scene = Scene()
    scene.add_particles(np.zeros((5, 3)), 1.0)
    material = ClothMaterial(0.25, 1e-3, 2e-3, bend_compliance)
    scene.add_cloth(ROWS, COLUMNS, (WIDTH, HEIGHT), material, position=(1.0, 2.0, 3.0), lines=False)
    return scene


def test_mass_is_density_times_area() -> None:
    """Guards lumping: the whole weighs density x area, the edge half and the corners a quarter of the inside."""
    mass = 1.0 / make_scene().inv_mass[5:].reshape(ROWS, COLUMNS)
    assert_allclose(mass.sum(), 0.25 * WIDTH * HEIGHT, rtol=1e-12)
    assert_allclose(mass[1:-1, 1:-1], mass[1, 1], rtol=1e-12)
    assert_allclose(mass[0, 1:-1], mass[1, 1] / 2, rtol=1e-12)
    assert_allclose(mass[[0, 0, -1, -1], [0, -1, 0, -1]], mass[1, 1] / 4, rtol=1e-12)


def test_place_and_orientation() -> None:
    """Guards the layout: it hangs down from the middle of its upper edge, row by row, triangles facing +z."""
    scene = make_scene()
    x = scene.positions[5:].reshape(ROWS, COLUMNS, 3)
    assert_allclose(x[0, 0], [1.0 - WIDTH / 2, 2.0, 3.0])
    assert_allclose(x[-1, -1], [1.0 + WIDTH / 2, 2.0 - HEIGHT, 3.0])
    a, b, c = (scene.positions[scene.triangles[:, k]] for k in range(3))
    area = np.cross(b - a, c - a) / 2
    assert (area[:, 2] > 0).all()
    assert_allclose(area.sum(0), [0, 0, WIDTH * HEIGHT], atol=1e-12)


@pytest.mark.parametrize("bend_compliance", [3e-3, None])
def test_constraints_have_the_compliance_of_their_kind(bend_compliance: float | None) -> None:
    """Guards the wiring of the material: each pair once, at rest, with the compliance of its direction."""
    scene = make_scene(bend_compliance)
    batch = scene.constraints["distance"]
    pairs = np.concatenate(batch.indices) - 5
    rest, compliance = (np.concatenate(batch.values[name]) for name in ("rest_length", "compliance"))
    wanted = {(0, 1): 1e-3, (1, 0): 1e-3, (1, 1): 2e-3, (1, -1): 2e-3}
    if bend_compliance is not None:
        wanted |= {(0, 2): bend_compliance, (2, 0): bend_compliance}
    found: dict[tuple[int, int], int] = {}
    for (i, j), length, value in zip(np.sort(pairs, axis=1), rest, compliance, strict=True):
        step = (int(j // COLUMNS - i // COLUMNS), int(j % COLUMNS - i % COLUMNS))
        assert value == wanted[step]
        dy, dx = step[0] * HEIGHT / (ROWS - 1), step[1] * WIDTH / (COLUMNS - 1)
        assert_allclose(length, np.hypot(dx, dy), rtol=1e-12)
        found[step] = found.get(step, 0) + 1
    assert found == {(dr, dc): (ROWS - dr) * (COLUMNS - abs(dc)) for dr, dc in wanted}
    assert len(np.unique(np.sort(pairs, axis=1), axis=0)) == len(pairs)


def test_cloth_names_its_particles() -> None:
    """Guards the indices that a task works with, offset by what was in the scene before."""
    scene = Scene()
    scene.add_particles(np.zeros((5, 3)), 1.0)
    cloth = scene.add_cloth(ROWS, COLUMNS, lines=False)
    assert_array_equal(cloth.indices, 5 + np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS))
    assert_array_equal(cloth.corners, cloth.indices[[0, 0, -1, -1], [0, -1, 0, -1]])
    assert_array_equal(cloth.triangles, scene.triangles)
