"""What `pbd-gym doctor` reports about packages is what the installed metadata says."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pbd_gym import doctor
from pbd_gym.runtime.extras import install_hint

ROOT = Path(__file__).parents[1]
METADATA = {
    "pbd-gym": [
        "numpy>=1.26",
        "warp-lang>=1.18",
        "tomli; python_version < '3.11'",
        'pygame>=2.5; extra == "render"',
        'pbd-gym[render]; extra == "train"',
        "torch>=2.4; extra == 'train'",
        'minari[hdf5, arrow]>=0.5; extra == "data"',
    ],
    "minari": ["gymnasium", 'h5py>=3.8; extra == "hdf5"', 'pyarrow; extra == "arrow"', 'jax; extra == "create"'],
}


@pytest.fixture
def metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: METADATA[name])


@pytest.mark.usefixtures("metadata")
@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        (None, ["numpy", "warp-lang"]),
        ("render", ["pygame"]),
        ("train", ["pygame", "torch"]),
        ("data", ["minari", "h5py", "pyarrow"]),
        ("nothing", []),
    ],
)
def test_requirements_are_read_from_the_metadata(extra: str | None, expected: list[str]) -> None:
    assert doctor.requirements(extra=extra) == expected


def test_extras_do_not_drift_from_pyproject() -> None:
    """Guards a list of extras by hand, which had lost packages that pyproject.toml named."""
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert sorted(doctor.extras()) == sorted(project["optional-dependencies"])
    for extra, lines in project["optional-dependencies"].items():
        named = {re.split(r"[\[<>=]", line)[0] for line in lines} - {"pbd-gym"}
        assert named <= set(doctor.requirements(extra=extra))
    assert doctor.requirements() == [re.split(r"[<>=]", line)[0] for line in project["dependencies"]]


@pytest.mark.usefixtures("metadata")
def test_what_is_missing_is_named_with_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "installed", lambda name: None if name in ("torch", "warp-lang") else "1.0")
    monkeypatch.setattr(doctor, "extras", lambda: ["render", "train"])
    assert doctor.main() == 1
    lines = capsys.readouterr().out.splitlines()[3:]
    assert lines == [
        "numpy     1.0",
        f"warp-lang MISSING: {install_hint()}",
        "[render]  complete",
        f"[train]   missing torch: {install_hint('train')}",
    ]


def test_a_folder_on_the_path_has_no_metadata(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", missing)
    assert doctor.packages()
    assert "runs from a folder" in capsys.readouterr().out


def test_doctor_and_version_need_no_warp() -> None:
    """Guards the report of a broken installation: the command line itself must start without its dependencies."""
    code = (
        "import sys\n"
        "for name in ('warp', 'pygame', 'torch'): sys.modules[name] = None\n"
        "from pbd_gym import cli, doctor\n"
        "doctor.installed = lambda name: None\n"
        "print(cli.main(['doctor']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout.splitlines()[-1] == "1", done.stderr
    assert "MISSING" in done.stdout


@pytest.mark.parametrize("folder", ["pbd_gym", "envs", "training", "docs", "README.md", "pyproject.toml", "tests"])
def test_extras_have_one_spelling(folder: str) -> None:
    """pip takes both, but a reader wonders: it is pbd-gym[...], the name of the distribution, everywhere."""
    wrong = "pbd" + "_gym["
    top = ROOT / folder
    files = [top] if top.is_file() else [p for p in top.rglob("*") if p.suffix in (".py", ".md", ".toml")]
    assert files
    assert [str(path) for path in files if re.search(re.escape(wrong) + r"[a-z]", path.read_text())] == []
