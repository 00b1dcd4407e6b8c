"""``pbd-gym fabrics``: cantilever and drape tests of the preset fabrics, beside what textile laboratories publish."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.cantilever import Bending, bending_length, peirce
from benchmarks.drape import RADIUS, Drape, drape
from pbd_gym.materials import presets
from pbd_gym.materials.fabrics import Fabric
from pbd_gym.runtime.files import write_text
from pbd_gym.runtime.messages import quiet_warp, start_warp

CELLS = (24, 48)
"""Across the disc; the strip has the same spacing."""


@dataclass(frozen=True)
class Found:
    """What was measured of a fabric at one resolution."""

    spacing: float
    """[m]"""
    bending_length: float
    """[m]"""
    drape_coefficient: float
    drape_spread: float
    """Standard deviation over starts."""
    folds: float
    strain: float
    """99th percentile of the stretch of the threads of the draped disc."""
    piercings: float
    """Edges of a draped disc that go through it."""


@dataclass(frozen=True)
class FabricRow:
    """A fabric, what was measured of it, and what is published."""

    name: str
    density: float
    """[kg/m^2]"""
    rigidity: float
    """Flexural rigidity of the preset [N m]."""
    thickness: float
    """[m]"""
    expected: float
    """Bending length by Peirce's formula [m]."""
    found: tuple[Found, ...]
    """By resolution, coarse first."""
    bending_lengths: tuple[float, float] | None
    """Published range [m]."""
    drape_coefficients: tuple[float, float] | None
    """Published range."""


def measure(name: str, cells: Sequence[int] = CELLS, bending: str | None = None) -> FabricRow:
    """Do the cantilever and the drape test of a preset.

    Args:
        name: of the preset.
        cells: across the disc, one number per resolution.
        bending: constraint kind that bends; that of the preset by default.

    Raises:
        ValueError: for an unknown preset or kind.
    """
    fabric = Fabric.preset(name)
    if bending is not None:
        fabric = replace(fabric, bending=bending)
    rigidity, density = fabric.flexural_rigidity, fabric.density
    expected, found = peirce(rigidity, density), []
    for count in cells:
        spacing = 2 * RADIUS / count
        bent: Bending = bending_length(fabric, spacing, expected)
        draped: Drape = drape(fabric, count)
        found.append(
            Found(
                spacing, bent.length, draped.coefficient, draped.spread, draped.folds, draped.strain, draped.piercings
            )
        )
    lengths, coefficients = presets.BENDING_LENGTHS.get(name), presets.DRAPE_COEFFICIENTS.get(name)
    return FabricRow(name, density, rigidity, fabric.thickness, expected, tuple(found), lengths, coefficients)


def main(names: Sequence[str], quick: bool = False, bending: str | None = None, json_path: str | None = None) -> None:
    """Measure presets and print a table.

    Args:
        names: of the presets; all by default.
        quick: whether to measure with the coarser mesh only.
        bending: constraint kind that bends; that of each preset by default.
        json_path: where to write the numbers, ``"-"`` for standard output instead of the table.

    Raises:
        ValueError: for an unknown preset or kind, before anything is measured.
    """
    names = list(names) or list(presets.FABRICS)
    for name in names:
        Fabric.preset(name, **({} if bending is None else {"bending": bending}))
    start_warp()
    rows = []
    with quiet_warp():
        for name in names:
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            rows.append(measure(name, CELLS[:1] if quick else CELLS, bending))
    text = json.dumps([dataclasses.asdict(row) for row in rows], indent=2) + "\n"
    if json_path == "-":
        print(text, end="")
        return
    if json_path is not None:
        write_text(json_path, text)
    print(table(rows))


def table(rows: Sequence[FabricRow]) -> str:
    """Lay rows out as a Markdown table."""
    spacings = [f"{1e3 * found.spacing:.3g} mm" for found in rows[0].found]
    names = ["fabric", "g/m²", "D [µN m]", "c by Peirce [cm]", *(f"c, {s}" for s in spacings), "published", ""]
    names += [*(f"drape, {s} [%]" for s in spacings), "published", "", "folds"]
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for row in rows:
        last = row.found[-1]
        cells = [row.name, f"{1e3 * row.density:.0f}", f"{1e6 * row.rigidity:.3g}", f"{100 * row.expected:.2f}"]
        cells += [f"{100 * found.bending_length:.2f}" for found in row.found]
        cells += [_range(row.bending_lengths, "{:.1f}"), verdict(last.bending_length, row.bending_lengths)]
        cells += [f"{100 * f.drape_coefficient:.0f} ± {100 * f.drape_spread:.0f}" for f in row.found]
        cells += [_range(row.drape_coefficients, "{:.0f}"), verdict(last.drape_coefficient, row.drape_coefficients)]
        lines.append("| " + " | ".join([*cells, f"{last.folds:.0f}"]) + " |")
    return "\n".join(lines)


def verdict(value: float, published: tuple[float, float] | None) -> str:
    """Return whether a number is in its published range, and how far off it is otherwise; nothing without a range."""
    if published is None:
        return ""
    low, high = published
    if value > high:
        return f"{value / high - 1:.0%} above"
    if value < low:
        return f"{1 - value / low:.0%} below"
    return "in it" if value <= high else "not found"


def _range(published: tuple[float, float] | None, form: str) -> str:
    return "" if published is None else " to ".join(form.format(100 * end) for end in published)
