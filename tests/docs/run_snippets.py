"""Runs snippets one after the other, each as a module of its own; a process for all of them, since Warp starts slowly.

Reads ``[[label, code], ...]`` as JSON from standard input, and writes ``{label: traceback or ""}`` to the file named.
"""

import json
import sys
import traceback
from pathlib import Path

import pytest

from tests import flags, headers, lanes, tiers

flags.share()
headers.share()
tiers.share()
lanes.few(pytest.MonkeyPatch())
found = {}
for label, code in json.load(sys.stdin):
    try:
        with tiers.unoptimised():
            exec(compile(code, label, "exec"), {"__name__": "__main__"})
        found[label] = ""
    except BaseException:
        found[label] = traceback.format_exc()
Path(sys.argv[1]).write_text(json.dumps(found))
