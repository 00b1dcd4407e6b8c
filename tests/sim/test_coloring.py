"""Schedules of Gauss-Seidel sweeps: conflict-free batches that keep the order they promise."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from pbd_gym.scene.scene import Scene
from pbd_gym.sim.coloring import batches, dependency_levels, find_conflict, greedy_colors
from pbd_gym.sim.model import Model

PARTICLES = 12


@st.composite
def constraints(draw: st.DrawFn) -> np.ndarray:
    """Particles of up to 40 constraints of one kind, shape (m, 2..4); m may be 0."""
    width = draw(st.integers(2, 4))
    one = st.lists(st.integers(0, PARTICLES - 1), min_size=width, max_size=width, unique=True)
    return np.array(draw(st.lists(one, max_size=40)), dtype=np.int32).reshape(-1, width)


def shared(indices: np.ndarray) -> np.ndarray:
    """Whether two constraints have a particle in common, shape (m, m), without the diagonal."""
    incidence = np.zeros((len(indices), PARTICLES), dtype=int)
    np.put_along_axis(incidence, indices.astype(int), 1, axis=1)
    return (incidence @ incidence.T > 0) & ~np.eye(len(indices), dtype=bool)


@settings(deadline=None)
@given(constraints())
def test_greedy_colors(indices: np.ndarray) -> None:
    """Guards against a particle twice in a colour, and against colours that the greedy rule would not take."""
    colors = greedy_colors(indices, PARTICLES)
    touching = shared(indices)
    for c in range(len(indices)):
        earlier = np.flatnonzero(touching[c, :c])
        free = np.setdiff1d(np.arange(len(indices) + 1), colors[earlier])
        assert colors[c] == free[0]
    permutation, bounds = batches(colors)
    assert find_conflict(indices[permutation], bounds) is None


@settings(deadline=None)
@given(constraints())
def test_dependency_levels(indices: np.ndarray) -> None:
    """Guards order="given" on a GPU: constraints that share a particle keep their order, and no level is wasted."""
    levels = dependency_levels(indices, PARTICLES)
    touching = shared(indices)
    for c in range(len(indices)):
        earlier = np.flatnonzero(touching[c, :c])
        assert levels[c] == (levels[earlier].max() + 1 if len(earlier) else 0)
    permutation, bounds = batches(levels)
    assert find_conflict(indices[permutation], bounds) is None


@settings(deadline=None)
@given(constraints())
def test_batches_are_a_stable_sort(indices: np.ndarray) -> None:
    """Guards the bounds: they cut the sorted labels exactly where these change, and the sort keeps ties in order."""
    for labels in (greedy_colors(indices, PARTICLES), dependency_levels(indices, PARTICLES)):
        permutation, bounds = batches(labels)
        assert_array_equal(np.sort(permutation), np.arange(len(labels)))
        assert bounds[0] == 0
        assert bounds[-1] == len(labels)
        assert len(bounds) == (labels.max() + 2 if len(labels) else 1)
        for label, (start, end) in enumerate(pairwise(bounds)):
            assert_array_equal(permutation[start:end], np.flatnonzero(labels == label))


@settings(deadline=None)
@given(constraints().filter(len), st.data())
def test_find_conflict_finds_a_planted_one(indices: np.ndarray, data: st.DataObject) -> None:
    """Guards the check itself: a constraint that is put into a batch twice, or meets a neighbour there, is named."""
    permutation, bounds = batches(greedy_colors(indices, PARTICLES))
    ordered = indices[permutation]
    batch = data.draw(st.integers(0, len(bounds) - 2))
    victim = data.draw(st.integers(int(bounds[batch]), int(bounds[batch + 1]) - 1))
    intruder = ordered[victim].copy()
    intruder[1:] = data.draw(st.permutations(sorted(set(range(PARTICLES)) - {int(intruder[0])})))[: len(intruder) - 1]
    planted = np.insert(ordered, bounds[batch + 1], intruder, axis=0)
    moved = bounds.copy()
    moved[batch + 1 :] += 1
    assert find_conflict(planted, moved) == batch


def test_more_than_64_colors() -> None:
    """Guards the bit sets against a machine word: a hub with 100 spokes needs 100 colours."""
    spokes = np.stack([np.zeros(100, dtype=np.int32), np.arange(1, 101, dtype=np.int32)], axis=1)
    assert_array_equal(greedy_colors(spokes, 101), np.arange(100))
    assert_array_equal(dependency_levels(spokes, 101), np.arange(100))


def test_model_schedule_is_safe_to_run_in_parallel() -> None:
    """Guards what the kernel sweeps: the arrays on the device, cut by the bounds on the device, have no conflict.

    A block of several threads cannot run on a CPU, so this stands for it: without a conflict, threads of a colour
    write different particles.
    """
    scene = Scene()
    scene.add_cloth(9, 7, lines=False)
    scene.add_cloth(3, 4, position=(0, 1, 0), lines=False)
    rope = scene.add_particles(np.random.default_rng(0).normal(size=(20, 3)), 0.1)
    scene.add_distance_constraints(np.stack([rope[:-1], rope[1:]], axis=1))
    table = Model(scene, order="colored").data.distance
    indices, bounds = table.indices.numpy(), table.bounds.numpy()
    assert bounds[-1] == len(indices) == sum(len(part) for part in scene.constraints["distance"].indices)
    assert find_conflict(indices, bounds) is None
    whole = np.array([0, len(indices)])
    assert find_conflict(indices, whole) == 0  # and the check sees that all at once would not do
