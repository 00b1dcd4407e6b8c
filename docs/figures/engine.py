"""Draws the pictures of the pages on the engine: what their snippets build, some time later.

Run ``python -m docs.figures.engine``; a minute, most of it for kernels. Snippets are taken from the pages themselves.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from docs.figures.gallery import drawn, framed
from pbd_gym import Model, Plane, Solver
from pbd_gym.rendering import Renderer, save_png, tile
from pbd_gym.rendering.pictures.scenes import scene_frame

DOCS = Path(__file__).parents[1]
PAGES = ("engine", "cloth", "colliders", "fluids", "rigid_bodies")
SIZE = 240
MOMENTS = {
    "The engine": (0.0, 0.15, 0.4),
    "Bodies and materials": (0.0, 0.3, 0.8),
    "Fine and thin cloth": (0.0, 0.2, 0.4),
    "Colliders": (0.0, 0.4, 0.8),
    "Fluids, forces and wind": (0.0, 0.12, 0.24),
    "Shape matching": (0.0, 0.3, 0.6),
    "Rigid bodies": (0.0, 0.12, 0.24),
    "Clay, tethers and other constraints": (0.0, 0.2, 0.6),
}
"""After what times, from where the first snippet of a section ends, it is drawn [s]."""
ENVIRONMENTS = {"Fluids, forces and wind": (0, 1)}
"""Which environments are drawn, each in a row of its own, where it is not the first alone."""
STEP = 1 / 60
"""[s]"""


def snippet(heading: str) -> str:
    """Return the first Python block of a section."""
    text = "\n".join((DOCS / f"{page}.md").read_text() for page in PAGES)
    section = re.split(rf"^#+ {heading}\n", text, flags=re.MULTILINE)[1]
    code = re.search(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    assert code is not None, heading
    return code[1]


def name_of(heading: str) -> str:
    """Return the name of a section's picture."""
    return re.sub(r"\W+", "-", heading.lower())


def draw(heading: str) -> np.ndarray:
    """Return pictures of a section side by side, the scene where its snippet ends and some time later."""
    found: dict[str, Any] = {}
    exec(snippet(heading), found)
    scene = found["scene"]
    if not scene.colliders:
        scene.add_collider(Plane())
    solver = found["solver"] if "solver" in found else Solver(Model(scene), substeps=20)
    state, control = found.get("state") or solver.state(), found.get("control") or solver.control()
    envs, seen, time = ENVIRONMENTS.get(heading, (0,)), [], 0.0
    for moment in MOMENTS[heading]:
        while time < moment - 1e-9:
            solver.step(state, control, STEP)
            time += STEP
        positions, poses = state.get_positions(), state.get_poses()
        seen.append([scene_frame(scene, positions[env], poses[env]) for env in envs])
    frames = [now[row] for row in range(len(envs)) for now in seen]
    renderer = Renderer(size=(2 * SIZE, 2 * SIZE))
    camera = framed(frames, renderer.size)
    return tile([drawn(renderer, frame, camera) for frame in frames], len(seen))


def main() -> None:
    """Write the picture of every section into docs/engine."""
    (DOCS / "engine").mkdir(exist_ok=True)
    for heading in MOMENTS:
        save_png(DOCS / "engine" / f"{name_of(heading)}.png", draw(heading))
        print(heading, flush=True)


if __name__ == "__main__":
    main()
