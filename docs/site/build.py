"""Stages the pages and runs Sphinx on them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from docs.site.links import ROOT
from docs.site.stage import stage

THREADS = 2


def build(out: Path) -> int:
    """Build the site into ``out/html``; what it is made from stays beside it.

    Returns:
        Sphinx's exit status. A warning counts as an error, so that no link or name leads nowhere.
    """
    shutil.rmtree(out, ignore_errors=True)
    stage(out / "source")
    options = ["-b", "html", "-q", "-W", "--keep-going", "-j", str(THREADS), "-d", str(out / "doctrees")]
    places = ["-c", str(ROOT / "docs" / "site"), str(out / "source"), str(out / "html")]
    # In a process of its own: conf.py has to come before the package is imported.
    return subprocess.run([sys.executable, "-m", "sphinx", *options, *places], check=False).returncode
