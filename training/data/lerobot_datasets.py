"""Demonstrations on disk in the format of Hugging Face's LeRobot, version 3.0 (the extra ``[lerobot]``).

Only pyarrow is needed to write it. LeRobot itself, which reads it, brings torch, torchvision and video codecs. The
format is described at https://huggingface.co/docs/lerobot/lerobot-dataset-v3.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from pbd_gym.training.data.datasets import Episode
from pbd_gym.training.data.lerobot_files import (
    FILE,
    FILES_PER_CHUNK,
    FrameFiles,
    feature,
    file_indices,
    write_episodes,
    write_task,
)
from pbd_gym.training.data.lerobot_statistics import pooled, statistics
from pbd_gym.training.episodes.cameras import IMAGES, by_camera

VERSION = "v3.0"
"""Version of the format."""
FILE_SIZE = 100
"""Size above which a file of frames gets no further episode [MB]."""
_STATE = "observation.state"


def write_lerobot_dataset(
    path: Path,
    episodes: Iterable[Episode],
    fps: float,
    task: str,
    about: dict[str, Any],
    file_size: float = FILE_SIZE,
) -> dict[str, Any]:
    """Write episodes as a LeRobot dataset, one after the other: they need not be in memory together.

    A frame is an observation, an action and its outcome; the final observation is omitted. Pictures are lossless PNG
    files inside the Parquet files.

    Args:
        path: folder of the dataset, which must not exist yet. It appears when everything is written. episodes: episodes
        to write. Infos named ``images/NAME`` are pictures, and ``is_success`` must be among infos. fps: actions per
        second [Hz]. task: task of the agent, in words. about: further information for ``meta/pbd_gym.json``; the seeds
        of the episodes are added. file_size: size above which a file of frames gets no further episode [MB].

    Returns:
        Contents of ``meta/info.json``.

    Raises:
        ValueError: if ``path`` exists, or if there is no episode.
    """
    if path.exists():
        raise ValueError(f"{path} exists already")
    path.parent.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    features: dict[str, Any] = {}
    seeds: list[int] = []
    frame_count = 0
    with (
        TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as place,
        closing(FrameFiles(Path(place) / path.name / "data", file_size)) as files,  # also if interrupted
    ):
        folder = Path(place) / path.name
        for number, episode in enumerate(episodes):
            columns = frames(episode, fps, number, frame_count)
            features = features or {name: feature(values) for name, values in columns.items()}
            file = files.write(columns)
            parts.append({name: statistics(values) for name, values in columns.items()})
            length = len(episode.actions)
            rows.append(
                {
                    "episode_index": number, "tasks": [task], "length": length, "dataset_from_index": frame_count,
                    "dataset_to_index": frame_count + length,
                    **{f"data/{name}": value for name, value in file.items()},
                    **{f"meta/episodes/{name}": value for name, value in file_indices(0).items()},
                    **{f"stats/{k}/{name}": v.tolist() for k, part in parts[-1].items() for name, v in part.items()},
                }
            )  # fmt: skip
            frame_count += length
            seeds.append(episode.seed)
        files.close()
        if not rows:
            raise ValueError("there is no episode to write")
        meta = folder / "meta"
        write_episodes(meta / "episodes" / FILE.format(**file_indices(0)), rows)
        write_task(meta / "tasks.parquet", task)
        pool = {name: pooled([part[name] for part in parts]) for name in features}
        _write_json(meta / "stats.json", {k: {name: v.tolist() for name, v in s.items()} for k, s in pool.items()})
        _write_json(meta / "pbd_gym.json", {**about, "seeds": seeds})
        info = {
            "codebase_version": VERSION, "robot_type": "pbd_gym", "total_episodes": len(rows),
            "total_frames": frame_count, "total_tasks": 1, "chunks_size": FILES_PER_CHUNK,
            "data_files_size_in_mb": FILE_SIZE, "video_files_size_in_mb": FILE_SIZE, "fps": fps,
            "splits": {"train": f"0:{len(rows)}"}, "data_path": f"data/{FILE}", "video_path": None,
            "features": features,
        }  # fmt: skip
        _write_json(meta / "info.json", info)
        folder.rename(path)
    return info


def frames(episode: Episode, fps: float, number: int, first: int) -> dict[str, np.ndarray]:
    """Return the columns of an episode of T steps by name, shape (T, size), or (T, height, width, 3) for pictures.

    Args:
        episode: episode whose observations are vectors, or colour pictures. fps: actions per second [Hz]. number: index
        of the episode. first: number of frames in the dataset before it.
    """
    length, step = len(episode.actions), np.arange(len(episode.actions))
    seen = episode.observations if isinstance(episode.observations, dict) else {"observation": episode.observations}
    pictures = {n.removeprefix(IMAGES): shown for n, shown in episode.infos.items() if n.startswith(IMAGES)}
    columns: dict[str, np.ndarray] = {}
    for name, values in seen.items():
        if values.ndim == 4:
            pictures |= by_camera(values)
        else:
            columns[_STATE if name == "observation" else f"observation.{name}"] = values[:length]
    columns |= {f"observation.images.{name}": shown[:length] for name, shown in pictures.items()}
    columns["action"] = episode.actions
    if "intended_action" in episode.infos:
        columns["intended_action"] = episode.infos["intended_action"][:length]
    single = {
        "next.reward": episode.rewards.astype(np.float32),
        "next.done": episode.terminations | episode.truncations,
        "next.success": episode.infos["is_success"][1:].astype(bool),
        "timestamp": (step / fps).astype(np.float32),
        "frame_index": step,
        "episode_index": np.full(length, number),
        "index": first + step,
        "task_index": np.zeros(length, dtype=np.int64),
    }
    return columns | {name: values[:, None] for name, values in single.items()}


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=4, default=str))  # a range of randomize, say, is no JSON
