"""The table of batches in docs/other_libraries.md is what happens, in every library that is installed here."""

from __future__ import annotations

import pytest

from tests.envs.tools import libraries
from tests.envs.tools.libraries import MODES, OUTPUTS, TRIALS, YES

pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_table_has_every_combination() -> None:
    cells = libraries.table()
    assert set(cells) == {(name, output, mode) for name in TRIALS for output in OUTPUTS for mode in MODES}
    assert all(cell and cell != "?" for cell in cells.values())
    for name in TRIALS:
        assert YES in [cells[name, output, mode] for output in OUTPUTS for mode in MODES], name


@pytest.mark.parametrize("name", TRIALS)
def test_the_table_is_what_happens(name: str) -> None:
    if not libraries.installed(name):
        pytest.skip(f"{name} is not installed")
    cells = libraries.table()
    for output in OUTPUTS:
        for mode in MODES:
            assert libraries.tried(name, output, mode) == cells[name, output, mode], (output, mode)


def test_differences_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the comparison itself: a library that gives a reward one step late is no success."""
    row = "wrappers of Gymnasium, `pbd_gym.envs.torch`"

    def late(output: str, mode: str):  # type: ignore[no-untyped-def]
        before = 0.0
        for step in libraries.plain(libraries.batch(output, mode), output, mode):
            yield step._replace(reward=0.0 * step.reward + before)
            before = step.reward

    monkeypatch.setitem(TRIALS, row, ("gymnasium", late))
    assert libraries.tried(row, "numpy", "NextStep") == "rewards differ"
