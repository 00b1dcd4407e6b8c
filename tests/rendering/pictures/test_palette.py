"""Palettes of films."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.rendering import save_gif

image = pytest.importorskip("PIL.Image")


def test_gifs_have_no_bands_in_skies_and_what_is_still_remains_so(tmp_path: Path) -> None:
    down = np.linspace(200.0, 230.0, 128)[:, None, None]
    sky = np.broadcast_to(down, (128, 48, 3)).round().astype(np.uint8)
    other = sky.copy()
    other[:, 24:] = 60
    save_gif(tmp_path / "a.gif", [sky, other], fps=20)
    with image.open(tmp_path / "a.gif") as gif:
        shown = [np.asarray(gif.convert("RGB")).astype(float)]
        gif.seek(1)
        shown.append(np.asarray(gif.convert("RGB")).astype(float))
    rows = shown[0].reshape(32, 4, 48, 3).mean(axis=(1, 2, 3))
    assert_allclose(rows, down.reshape(32, 4).mean(axis=1), atol=0.8)  # steps of a palette are of 4
    assert_array_equal(shown[0][:, :20], shown[1][:, :20])
