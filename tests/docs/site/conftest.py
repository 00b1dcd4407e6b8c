"""The built site, for the tests that read it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.site.html import Site


@pytest.fixture(scope="session")
def unavailable() -> Callable[[str], object]:
    """Skips a test for a reason, or fails it where ``PBD_GYM_BROWSER=required`` says that nothing may be missing."""
    return pytest.fail if os.environ.get("PBD_GYM_BROWSER") == "required" else pytest.skip


@pytest.fixture(scope="session")
def site(unavailable: Callable[[str], object]) -> Site:
    """The site that ``make docs`` built; a build takes over a minute, too long for every run of the tests."""
    folder = os.environ.get("PBD_GYM_SITE")
    if not folder:
        unavailable("no site was built: `make docs` builds it and runs this test")
    return Site(Path(folder or "").resolve())
