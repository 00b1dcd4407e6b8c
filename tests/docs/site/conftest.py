"""The built site, for the tests that read it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docs.site.html import Site


@pytest.fixture(scope="session")
def site() -> Site:
    """The site that ``make docs`` built; a build takes over a minute, too long for every run of the tests."""
    folder = os.environ.get("PBD_GYM_SITE")
    if not folder:
        pytest.skip("no site was built: `make docs` builds it and runs this test")
    return Site(Path(folder).resolve())
