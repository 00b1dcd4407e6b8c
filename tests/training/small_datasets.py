"""What tests of datasets share: a small task of a few steps, its demonstrations, and frames in LeRobot's format."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pyarrow.parquet as pq
from PIL import Image

from pbd_gym.cli import main
from tests.envs.helpers import SMALL_OF

STEPS = 4


def small_env(num_envs: int, **kwargs: Any) -> Any:
    return gym.make_vec("PBDClothDrop-v0", num_envs, max_episode_steps=STEPS, **SMALL_OF["PBDClothDrop-v0"], **kwargs)


def collect(path: Path, *words: str) -> Path:
    numbers = SMALL_OF["PBDClothDrop-v0"] | {"max_episode_steps": STEPS}
    small = [str(word) for pair in numbers.items() for word in pair]
    assert main(["collect", "PBDClothDrop-v0", "--out", str(path), *words, "--env-kwargs", *small]) == 0
    return path


def read_frames(path: Path) -> dict[str, np.ndarray]:
    """Return the columns of a dataset, pictures decoded."""
    tables = [pq.read_table(file).to_pydict() for file in sorted((path / "data").glob("*/*.parquet"))]
    columns = {name: [value for table in tables for value in table[name]] for name in tables[0]}
    for name, values in columns.items():
        if name.startswith("observation.images."):
            columns[name] = [np.array(Image.open(io.BytesIO(value["bytes"]))) for value in values]
    return {name: np.array(values) for name, values in columns.items()}
