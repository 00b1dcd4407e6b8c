"""How pulled-about towels fare: ``python -m docs.figures.piercings [resolution] [thickness] [id ...]``

Two hands take 80 actions at full speed, which change their grip every 8 actions; then they let go for 4 seconds.
Without ids it does so in all towel tasks whose hands move by steps.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator

import pbd_gym  # noqa: F401  (registers the environments)
from pbd_gym.envs.cloth.towel import ClothTaskConfig
from pbd_gym.geometry.edges import sides
from pbd_gym.geometry.surfaces import crossings
from pbd_gym.registry import ENTRIES

NUM_ENVS = 192
ACTIONS, REST = 80, 4.0
"""Actions at random, and the time to settle [s]."""


def towel_ids() -> list[str]:
    """Return the ids of all tasks with a towel but those of pick and place, whose towel is that of another id."""
    creators = {entry.id: load_env_creator(entry.vector) for entry in ENTRIES if "PickPlace" not in entry.id}
    return [env_id for env_id, creator in creators.items() if issubclass(creator.config_type, ClothTaskConfig)]


def measure(env_id: str, resolution: int, thickness: float) -> None:
    """Print the share of towels that end without an edge through a triangle and at rest, strains, and the speed."""
    env: Any = gym.make_vec(
        env_id, NUM_ENVS, resolution=resolution, thickness=thickness, starts=8, max_episode_steps=1000
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
        ended += int(env.step(action.astype(np.float32))[2].sum())
        lengths = np.linalg.norm(np.diff(env.state.get_positions()[:, edges], axis=2)[:, :, 0], axis=2)
        strains.append(np.percentile(lengths / rest - 1.0, 99))
    speed = ACTIONS * NUM_ENVS / (time.process_time() - begin)
    action = np.zeros((NUM_ENVS, 8), dtype=np.float32)
    action[:, [3, 7]] = -1.0
    for _ in range(round(REST / env.config.ctrl_dt)):
        *_, terminated, _, info = env.step(action)
        ended += int(terminated.sum())
    still = np.mean(info["at_rest"])
    clean = np.mean([crossings(x, triangles, edges) == 0 for x in env.state.get_positions()])
    what = f"{1e3 * thickness:g} mm" if thickness else "balls"
    print(
        f"{env_id}, {resolution} x {resolution}, {what}: {clean:.0%} without piercings, {still:.0%} at rest, edge"
        f" strain {np.mean(strains):.1%} (99th percentile, mean over time), {ended} diverged, {speed:,.0f} env-steps/s",
        flush=True,
    )
    env.close()


def main(resolution: int = 32, thickness: float = 0.005, *env_ids: str) -> None:
    """Measure some tasks, or all of them."""
    for env_id in env_ids or towel_ids():
        measure(env_id, resolution, thickness)


if __name__ == "__main__":
    main(*(kind(value) for kind, value in zip((int, float), sys.argv[1:3], strict=False)), *sys.argv[3:])
