"""Draws the pictures of docs/engine.md: what its snippets build, some time later.

Run ``python -m docs.figures.engine``; a minute, most of it for kernels. Snippets are taken from the page itself.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from docs.figures.gallery import shrink
from pbd_gym import Model, Plane, Solver
from pbd_gym.rendering import Camera, Renderer, save_png, tile
from pbd_gym.rendering.pictures.scenes import scene_frame

DOCS = Path(__file__).parents[1]
SIZE = 240
MOMENTS = {
    "Bodies and materials": (0.0, 0.3, 0.8),
    "Fine and thin cloth": (0.0, 0.2, 0.4),
    "Colliders": (0.0, 0.4, 0.8),
    "Shape matching": (0.0, 0.3, 0.6),
    "Rigid bodies": (0.0, 0.12, 0.24),
}
"""After what times, from where the first snippet of a section ends, it is drawn [s]."""
STEP = 1 / 60
"""[s]"""


def snippet(heading: str) -> str:
    """Return the first Python block of a section."""
    section = re.split(rf"^#+ {heading}\n", (DOCS / "engine.md").read_text(), flags=re.MULTILINE)[1]
    code = re.search(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    assert code is not None, heading
    return code[1]


def name_of(heading: str) -> str:
    """Return the name of a section's picture."""
    return re.sub(r"\W+", "-", heading.lower())


def draw(heading: str) -> np.ndarray:
    """Return pictures of a section side by side, the scene as it is made and some time later."""
    found: dict[str, Any] = {}
    exec(snippet(heading), found)
    scene = found["scene"]
    if not scene.colliders:
        scene.add_collider(Plane())
    solver = found["solver"] if "solver" in found else Solver(Model(scene), substeps=20)
    state, control = found.get("state") or solver.state(), found.get("control") or solver.control()
    renderer, pictures, camera, time = Renderer(size=(2 * SIZE, 2 * SIZE)), [], None, 0.0
    for moment in MOMENTS[heading]:
        while time < moment - 1e-9:
            solver.step(state, control, STEP)
            time += STEP
        positions = state.get_positions()[0]
        if camera is None:
            lower = np.minimum(positions.min(axis=0), [np.inf, 0.0, np.inf])
            camera = Camera.overview(lower, positions.max(axis=0), renderer.size)
        picture = renderer.draw(scene_frame(scene, positions, state.get_poses()[0]), camera)
        assert picture is not None
        pictures.append(shrink(picture))
    return tile(pictures, len(pictures))


def main() -> None:
    """Write the picture of every section into docs/engine."""
    (DOCS / "engine").mkdir(exist_ok=True)
    for heading in MOMENTS:
        save_png(DOCS / "engine" / f"{name_of(heading)}.png", draw(heading))
        print(heading, flush=True)


if __name__ == "__main__":
    main()
