"""Scaling: every size of cloth and batch, what does not fit is left out, and the plot shows them all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from pbd_gym.bench.rows import Options, Row
from pbd_gym.bench.run import main
from pbd_gym.bench.scaling import plot, scaling


def test_every_size_is_measured() -> None:
    rows = list(scaling(Options(repeats=1, threads=1), (4, 8), (1, 16)))
    assert [(row.resolution, row.num_envs, row.device) for row in rows] == [
        (4, 1, "cpu"), (4, 16, "cpu"), (8, 1, "cpu"), (8, 16, "cpu")]  # fmt: skip
    assert all(row.value > 0 for row in rows)
    memory = [row.memory_per_env or 0.0 for row in rows]
    assert memory[2] > 2.5 * memory[0]  # four times the particles


def test_what_does_not_fit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    original = gym.make_vec

    def small(env_id: str, num_envs: int, **options: Any) -> Any:
        if num_envs > 1:
            raise MemoryError
        return original(env_id, num_envs=num_envs, **options)

    monkeypatch.setattr(gym, "make_vec", small)
    rows = list(scaling(Options(repeats=1, threads=1), (4, 5), (1, 16, 32)))
    assert [(row.resolution, row.num_envs) for row in rows] == [(4, 1), (5, 1)]


def test_the_plot_is_drawn(tmp_path: Path) -> None:
    """Guards the picture: two devices and two resolutions are two panels of lines, not an empty frame."""
    from PIL import Image

    def row(device: str, resolution: int, num_envs: int) -> Row:
        speed = 1e4 * num_envs / resolution**2
        return Row("scaling", "", speed, "env-steps/s", device=device, resolution=resolution, num_envs=num_envs,
                   memory_per_env=50.0 * resolution**2)  # fmt: skip

    rows = [row(device, r, n) for device in ("cpu", "cuda:0") for r in (8, 16) for n in (1, 10, 100)]
    plot(rows, str(tmp_path / "new" / "scaling.png"), "some machine")
    picture = Image.open(tmp_path / "new" / "scaling.png").convert("RGB")
    assert len(set(picture.crop((0, 0, 600, 400)).getdata())) > 50
    with pytest.raises(ValueError, match="scaling"):
        plot([], str(tmp_path / "x.png"), "")
    with pytest.raises(ValueError, match="scaling"):
        main(["w3"], Options(), plot_path=str(tmp_path / "x.png"))
