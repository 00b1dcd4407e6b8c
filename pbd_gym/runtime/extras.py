"""Requirements that may be missing: optional packages, with one wording for how to install them, and a display."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

DISTRIBUTION = "pbd-gym"
"""Distribution name for ``pip install``; the import name is ``pbd_gym``."""

DISTRIBUTIONS = {"genesis": "genesis-world"}
"""Distribution names of modules that are named differently and in no extra."""


def install_hint(extra: str | None = None) -> str:
    """Return the command that installs this package again, from its original source.

    That is the clone it runs from; the folder, archive or repository that pip installed it from; or PyPI.

    Args:
        extra: missing extra; None for the package itself.
    """
    extras = f"[{extra}]" if extra else ""
    clone = Path(__file__).resolve().parents[2]
    if (clone / "pyproject.toml").is_file():
        return f"pip install -e {_quoted(_folder(clone) + extras)}"
    source = _installed_from()
    if not source:
        return f"pip install {_quoted(DISTRIBUTION + extras)}"
    path = Path(unquote(urlparse(source).path))
    if source.startswith("file:") and path.is_dir():
        return f"pip install {_quoted(_folder(path) + extras)}"
    return f"pip install {_quoted(f'{DISTRIBUTION}{extras} @ {source}')}"


def _installed_from() -> str:
    """Return the address from which pip installed the package (PEP 610); empty if it was given only the name."""
    try:
        record = importlib.metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return ""
    found = json.loads(record) if record else {}
    system = found.get("vcs_info", {}).get("vcs")
    return f"{system}+{found['url']}" if system else found.get("url", "")


def _folder(path: Path) -> str:
    """Return a folder in pip's notation."""
    return "." if path == Path.cwd() else str(path)


def _quoted(requirement: str) -> str:
    """Return a requirement quoted for shells."""
    return f"'{requirement}'" if set(requirement) & set("[ ") else requirement


def load_optional(module: str, purpose: str, extra: str, package: str | None = None) -> Any:
    """Import an optional module.

    Args:
        module: name of the module. purpose: purpose, such as ``"to render"``. extra: the extra of pbd-gym that includes
        it. package: its name on PyPI, if different from the module's.

    Raises:
        ImportError: if it is missing, with the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{package or module} is needed {purpose}: {install_hint(extra)}") from error


class DisplayError(RuntimeError):
    """Error for a missing display on which to open a window."""
