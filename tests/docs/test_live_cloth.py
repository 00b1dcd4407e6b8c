"""The cloth of the site's front, in JavaScript: the engine's own trajectory, under node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pbd_gym import ClothMaterial, Model, Scene, Solver

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "docs" / "site" / "extra" / "live" / "xpbd.js"
FLAT = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, -1.0, 0.0]]
FRAMES = 50
RUN = """
const { Cloth } = require(%s), task = %s;
const cloth = new Cloth(task.cloth), out = [];
task.pins.forEach((i) => cloth.pin(i));
for (let frame = 0; frame < task.frames; ++frame) {
  if (frame in task.holds) cloth.hold(task.holds[frame]);
  cloth.advance(1 / 60, task.steps, cloth.held >= 0 ? task.move : [0, 0, 0]);
  out.push([...cloth.x]);
}
console.log(JSON.stringify([[...cloth.w], out]));
"""
NODE = shutil.which("node")


def javascript(**task: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return inverse masses at the end, and positions after each frame, of the cloth in JavaScript."""
    program = RUN % (json.dumps(str(SCRIPT)), json.dumps(task))
    done = subprocess.run([NODE or "node", "-e", program], capture_output=True, text=True, check=True, timeout=120)
    weights, positions = json.loads(done.stdout)
    return np.array(weights), np.array(positions).reshape(task["frames"], -1, 3)


@pytest.mark.skipif(NODE is None, reason="node runs the page's script")
@pytest.mark.parametrize(
    ("rows", "columns", "substeps", "iterations", "damping", "material"),
    [
        (9, 7, 5, 4, 0.0, (0.2, 1e-2, 5e-2, 5e-1)),
        (6, 11, 10, 1, 0.7, (0.9, 1e-3, 1e-2, 1.0)),
    ],
)
def test_it_moves_as_the_engine_does(
    rows: int, columns: int, substeps: int, iterations: int, damping: float, material: tuple[float, ...]
) -> None:
    """Pinned by two corners, it falls; a hand takes another corner, carries it, and lets go."""
    scene = Scene(grip_count=1)
    cloth = scene.add_cloth(rows, columns, (0.5, 0.5), ClothMaterial(*material), rotation=FLAT, lines=False)
    scene.pin(cloth.corners[:2])
    model = Model(scene, dtype="float64")
    solver = Solver(model, substeps=substeps, iterations=iterations, damping=damping, compensate=False)
    state, control = solver.state(), solver.control()
    last, move = rows * columns - 1, [0.002, 0.004, 0.001]
    holds = {10: last, 30: -1}
    expected = []
    for frame in range(FRAMES):
        if frame in holds:
            state.hold([[holds[frame]]])
            control.move(move if holds[frame] >= 0 else 0.0)
        solver.step(state, control, 1 / 60)
        expected.append(state.get_positions()[0].copy())
    weights, found = javascript(
        cloth=dict(zip(("density", "stretch", "shear", "bend"), material, strict=True))
        | {"rows": rows, "columns": columns, "size": 0.5},
        pins=[int(i) for i in cloth.corners[:2]], holds=holds, move=move, frames=FRAMES,
        steps={"substeps": substeps, "iterations": iterations, "damping": damping},
    )  # fmt: skip
    np.testing.assert_allclose(weights, scene.inv_mass, rtol=1e-12)
    assert np.ptp([frame[last] for frame in expected], axis=0).max() > 0.3  # it swings
    np.testing.assert_allclose(found, np.array(expected), rtol=0, atol=1e-9)


@pytest.mark.skipif(NODE is None, reason="node runs the page's script")
def test_forgotten_multipliers_stiffen_it() -> None:
    """What the page's switch teaches: without multipliers, stiffness comes from the number of iterations."""
    task: dict[str, Any] = {"cloth": {"rows": 8, "columns": 8}, "pins": [0, 7], "holds": {}, "move": [0, 0, 0]}

    def stretch(iterations: int, keep: bool) -> float:
        end = javascript(frames=18, steps={"iterations": iterations, "keep": keep}, **task)[1][-1]
        side = np.diff(end.reshape(8, 8, 3)[:, 0], axis=0)
        return float(np.linalg.norm(side, axis=1).sum() / 0.5 - 1.0)

    few, many = stretch(4, True), stretch(16, True)
    assert few > 0.01 and abs(many - few) < 0.15 * few
    assert stretch(16, False) < 0.5 * stretch(4, False)
