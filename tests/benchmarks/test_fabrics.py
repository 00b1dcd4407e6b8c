"""The preset fabrics in the tests of a textile laboratory."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.cantilever import bending_length, peirce
from benchmarks.drape import disc, drape, folds, shadow
from benchmarks.fabrics import verdict
from pbd_gym.materials.fabrics import Fabric
from pbd_gym.runtime.messages import Progress


def test_towel_bends_like_peirces_strip(capsys: pytest.CaptureFixture[str]) -> None:
    """Guards D from the moduli to the strip that hangs: 4 % of the bending length, coarse as it is.

    Joints replace a curve of N = 3.2 cells: (1 / N)^2 / 4 = 2.4 % too long. At a substep of 0.3 over the bending
    frequency it is 1 to 2 % too short. Terry is softer than a plate and stiffer than a chain, so its discs hang in
    between, without stretching.
    """
    assert main(["fabrics", "towel", "--quick", "--json", "-"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    (found,) = row["found"]
    towel = Fabric.preset("towel")
    assert row["expected"] == pytest.approx(peirce(towel.flexural_rigidity, towel.density))
    assert found["bending_length"] == pytest.approx(row["expected"], rel=0.04)
    assert 0.3 < found["drape_coefficient"] < 0.6
    assert found["drape_spread"] < 0.05 and 3 <= found["folds"] <= 9
    assert found["strain"] < 0.005 and found["piercings"] == 0


def test_shadow_folds_and_verdict() -> None:
    """Guards what is read off a disc: area of what overlaps once, waves of its rim, and the words of the table."""
    sheet = disc(24)
    flat = sheet.positions[:, :2]
    area = shadow(flat, sheet.triangles)
    assert area == pytest.approx(sheet.areas.sum(), rel=2e-3) == pytest.approx(np.pi * 0.15**2, rel=0.02)
    folded = np.where(flat > 0, -flat, flat) * [1, 0] + flat * [0, 1]
    assert shadow(folded, sheet.triangles) == pytest.approx(area / 2, rel=0.02)
    angle = np.arctan2(flat[:, 1], flat[:, 0])
    wavy = flat * (1 + 0.2 * np.cos(5 * angle))[:, None]
    assert folds(np.column_stack([wavy[:, 0], 0 * angle, wavy[:, 1]])) == 5
    assert [verdict(v, (1.0, 2.0)) for v in (0.5, 1.5, 3.0)] == ["50% below", "in it", "50% above"]
    assert verdict(float("nan"), (1.0, 2.0)) == "not found" and verdict(1.0, None) == ""


def test_unknown_fabrics_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fabrics", "towel", "tweed"]) == 1
    assert main(["fabrics", "towel", "--bending", "glue"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and "denim" in lines[0] and "dihedral" in lines[1]


@pytest.mark.parametrize(
    ("test", "what"),
    [
        (lambda silk: bending_length(silk, spacing=0.0125, substeps=4, seconds=0.05), "strips that hang"),
        (lambda silk: drape(silk, cells=24, substeps=4, seconds=0.05), "discs that hang"),
    ],
)
def test_fabrics_say_how_far_they_are(
    test: Callable[[Fabric], object], what: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Progress.__init__, "__defaults__", (0.0,))  # every step is told of
    test(Fabric.preset("silk"))
    assert f"pbd_gym: {what}, frames: 3 of 3\n" in capsys.readouterr().err
