"""The memory report against what is really allocated, and what is said when it is not enough."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import warp as wp

from pbd_gym.bench.scenes import hanging_cloth, towel
from pbd_gym.runtime import devices
from pbd_gym.runtime.devices import find_device
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.costs import memory_report
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from tests.envs.helpers import make_vec


def tethered_cloth(particles: int) -> Scene:
    """Return a cloth that has tethers to two hands and to a pin."""
    scene = Scene(grip_count=2)
    scene.pin(scene.add_cloth(particles, particles, tethers=True, lines=False).corners[0])
    return scene


class Ledger:
    """Counts what Warp allocates while it is open."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bytes = 0
        allocator = wp.get_device("cpu").default_allocator
        original = type(allocator).allocate

        def allocate(this: Any, size: int) -> Any:
            self.bytes += size
            return original(this, size)

        monkeypatch.setattr(type(allocator), "allocate", allocate)


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (hanging_cloth, {}),
        (hanging_cloth, {"iterations": 3, "method": "jacobi", "chebyshev": 0.5}),
        (towel, {"iterations": 2}),
        (tethered_cloth, {"grip_forces": True}),
    ],
)
def test_a_report_is_what_is_allocated(make: Any, options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the report against arrays that are added later: it would pass a batch that does not fit."""
    scene, num_envs = make(12), 640
    expected = memory_report(scene, num_envs, lanes=16, **options)
    model = Model(scene, num_envs, lanes=16)
    solver = Solver(model, **options)
    ledger = Ledger(monkeypatch)
    state, control = solver.state(), solver.control()
    assert state.model is control.model
    batch = expected.total - sum(expected.shared.values())
    one_more_group = batch // 40  # which the check makes to see how large it is
    assert 0.96 * batch <= ledger.bytes - one_more_group <= 1.01 * batch


def test_the_report_names_the_parts() -> None:
    scene = towel(12)
    report = memory_report(scene, 100, lanes=4, iterations=2)
    assert set(report.shared) == {"constraints", "constants"}
    assert set(report.group) == {"state", "multipliers", "iterations", "contacts", "parameters"}
    # Positions, previous positions and velocities, and two inverse masses, of each of 144 particles in 4 lanes.
    assert report.group["state"] >= 4 * 144 * (3 * 3 + 2) * 4
    multipliers = sum(len(indices) for indices in scene.constraints["distance"].indices)
    assert report.group["multipliers"] == pytest.approx(4 * multipliers * 4, rel=0.01)
    assert report.group["contacts"] >= 144 * 64 * 2 * 4  # lists of pairs in reach and in touch
    assert report.total == sum(report.shared.values()) + 25 * sum(report.group.values())
    text = str(report)
    assert "100 environments on cpu" in text
    assert all(part in text for part in (*report.group, *report.shared))


def test_what_fits_is_what_the_check_lets_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Guards the promise: so many environments are made, one group more is refused with the report."""
    scene = hanging_cloth(6)
    monkeypatch.setattr(devices, "free_memory", lambda device: 2_000_000)
    monkeypatch.setattr("pbd_gym.sim.memory.free_memory", lambda device: 2_000_000)
    fits = memory_report(scene, 16, lanes=16).fits
    assert fits is not None and fits > 100
    Solver(Model(scene, fits, lanes=16), substeps=10).state()
    with pytest.raises(MemoryError, match=r"(?s)environments would fit.*state.*per environment"):
        Solver(Model(scene, fits + 64, lanes=16), substeps=10).state()


def test_an_environment_counts_its_buffers() -> None:
    env = make_vec(32)
    report = env.memory_report()
    buffers = sum(array.capacity for array in env.buffers.arrays.values())
    assert report.num_envs == 32
    assert buffers <= report.group["buffers"] * env.model.group_count < buffers + env.model.group_count
    assert report.group["state"] > report.group["buffers"]


@pytest.mark.parametrize("name", ["cuda:1", "gpu"])
def test_a_device_that_is_not_there_is_named(name: str) -> None:
    if name == "cuda:1" and wp.get_cuda_device_count() > 1:
        pytest.skip("there is a second GPU")
    for find in (find_device, lambda name: Model(hanging_cloth(4), device=name)):
        with pytest.raises(ValueError, match=f"{name}.*there are: cpu"):
            find(name)
