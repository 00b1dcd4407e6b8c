"""How towels fare that are pulled about at random: ``python -m docs.figures.piercings [resolution] [thickness]``.

Two hands take 80 actions at full speed, which change their grip every 8 actions; then they let go for 4 seconds.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import gymnasium as gym
import numpy as np

import pbd_gym  # noqa: F401  (registers the environments)
from pbd_gym.geometry.edges import sides
from pbd_gym.geometry.intersections import crossings

NUM_ENVS = 64
ACTIONS, REST = 80, 50


def main(resolution: int = 16, thickness: float = 0.005) -> None:
    """Print the share of towels that end without an edge through a triangle, the largest strains, and the speed."""
    env: Any = gym.make_vec(
        "PBDClothFlatten-v0", NUM_ENVS, resolution=resolution, thickness=thickness, starts=8, max_episode_steps=1000
    )
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    triangles = env.scene.triangles
    edges = sides(triangles)[0]
    rest = np.linalg.norm(np.diff(env.scene.positions[edges], axis=1)[:, 0], axis=1)
    strains, begin, ended = [], time.process_time(), 0
    grips = np.zeros((NUM_ENVS, 2))
    for step in range(ACTIONS):
        if step % 8 == 0:
            grips = rng.uniform(-1.0, 1.0, (NUM_ENVS, 2))
        action = rng.choice([-1.0, 1.0], (NUM_ENVS, 8))
        action[:, [3, 7]] = grips
        terminated = env.step(action.astype(np.float32))[2]
        ended += int(terminated.sum())
        lengths = np.linalg.norm(np.diff(env.state.get_positions()[:, edges], axis=2)[:, :, 0], axis=2)
        strains.append(np.percentile(lengths / rest - 1.0, 99))
    speed = ACTIONS * NUM_ENVS / (time.process_time() - begin)
    action = np.zeros((NUM_ENVS, 8), dtype=np.float32)
    action[:, [3, 7]] = -1.0
    for _ in range(REST):
        env.step(action)
    clean = np.mean([crossings(x, triangles, edges) == 0 for x in env.state.get_positions()])
    what = f"{1e3 * thickness:g} mm" if thickness else "balls"
    print(
        f"{resolution} x {resolution}, {what}: {clean:.0%} without piercings, edge strain {np.mean(strains):.1%} (99th"
        f" percentile, mean over time), {ended} diverged, {speed:,.0f} env-steps/s"
    )


if __name__ == "__main__":
    main(*(kind(value) for kind, value in zip((int, float), sys.argv[1:], strict=False)))
