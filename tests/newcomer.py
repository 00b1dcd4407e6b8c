"""A newcomer's first hour, as the pages tell it: ``python -m tests.newcomer FOLDER``, or ``make newcomer``.

In a fresh clone and a fresh virtual environment: install, train, evaluate, watch, load the agent, film a scene of one's
own, train with a reward of one's own, run a notebook. What is typed is read from the pages, so the pages are what is
tried. It takes some ten minutes, most of them for installing torch and for training.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.docs.pages import ROOT, snippets

LIMIT = 1800.0
"""Longest time for one step [s]."""
SHORT = "--total-timesteps 20000"
"""What a run is cut to that has only to show that it works."""


class Newcomer:
    """Somebody who types what the pages say.

    Args:
        folder: an empty one, or one that is made.

    Raises:
        SystemExit: when a step fails, with what it printed.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.clone = folder / "pbd_gym"
        self.place = folder / "work"
        self.place.mkdir(exist_ok=True)
        # Nothing of this process's own environment may help: neither its packages nor its compiled kernels.
        own = {"WARP_CACHE_PATH": str(folder / "warp"), "PBD_GYM_CACHE": str(folder / "cache")}
        kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        path = f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**kept, **own, "PATH": path, "SDL_VIDEODRIVER": "dummy"}
        self.folder = folder

    def type(self, what: str, command: str, check: Callable[[str], bool] = bool, where: Path | None = None) -> None:
        """Run a shell command.

        Args:
            what: name of the step.
            command: what is typed.
            check: whether its output is what the pages promise; by default, that there is some.
            where: folder; that of the newcomer's own files by default.
        """
        start = time.perf_counter()
        ran = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command], cwd=where or self.place, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT, check=False,
        )  # fmt: skip
        took = time.perf_counter() - start
        if ran.returncode != 0 or not check(ran.stdout):
            raise SystemExit(f"FAILED {what} (exit status {ran.returncode}):\n{command}\n{ran.stdout}")
        print(f"{took:7.1f} s  {what}", flush=True)

    def run(self, what: str, code: str, check: Callable[[str], bool] = lambda _: True) -> None:
        """Run Python code as a file of the newcomer's own."""
        (self.place / "snippet.py").write_text(code)
        self.type(what, "python snippet.py", check)


def commands(page: Path, word: str) -> str:
    """Return the block of shell commands of a page in which a word stands.

    Raises:
        LookupError: if there is none.
    """
    for block in re.findall(r"```bash\n(.*?)```", page.read_text(), re.DOTALL):
        if word in block:
            return str(block)
    raise LookupError(f"{page}: no block of commands has {word!r}")


def without_window(command: str) -> str:
    """Return commands with the one that opens a window writing a film instead."""
    return re.sub(r"^(pbd-gym enjoy \S+).*$", r"\1 --episodes 1 --gif agent.gif", command, flags=re.MULTILINE)


def main(folder: Path) -> None:
    """Go through all steps."""
    readme, docs = ROOT / "README.md", ROOT / "docs"
    her = Newcomer(folder)
    clone = f"git clone --quiet {shlex.quote(str(ROOT))} {shlex.quote(str(her.clone))}"
    her.type("clone", f"{clone} && ls {shlex.quote(str(her.clone))}", lambda out: "README.md" in out)
    her.type("a virtual environment", f"{shlex.quote(sys.executable)} -m venv {folder}/venv && which python")
    install = "pip install --quiet -c constraints.txt '.[train]' && pip list"
    her.type("pip install '.[train]'", install, lambda out: "pbd-gym" in out.replace("_", "-"), her.clone)
    her.type("pbd-gym doctor", "pbd-gym doctor")
    for line in without_window(commands(readme, "pbd-gym evaluate")).splitlines():
        her.type(line.partition("#")[0].strip(), line)
    her.type("the film of it", "ls -s agent.gif")
    for snippet in [*snippets(readme), *snippets(docs / "own_scene.md")]:
        if not snippet.reason:
            her.run(snippet.label, snippet.code)
    (her.place / "my_reward.py").write_text(snippets(docs / "own_rewards.md")[0].code)
    own = commands(docs / "own_rewards.md", "--wrapper").strip()
    her.type(own, f"{own} {SHORT} --out runs/own && ls runs/own", lambda out: "model.npz" in out)
    notebook = "from docs.site.notebooks import path_of, run; print(len(run(path_of('first_steps'))['cells']), 'cells')"
    her.type("notebook first_steps", f"python -c {shlex.quote(notebook)}", where=her.clone)
    print("passed")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
