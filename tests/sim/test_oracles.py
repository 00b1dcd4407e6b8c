"""The engine against trajectories of published programs.

The programs are not this project: the XPBD and PBD cloth of RWTH's physics-simulation tutorial (with their author's own
later correction) and a MATLAB double pendulum. In double precision and the same constraint order nothing but rounding
may tell the engine from them.
"""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.sim.coloring import batches, greedy_colors
from pbd_gym.sim.model import Model
from tests.sim.oracles import COLORED, NAMES, Oracle, load, make_scene, run

TOLERANCE = 1e-9
"""What double precision may be off [m, m/s, m kg]."""


def check_float64(oracle: Oracle, **options: Any) -> None:
    frames = oracle.float64_frames(TOLERANCE)
    assert frames > 1, "the file is chaotic from the start: nothing is compared"
    found = run(oracle, frames, dtype="float64", **options)
    # A dragged particle keeps the velocity it was grabbed with in the program, and has the velocity of its path here.
    # Everything else counts, pinned particles included: at rest in both.
    moving_alike = ~found.was_dragged
    for env in range(found.positions.shape[1]):
        assert_allclose(found.positions[:, env], oracle["pos"][:frames], rtol=0, atol=TOLERANCE)
        assert_allclose(
            found.velocities[:, env][moving_alike], oracle["vel"][:frames][moving_alike], rtol=0, atol=TOLERANCE
        )
        if "lam" in oracle.arrays:
            assert_allclose(found.multipliers[1:, env], oracle["lam"][1:frames], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lanes", [1, 8])
def test_float64_in_given_order(name: str, lanes: int) -> None:
    """Guards the projection, the order of a step, multipliers across iterations, dragging, and the lane layout."""
    check_float64(load(name), order="given", lanes=lanes, num_envs=lanes)


@pytest.mark.parametrize("name", COLORED)
def test_float64_colored(name: str) -> None:
    """Guards the colour-sorted sweep: files whose constraints are sorted by colour must come out the same."""
    check_float64(load(name), order="colored")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lanes", [4, 16])
def test_float32_stays_within_the_reference_rerun(name: str, lanes: int) -> None:
    """Guards single precision: no worse than four times a plain float32 rerun of the same program.

    Velocities come from positions divided by dt, so their tolerance is that divided by dt.
    """
    oracle = load(name)
    frames = oracle.float32_frames()
    assert frames > 1
    tolerance = oracle.float32_tolerance()[:frames, None, None, None]
    found = run(oracle, frames, num_envs=lanes, dtype="float32", order="given", lanes=lanes)
    excess = np.abs(found.positions - oracle["pos"][:frames, None]) / tolerance
    assert excess.max() <= 1.0, f"positions: {excess.max():.2f} times the tolerance"
    excess = np.abs(found.velocities - oracle["vel"][:frames, None]) * oracle.dt / tolerance
    excess[np.broadcast_to(found.was_dragged[:, None], excess.shape[:3])] = 0.0  # another convention, see above
    assert excess.max() <= 1.0, f"velocities: {excess.max():.2f} times the tolerance"


@pytest.mark.parametrize("name", COLORED)
def test_greedy_colors_are_those_of_the_file(name: str) -> None:
    """Guards the colouring: smallest free colour in the given order, as in an independent program."""
    oracle = load(name)
    model = Model(make_scene(oracle), dtype="float64", order="colored")
    assert_array_equal(model.bounds["distance"], oracle["color_ptr"])
    assert_array_equal(model.constraint_order["distance"], np.arange(len(oracle["edges"])))


def test_sorting_by_color_gives_the_order_of_the_file() -> None:
    """Guards the sort: colouring the uncoloured cloth gives the constraints of its coloured twin, in its order."""
    plain, colored = load("xpbd_classdefault_10x8__fixed"), load("xpbd_col_10x8__fixed")
    permutation, bounds = batches(greedy_colors(plain["edges"], len(plain["x0"])))
    assert_array_equal(plain["edges"][permutation], colored["edges"])
    assert_array_equal(bounds, colored["color_ptr"])


def test_another_order_is_noticed() -> None:
    """Guards the comparison itself: it must be able to fail. Another sweep order is 1e-7 off after a few steps."""
    oracle = load("xpbd_f1_10x8__fixed")
    found = run(oracle, 12, dtype="float64", order="colored")
    assert np.abs(found.positions[:, 0] - oracle["pos"][:12]).max() > 100 * TOLERANCE


def test_no_file_reaches_the_length_that_its_program_skips() -> None:
    """The tutorial skips constraints shorter than 1 mm and the engine does not: no stored frame may come near that."""
    for name in NAMES:
        oracle = load(name)
        i, j = oracle["edges"].T
        assert np.linalg.norm(oracle["pos"][:, i] - oracle["pos"][:, j], axis=-1).min() > 0.05


def test_forces_that_the_scene_lacks_are_zero_in_the_files() -> None:
    """The pendulum program takes external forces, which `make_scene` leaves out."""
    for name in NAMES:
        assert not np.any(load(name).arrays.get("ext_force", 0.0))
