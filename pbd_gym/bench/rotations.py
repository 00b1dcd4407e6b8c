"""Rotation extraction: alone, and in the regions of shape matching."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import warp as wp

from pbd_gym.bench.engine import Engine, sizes
from pbd_gym.bench.rows import Options, Row
from pbd_gym.bench.timing import measure
from pbd_gym.geometry.regions import lattice_regions
from pbd_gym.kernels.lanes.rotation import make_rotate
from pbd_gym.kernels.lanes.wide import wide
from pbd_gym.scene.scene import Scene


def rotations(options: Options) -> Iterator[Row]:
    """Rotations of 3x3 matrices alone, in cache, and those of shape matching: a block of regions of 27 particles."""
    width, count = (1, 2**20) if options.is_cuda else (16, 1024)
    wide_ = wide(width, wp.float32)
    matrices = np.random.default_rng(0).normal(size=(count, 9, width))
    with wp.ScopedDevice(options.device):
        given = wp.array(matrices, dtype=wide_.vec)
        launch = wp.launch(make_rotate(wide_), dim=count, inputs=[given, wp.empty_like(given)], record_cmd=True)

    def rotate() -> None:
        launch.launch()
        wp.synchronize_device(options.device)

    duration = measure(rotate, options.repeats)
    yield Row("rotations", f"L = {width}", count * width / duration.median / 1e6, "M rotations/s", duration.spread)

    scene, size = Scene(), 8
    block = np.stack(np.meshgrid(*[np.arange(size) * 0.1] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    scene.add_shape_matching(block, regions=lattice_regions((size,) * 3), mass=0.01)
    for num_envs, threads in sizes(options, [(64, 1)], [1024]):
        engine = Engine(scene, num_envs, options.device, threads)
        duration = measure(engine.step, options.repeats)
        yield Row("rotations", f"regions of a block of 512, {num_envs} environments",
                  engine.projections / duration.median / 1e6, "M regions/s", duration.spread)  # fmt: skip
