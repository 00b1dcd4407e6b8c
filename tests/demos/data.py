"""Reference data of the demonstrations."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[1] / "data" / "demos"


@cache
def load(name: str) -> dict[str, np.ndarray]:
    """Return the arrays of ``tests/data/demos/<name>.npz``."""
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as file:
        return {key: file[key] for key in file.files if key != "meta"}
