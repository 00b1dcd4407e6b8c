"""docs/notebooks: five notebooks that run as they stand, in one process, so that kernels are compiled once."""

import json
import os
import subprocess
import sys
from pathlib import Path

from docs.site.notebooks import ORDER, path_of
from tests.docs.pages import ROOT

RUN = """
import json, os, sys
import pytest
from docs.site.notebooks import path_of, run
from tests import flags, headers, lanes

flags.share()
headers.share()
lanes.few(pytest.MonkeyPatch())
shown = {}
for name in sys.argv[1:]:
    cells = [cell for cell in run(path_of(name))["cells"] if cell["cell_type"] == "code"]
    shown[name] = [[list(each.get("data", {"stdout": 0})) for each in cell["outputs"]] for cell in cells]
print(json.dumps(shown))
"""


def test_notebooks_run_and_show_what_is_saved_in_them(tmp_path: Path) -> None:
    environment = {**os.environ, "SDL_VIDEODRIVER": "dummy", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", RUN, *ORDER]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert ran.returncode == 0, ran.stderr
    for name, shown in json.loads(ran.stdout.splitlines()[-1]).items():
        code = [cell for cell in json.loads(path_of(name).read_text())["cells"] if cell["cell_type"] == "code"]
        saved = [[list(each.get("data", {"stdout": 0})) for each in cell["outputs"]] for cell in code]
        assert shown == saved, f"{name}: python -m docs.site.notebooks {name}"
        assert any("image/png" in each for cell in shown for each in cell) or name in ("own_task", "train")
