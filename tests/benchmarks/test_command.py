"""``python -m benchmarks``: what it is asked for, and what it says where that cannot be had."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import cloth
from benchmarks.__main__ import PEERS, main
from benchmarks.peers.peer import MODULES, maker
from pbd_gym.bench.scenes import hanging_cloth


def test_a_comparison_writes_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cloth, "hanging_cloth", lambda: hanging_cloth(8))
    words = ["w1", "--peer", "numpy", "--repeats", "1", "--num-envs", "16", "--json", str(tmp_path / "b.json")]
    assert main(words) == 0
    ours, numpy_row, ratio = json.loads((tmp_path / "b.json").read_text())["rows"]
    assert ratio["value"] == pytest.approx(ours["value"] / numpy_row["value"])
    assert "| w1 |" in capsys.readouterr().out


def test_every_peer_has_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards names in strings: each peer's module is there, and imports without the engine."""
    from benchmarks import water

    assert set(cloth.PEERS) == set(PEERS["w1"]) and set(water.PEERS) == set(PEERS["w6"])
    for module in set(MODULES.values()):
        monkeypatch.setitem(sys.modules, module, None)
    assert all(callable(maker(path)) for path in (*cloth.PEERS.values(), *water.PEERS.values()))


@pytest.mark.parametrize(
    ("workload", "peer", "module", "package"),
    [
        ("w1", "taichi", "taichi", "taichi"),
        ("w6", "genesis", "genesis", "genesis-world"),
        ("swing", "newton-vbd", "newton", "newton"),
    ],
)
def test_it_looks_for_peers_before_it_measures(
    workload: str, peer: str, module: str, package: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Guards minutes of somebody's time, and the name that pip knows, which for Genesis is another one."""
    monkeypatch.setitem(sys.modules, module, None)
    assert main([workload, "--peer", peer]) == 1
    error = capsys.readouterr().err
    assert error.startswith("python -m benchmarks") and error.endswith(f"pip install {package}\n")
    assert "measuring" not in error


@pytest.mark.parametrize(
    ("workload", "peer"), [("w1", "splishsplash"), ("w6", "newton"), ("resolution", "taichi"), ("w2", "taichi")]
)
def test_a_peer_of_another_workload_is_refused(workload: str, peer: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([workload, "--peer", peer])
    assert "usage: python -m benchmarks" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["w1"], ["fabrics", "silk"]])
def test_what_cannot_be_written_is_told_first(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert main([*words, "--json", "file/a.json"]) == 1
    error = capsys.readouterr().err
    assert error == f"python -m benchmarks {words[0]}: file/a.json cannot be written to: Not a directory\n"
