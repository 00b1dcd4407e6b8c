"""Parquet files of LeRobot's format: frames, with embedded pictures, episodes and tasks."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from pbd_gym.runtime.extras import load_optional

pa = load_optional("pyarrow", "for LeRobot's format", "lerobot")
pq = load_optional("pyarrow.parquet", "for LeRobot's format", "lerobot", "pyarrow")
pillow = load_optional("PIL.Image", "for pictures in LeRobot's format", "lerobot", "Pillow")

FILES_PER_CHUNK = 1000
"""Files in a folder."""
FILE = "chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
"""Path of a file below the folder of its kind."""


def file_indices(number: int) -> dict[str, int]:
    """Return the numbers in a file's :data:`FILE`, given the number of files before it."""
    return dict(zip(("chunk_index", "file_index"), divmod(number, FILES_PER_CHUNK), strict=True))


class FrameFiles:
    """Files of limited size, in which each episode is a row group, so that it can be read alone.

    Args:
        folder: target folder. limit: size above which a file gets no further episode [MB].
    """

    def __init__(self, folder: Path, limit: float) -> None:
        self.folder, self.limit = folder, limit
        self._count = 0
        self._file: Any = None
        self._writer: Any = None

    def write(self, columns: dict[str, np.ndarray]) -> dict[str, int]:
        """Write the frames of an episode of T steps. Returns the numbers of the file that contains them.

        Args:
            columns: shape (T, size), or (T, height, width, 3), uint8, for pictures; by name.
        """
        table = pa.table({name: _column(values) for name, values in columns.items()})
        if self._writer is None or self._file.tell() >= self.limit * 1e6:
            self.close()
            path = self.folder / FILE.format(**file_indices(self._count))
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file, self._count = path.open("wb"), self._count + 1
            self._writer = pq.ParquetWriter(self._file, table.schema)
        self._writer.write_table(table)
        return file_indices(self._count - 1)

    def close(self) -> None:
        """Complete the last file."""
        if self._writer is not None:
            self._writer.close()
            self._file.close()
            self._writer = None


def feature(values: np.ndarray) -> dict[str, Any]:
    """Return the format's description of a column, given as in :meth:`FrameFiles.write`."""
    if values.ndim == 4:
        return {"dtype": "image", "shape": list(values.shape[1:]), "names": ["height", "width", "channels"]}
    return {"dtype": values.dtype.name, "shape": list(values.shape[1:]), "names": None}


def write_episodes(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write the table of episodes."""
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


def write_task(path: Path, task: str) -> None:
    """Write the table of tasks, which has one row. LeRobot reads it with pandas and finds the words in its index."""
    columns = [
        {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": dtype, "metadata": None}
        for name, kind, dtype in (("task_index", "int64", "int64"), ("task", "unicode", "object"))
    ]
    pandas = {"index_columns": ["task"], "column_indexes": [], "columns": columns, "pandas_version": "2.0.0"}
    table = pa.table({"task_index": pa.array([0]), "task": [task]})
    pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(pandas)}), path)


def _column(values: np.ndarray) -> Any:
    """Return a column in Arrow's form: numbers, lists of one length, or PNG files."""
    if values.ndim == 4:
        packed = pa.array([_png(picture) for picture in values], pa.binary())
        return pa.StructArray.from_arrays([packed, pa.nulls(len(packed), pa.string())], names=["bytes", "path"])
    size = values.shape[1]
    flat = pa.array(values.ravel())
    return flat if size == 1 else pa.FixedSizeListArray.from_arrays(flat, size)


def _png(picture: np.ndarray) -> bytes:
    file = io.BytesIO()
    pillow.fromarray(picture).save(file, "png")
    return file.getvalue()
