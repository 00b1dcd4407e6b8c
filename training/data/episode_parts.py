"""Episodes on the way to a dataset: a file of arrays for each batch, so that a collection goes on where it stopped."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pbd_gym.runtime.files import read_arrays, write_bytes
from pbd_gym.training.data.datasets import Episode

KIND = "a part of a dataset"
"""Name of such files in messages."""
ARRAYS = ("actions", "rewards", "terminations", "truncations")
"""Fields of an episode that are plain arrays."""


def write_part(path: Path, episodes: Sequence[Episode]) -> None:
    """Write the episodes of a batch; the file appears when it is whole."""
    arrays: dict[str, np.ndarray] = {}
    about = []
    for number, episode in enumerate(episodes):
        about.append({"seed": episode.seed, "options": episode.options})
        arrays |= {f"{number}/{name}": getattr(episode, name) for name in ARRAYS}
        seen = episode.observations
        named = {f"observations/{k}": v for k, v in seen.items()} if isinstance(seen, dict) else {"observations": seen}
        named |= {f"infos/{name}": values for name, values in episode.infos.items()}
        arrays |= {f"{number}/{name}": values for name, values in named.items()}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, about=np.array(json.dumps(about)), **arrays)  # type: ignore[arg-type]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, buffer.getvalue())


def read_part(path: Path) -> list[Episode]:
    """Return the episodes of a file from :func:`write_part`. Nothing in the file can run code.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is anything else.
    """
    arrays = read_arrays(path, KIND)
    try:
        return [_episode(number, one, arrays) for number, one in enumerate(json.loads(str(arrays["about"])))]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not {KIND}: {error!r}") from error


def _episode(number: int, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Episode:
    start = f"{number}/"
    own = {name.removeprefix(start): values for name, values in arrays.items() if name.startswith(start)}
    groups: dict[str, dict[str, np.ndarray]] = {"observations/": {}, "infos/": {}}
    for group, members in groups.items():
        members |= {name.removeprefix(group): own[name] for name in own if name.startswith(group)}
    seen: Any = own["observations"] if "observations" in own else groups["observations/"]
    fields: dict[str, Any] = {name: own[name] for name in ARRAYS}
    return Episode(about["seed"], about["options"], seen, infos=groups["infos/"], **fields)
