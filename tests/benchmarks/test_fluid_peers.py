"""What is measured beside this engine on W6 simulates the same water in the same tank."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks import water
from benchmarks.peers import genesis_water, limit, splishsplash_water, taichi_water
from benchmarks.peers.peer import Peer, walls
from pbd_gym.bench.engine import Engine
from pbd_gym.bench.rows import Options
from pbd_gym.bench.scenes import CTRL_DT, SPACING, SUBSTEPS, compression, level, tank
from pbd_gym.colliders import Plane
from pbd_gym.scene.scene import Scene

BLOCK = (6, 5, 4)


def installed(module: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"{module} is not installed")


needs_compiler = pytest.mark.skipif(limit.unavailable() is not None, reason=str(limit.unavailable()))
NEEDS_TAICHI, NEEDS_SPLISHSPLASH = installed("taichi"), installed("pysplishsplash")
NEEDS_GENESIS = installed("genesis")


@needs_compiler
def test_the_limit_follows_the_engine() -> None:
    """Most particles part by rounding; a few at the front, along the walls, by what the limit leaves out there."""
    scene = tank((10, 10, 10))
    engine, peer = Engine(scene, 2), limit.water(scene, 2)
    for _ in range(3):
        engine.step()
        peer.step()
    expected = engine.state.get_positions()[0]
    gaps = np.linalg.norm(peer.positions() - expected, axis=1)
    assert np.abs(expected - scene.positions).max() > 4.0 * SPACING
    assert np.median(gaps) < 0.02 * SPACING
    assert gaps.max() < 0.5 * SPACING


@needs_compiler
@NEEDS_TAICHI
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_taichi_follows_the_limit() -> None:
    """Same equations: they part by rounding alone. Its particles change places meanwhile."""
    scene = tank(BLOCK)
    limited, peer = limit.water(scene, 1), taichi_water.build(scene, 3)
    for _ in range(4):
        limited.step()
        peer.step()
    gaps = np.linalg.norm(peer.positions()[:, None] - limited.positions()[None], axis=2)
    assert len(np.unique(gaps.argmin(axis=1))) == scene.particle_count
    assert gaps.min(axis=1).max() < 1e-4


@NEEDS_SPLISHSPLASH
@pytest.mark.parametrize("build", [splishsplash_water.pbf, splishsplash_water.dfsph])
def test_another_library_fills_the_tank_as_high(build: Callable[[Scene, int], Peer]) -> None:
    """Guards the comparison: as many neighbours, none lost. Its water stays off the walls a little farther."""
    scene = tank((10, 10, 10))
    engine, peer = Engine(scene, 1), build(scene, 1)
    for _ in range(round(water.REST / CTRL_DT)):
        engine.step()
        peer.step()
    ours, theirs = engine.state.get_positions()[0], peer.positions()
    assert level(theirs) == pytest.approx(level(ours), rel=0.25)
    assert compression(scene, theirs) < 0.05
    lower, upper = walls(scene)
    assert (theirs > lower).all() and (theirs < upper).all()


@NEEDS_GENESIS
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_genesis_keeps_its_water_in_the_tank() -> None:
    """Guards the comparison: none is lost, and it lies in layers; it stands lower than ours."""
    scene = tank(BLOCK)
    peer = genesis_water.build(scene, 2)
    for _ in range(round(water.REST / CTRL_DT)):
        peer.step()
    theirs, (lower, upper) = peer.positions(), walls(scene)
    assert theirs.shape == scene.positions.shape and np.isfinite(theirs).all()
    assert (theirs > lower).all() and (theirs < upper).all()
    assert 0.3 < level(theirs) / (0.5 * level(scene.positions)) < 1.1


@NEEDS_SPLISHSPLASH
def test_two_simulations_of_a_library_that_knows_one_do_not_disturb_each_other() -> None:
    scene = tank(BLOCK)
    alone = splishsplash_water.pbf(scene, 1)
    for _ in range(3):
        alone.step()
    expected = alone.positions()
    first, second = splishsplash_water.pbf(scene, 1), splishsplash_water.dfsph(scene, 1)
    for _ in range(3):
        first.step()
        second.step()
    assert_allclose(first.positions(), expected, atol=1e-5)
    assert np.abs(second.positions() - expected).max() > 1e-4


def test_the_scene_file_describes_the_same_column() -> None:
    scene = tank(BLOCK)
    told = splishsplash_water.configuration(scene, "PBF")
    settings, (block,) = told["Configuration"], told["FluidBlocks"]
    assert settings["timeStepSize"] == pytest.approx(CTRL_DT / SUBSTEPS)
    assert settings["PBF"] == {"minIterations": 4, "maxIterations": 4}
    assert 4.0 * settings["particleRadius"] == pytest.approx(scene.fluid.smoothing.support)  # type: ignore[union-attr]
    # As its loader fills a block: from one spacing inside, rounding how many fit less one.
    counts = np.round((np.array(block["end"]) - block["start"]) / SPACING).astype(int) - 1
    assert tuple(counts) == BLOCK
    assert_allclose(np.array(block["start"]) + SPACING, scene.positions.min(axis=0))
    assert splishsplash_water.configuration(scene, "DFSPH")["Configuration"]["simulationMethod"] == 4


def test_the_mesh_of_the_tank_is_closed_and_faces_outward() -> None:
    lower, upper = np.array([-0.01, -0.02, 0.0]), np.array([0.4, 0.6, 0.2])
    lines = [line.split() for line in splishsplash_water.mesh(lower, upper).splitlines()]
    corners = np.array([line[1:] for line in lines if line[0] == "v"], dtype=float)
    faces = np.array([line[1:] for line in lines if line[0] == "f"], dtype=int) - 1
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    assert len(np.unique(edges, axis=0)) == len(edges) == 36
    assert {tuple(edge) for edge in edges} == {tuple(edge[::-1]) for edge in edges}
    volume = np.linalg.det(corners[faces]).sum() / 6.0
    assert abs(volume) == pytest.approx(np.prod(upper - lower))


def test_the_walls_of_a_tank_are_read_from_its_planes() -> None:
    lower, upper = walls(tank((10, 5, 6)))
    assert_allclose(lower, [0.0, 0.0, 0.0], atol=1e-12)
    assert_allclose(upper, [0.4, np.inf, 0.12])
    scene = tank(BLOCK)
    scene.add_collider(Plane((1.0, 1.0, 0.0), 0.0))
    with pytest.raises(ValueError, match="upright"):
        walls(scene)


def test_level_and_compression_say_what_they_are_called() -> None:
    scene = tank((10, 10, 10))
    assert level(scene.positions) == pytest.approx(0.2)
    assert compression(scene, scene.positions) < 0.02  # at edges
    middle = scene.positions.mean(axis=0)
    squeezed = middle + 0.9 ** (1 / 3) * (scene.positions - middle)
    inside = compression(scene, squeezed)
    assert 0.02 < inside < 1.0 / 0.9 - 1.0  # less at the surface, which is open


def test_rates_and_ratios_count_the_environments_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the figures: a peer that steps one environment is not credited with the whole batch."""

    def stub(scene: Scene, num_envs: int, device: str) -> Peer:
        def step() -> None:
            end = time.process_time() + 0.002
            while time.process_time() < end:
                pass

        return Peer("a stub", step, lambda: scene.positions, alone=True)

    monkeypatch.setattr(water, "WATER_BLOCKS", (BLOCK,))
    monkeypatch.setattr(water, "REST", 2 * CTRL_DT)
    monkeypatch.setattr(water, "maker", lambda path: stub)
    ours, theirs, ratio = water.rows(Options(repeats=1, threads=1, num_envs=8), ("taichi",))
    assert theirs.value == pytest.approx(120 * SUBSTEPS / 0.002, rel=0.3)
    assert ratio.value == pytest.approx(ours.value / theirs.value)
    assert theirs.level == pytest.approx(level(tank(BLOCK).positions))
    assert ours.unit == theirs.unit == "particle steps/s of processor time"


@pytest.mark.parametrize(
    ("peer", "module"), [("taichi", "taichi"), ("splishsplash", "pysplishsplash"), ("genesis", "genesis")]
)
def test_a_peer_that_is_not_installed_is_named(peer: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError, match=module):
        list(water.rows(Options(threads=1, num_envs=1), (peer,)))


@pytest.mark.parametrize(
    "build", [splishsplash_water.pbf, splishsplash_water.dfsph, taichi_water.build, genesis_water.build]
)
def test_a_peer_of_a_cpu_refuses_a_gpu(build: Callable[..., Peer]) -> None:
    with pytest.raises(ValueError, match="CPU"):
        build(tank(BLOCK), 1, "cuda:0")
