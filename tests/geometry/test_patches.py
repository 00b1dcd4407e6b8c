"""Patches of a surface: which vertices are near each other along it, and what is too much for the memory."""

import sys
from contextlib import nullcontext
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.envs.core.base import vector_env as batch
from pbd_gym.geometry import patches as module
from pbd_gym.geometry.patches import patches


def sheet(side: int, jitter: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices and triangles of a square of 0.4 m, numbered at random if there is jitter."""
    rng = np.random.default_rng(0)
    line = np.linspace(0.0, 0.4, side)
    x = np.stack(np.meshgrid(line, [0.0], line, indexing="ij"), axis=-1).reshape(-1, 3)
    grid = np.arange(side * side).reshape(side, side)
    if jitter:
        grid = rng.permutation(side * side).reshape(side, side)
        moved = np.empty_like(x)
        moved[grid.ravel()] = x + jitter * rng.normal(size=x.shape) / side
        x = moved
    a, b, c, d = (part.ravel() for part in (grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]))
    return x, np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


@pytest.mark.parametrize("table", [2**22, 500])
def test_kin_are_near_by_way_of_near_vertices(monkeypatch: pytest.MonkeyPatch, table: int) -> None:
    """Guards the search against one vertex at a time, all together and in parts."""
    monkeypatch.setattr(module, "TABLE", table)
    x, triangles = sheet(9, jitter=0.1)
    made = patches(x, triangles, 0.04)
    beside = {v: {int(w) for row in triangles for w in row if v in row} for v in range(len(x))}
    expected = set()
    for v, range_ in enumerate(np.maximum(module.NEAR_DISCS * made.extent, 0.08)):
        found, ahead = {v}, [v]
        while ahead:
            nearer = {w for w in beside[ahead.pop()] - found if np.linalg.norm(x[w] - x[v]) < range_}
            found |= nearer
            ahead += nearer
        expected |= {(min(v, w), max(v, w)) for w in found - {v}}
    assert_array_equal(made.kin, sorted(expected))


def test_chords_are_the_longest_line_and_the_one_across() -> None:
    x, triangles = sheet(7, jitter=0.1)
    made = patches(x, triangles, 0.01)
    for vertex, ends in enumerate(made.chords):
        ring = np.unique(triangles[(triangles == vertex).any(axis=1)])
        lines = (x[ring][:, None] - x[ring]).reshape(-1, 3)
        first, second = x[ends[0]] - x[ends[1]], x[ends[2]] - x[ends[3]]
        assert set(ends) <= set(ring)
        assert np.linalg.norm(first) == pytest.approx(np.linalg.norm(lines, axis=1).max())
        across = np.linalg.norm(np.cross(first, lines), axis=1).max()
        assert np.linalg.norm(np.cross(first, second)) == pytest.approx(across)


def test_no_work_for_single_vertices() -> None:
    """Guards fine meshes, without a clock: four times as many vertices are not four times as many calls."""
    counts = []
    for side in (15, 30):
        x, triangles = sheet(side)
        calls = 0

        def count(frame: object, event: str, argument: object) -> None:
            nonlocal calls
            calls += event == "c_call"

        sys.setprofile(count)
        try:
            patches(x, triangles, 0.005)
        finally:
            sys.setprofile(None)
        counts.append(calls)
    assert counts[1] < 1.5 * counts[0]


def test_a_large_scene_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    said = []

    def announced(text: str, delay: float) -> Any:
        said.append(text)
        return nullcontext()

    monkeypatch.setattr(batch, "announced", announced)
    gym.make_vec("PBDCloth-v0", 1, rows=4, columns=4, settle_time=0.0)
    assert said == ["building the scene, which is large ..."]


def test_more_pairs_than_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards that a towel of a million particles is refused, and that the estimate is near what is found."""
    x, triangles = sheet(60)
    needed = module.KIN_MEMORY * len(patches(x, triangles, 0.02).kin)
    monkeypatch.setattr(module, "free_host_memory", lambda: int(0.7 * needed))
    message = r"0.02 m thick with 3,600 vertices about 0.0067 m apart .* GiB are free: take fewer or make it thinner"
    with pytest.raises(MemoryError, match=message):
        patches(x, triangles, 0.02)
    monkeypatch.setattr(module, "free_host_memory", lambda: int(1.5 * needed))
    assert len(patches(x, triangles, 0.02).kin)
