"""Messages about what is missing name an install that works: from the clone, or from where the package came from."""

from __future__ import annotations

import importlib.metadata
import json
import shlex
from pathlib import Path

import pytest

from pbd_gym.runtime import extras
from pbd_gym.runtime.extras import install_hint, load_optional

ROOT = Path(__file__).parents[2]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package in site-packages, without a clone around it."""
    module = tmp_path / "site-packages" / "pbd_gym" / "runtime" / "extras.py"
    monkeypatch.setattr(extras, "__file__", str(module))
    return tmp_path


def test_from_a_clone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    assert install_hint("render") == "pip install -e '.[render]'"
    assert install_hint() == "pip install -e ."
    monkeypatch.chdir(tmp_path)
    assert install_hint("render") == f"pip install -e '{ROOT}[render]'"


@pytest.mark.parametrize(
    ("record", "requirement"),
    [
        (None, "pbd-gym[mesh]"),
        ({"url": "file://{folder}", "dir_info": {}}, "{folder}[mesh]"),
        ({"url": "file://{folder}/a.whl", "archive_info": {}}, "pbd-gym[mesh] @ file://{folder}/a.whl"),
        ({"url": "https://host/x", "vcs_info": {"vcs": "git"}}, "pbd-gym[mesh] @ git+https://host/x"),
    ],
)
def test_what_pip_was_given(
    record: dict[str, object] | None, requirement: str, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards installs that no name on PyPI would repeat: pip's own record (PEP 610) says where they came from."""
    clone = installed / "a clone"
    clone.mkdir()

    class Distribution:
        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return json.dumps(record).replace("{folder}", str(clone).replace(" ", "%20")) if record else None

    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Distribution())
    expected = requirement.replace("{folder}", str(clone).replace(" ", "%20") if "@" in requirement else str(clone))
    assert shlex.split(install_hint("mesh")) == ["pip", "install", expected]


def test_a_missing_module_is_named_with_the_command() -> None:
    with pytest.raises(ImportError, match=r"^gone-lib is needed to test: pip install .*\[mesh\]'$"):
        load_optional("no_such_module", "to test", "mesh", package="gone-lib")
