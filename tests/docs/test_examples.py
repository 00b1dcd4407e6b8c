"""docs/examples: ten short scripts, one idea each, that run as they stand."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import ROOT

EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
RUN = """
import contextlib, io, json, runpy, sys
import pbd_gym, pytest
from tests import flags, headers, lanes
from pbd_gym.rendering.window.scene_viewer import SceneViewer

def view(scene, **arguments):  # nobody is there to close a window
    viewer = SceneViewer(scene, size=(120, 120), sliders=False, **arguments)
    for _ in range(3):
        viewer.tick()
    print(f"looked at {viewer.time:.2f} s")
    viewer.close()

pbd_gym.view = view
flags.share()
headers.share()
lanes.few(pytest.MonkeyPatch())
said = {}
for path in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        runpy.run_path(path, run_name="__main__")
    said[path] = out.getvalue()
print(json.dumps(said))
"""


def test_examples_are_short() -> None:
    assert len(EXAMPLES) == 10
    for path in EXAMPLES:
        text = path.read_text()
        assert text.startswith('"""') and text.count("\n") < 40, path.name
        assert f"examples/{path.name}" in (ROOT / "docs" / "README.md").read_text(), path.name


def test_examples_run(tmp_path: Path) -> None:
    """Guards all of them, in one process, so that what one has compiled the next one takes; each says something."""
    command = [sys.executable, "-c", RUN, *map(str, EXAMPLES)]
    environment = {**os.environ, "SDL_VIDEODRIVER": "dummy", "PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert run.returncode == 0, run.stderr
    said = json.loads(run.stdout.splitlines()[-1])
    assert len(said) == len(EXAMPLES) and all(said.values())
    assert "Warp" not in run.stdout
