"""What is measured beside this engine computes the same thing; else a ratio would say nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks import cloth
from benchmarks.peers import limit, numpy_cloth
from benchmarks.peers.peer import Peer
from pbd_gym.bench.engine import Engine
from pbd_gym.bench.rows import Options
from pbd_gym.bench.scenes import hanging_cloth, strain

needs_compiler = pytest.mark.skipif(limit.unavailable() is not None, reason=str(limit.unavailable()))


@pytest.mark.parametrize("build", [numpy_cloth.build, pytest.param(limit.cloth, marks=needs_compiler)])
def test_a_peer_follows_the_engine(build: Callable[..., Peer]) -> None:
    """Same scene, same colours, same arithmetic: they part by rounding alone."""
    scene = hanging_cloth(12)
    engine, peer = Engine(scene, 20), build(scene, 20)
    for _ in range(10):
        engine.step()
        peer.step()
    expected = engine.state.get_positions()[0]
    assert np.abs(expected - scene.positions).max() > 0.02
    assert_allclose(peer.positions(), expected, atol=5e-5)


@needs_compiler
def test_the_limit_in_tiles_is_as_stiff() -> None:
    """Another order gives another trajectory of the same cloth, no softer one."""
    scene = hanging_cloth(12)
    tiled, colored = limit.cloth(scene, 16, order="tiled"), limit.cloth(scene, 16)
    for _ in range(90):
        tiled.step()
        colored.step()
    strains = [strain(scene, peer.positions()) for peer in (tiled, colored)]
    assert 0.5 < strains[0] / strains[1] < 2.0
    assert strains[0] < 0.05


@needs_compiler
def test_the_share_of_the_limit_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloth, "hanging_cloth", lambda: hanging_cloth(8))
    rows = list(cloth.rows(Options(repeats=1, num_envs=16), ("numpy",), limit=True))
    ours, colored, tiled, numpy_row, ratio = rows
    assert ours.limit_share == pytest.approx(ours.value / max(colored.value, tiled.value))
    assert ratio.value == pytest.approx(ours.value / numpy_row.value)
    assert ours.strain == pytest.approx(numpy_row.strain or 0.0, rel=0.2)


def test_without_a_compiler_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, "compiler", lambda: None)
    with pytest.raises(ValueError, match="C compiler"):
        list(cloth.rows(Options(), limit=True))


def test_a_peer_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "taichi", None)
    with pytest.raises(ModuleNotFoundError, match="taichi"):
        list(cloth.rows(Options(), ("taichi",)))


def test_a_peer_of_a_cpu_refuses_a_gpu() -> None:
    with pytest.raises(ValueError, match="CPU"):
        numpy_cloth.build(hanging_cloth(4), 1, "cuda:0")


def test_the_limit_loads_whole_cache_lines() -> None:
    """Guards the limit: vectors that straddle two lines cost it a quarter of its speed, and flatter the engine."""
    values = np.arange(48.0).reshape(3, 16)
    for _ in range(20):
        copy = limit.aligned(values)
        assert copy.ctypes.data % 64 == 0
        np.testing.assert_array_equal(copy, values)
