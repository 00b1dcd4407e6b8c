"""Runs snippets one after the other, each as a module of its own; a process for all of them, since Warp starts slowly.

Reads ``[[label, code], ...]`` as JSON from standard input, and writes ``{label: traceback or ""}`` to the file named.
"""

import json
import sys
import traceback
from pathlib import Path

import pytest
import warp as wp

from tests import flags, headers, lanes

COMPILING = ("docs/cloth.md", "docs/colliders.md", "docs/custom_constraints.md", "docs/fluids.md")
"""Pages whose snippets take ten times longer to compile than to run: see ``tests/conftest.py``."""

flags.share()
headers.share()
lanes.few(pytest.MonkeyPatch())
found = {}
for label, code in json.load(sys.stdin):
    quick = label.startswith(COMPILING) and not wp.is_cuda_available()
    wp.config.optimization_level = 0 if quick else None
    try:
        exec(compile(code, label, "exec"), {"__name__": "__main__"})
        found[label] = ""
    except BaseException:
        found[label] = traceback.format_exc()
Path(sys.argv[1]).write_text(json.dumps(found))
