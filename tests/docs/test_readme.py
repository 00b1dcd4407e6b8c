"""The README's snippets run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)


def test_there_are_snippets() -> None:
    assert len(SNIPPETS) >= 4


@pytest.mark.parametrize("number", range(len(SNIPPETS)))
def test_snippet_runs(number: int, tmp_path: Path) -> None:
    """Each one in a fresh process, pasted as it stands; warnings of ours would be errors."""
    script = tmp_path / "snippet.py"
    script.write_text(SNIPPETS[number])
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr


def test_links_lead_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", TEXT) if "://" not in link]
    assert len(links) >= 5
    for link in links:
        assert (ROOT / link).exists(), link


def test_commands_exist() -> None:
    """Every `pbd-gym` subcommand that the README names is one."""
    from pbd_gym.cli import main

    named = set(re.findall(r"pbd-gym ([a-z]+)", TEXT))
    assert {"train", "evaluate", "bench", "play", "doctor", "list", "info"} <= named
    for command in named:
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0
