"""Named workloads of the bare engine, each a function that yields rows of the table."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import warp as wp

from pbd_gym.bench.engine import Engine, measured, sizes
from pbd_gym.bench.rows import Options, Row
from pbd_gym.bench.scenes import (
    SUBSTEPS,
    compression,
    folded,
    hanging_block,
    hanging_cloth,
    hanging_rope,
    level,
    tank,
    towel,
)
from pbd_gym.bench.timing import measure
from pbd_gym.colliders import Plane
from pbd_gym.geometry.regions import lattice_regions
from pbd_gym.kernels.lanes.rotation import make_rotate
from pbd_gym.kernels.lanes.wide import LANE_COUNTS, wide
from pbd_gym.rendering import Camera, Renderer, Style
from pbd_gym.rendering.batched import Rasterizer
from pbd_gym.rendering.pictures.scenes import scene_frame
from pbd_gym.scene.scene import Scene

WATER_BLOCKS = ((10, 10, 10), (10, 5, 6))
"""Particles along each side of the column of water: 1,000 and 300."""
SETTLE = 0.7
"""Time for water to fall before it is measured [s]."""


def w1(options: Options) -> Iterator[Row]:
    """32 x 32 cloth, 3,906 distance constraints: a batch on one thread and on two, and a single environment."""
    for case in sizes(options, [(64, 1), (64, 2), (1, 1)], [1024, 16384, 1]):
        yield measured("w1", hanging_cloth(), options, case)


def w2(options: Options) -> Iterator[Row]:
    """Block of 750 stable neo-Hookean tetrahedra, two constraints each."""
    for case in sizes(options, [(64, 1), (64, 2), (1, 1)], [1024, 16384]):
        row = measured("w2", hanging_block(), options, case)
        yield row
        yield Row("w2", row.what, (row.projections or 0.0) / 2.0, "tets/s")


def w3(options: Options) -> Iterator[Row]:
    """Rope of 40 particles."""
    for case in sizes(options, [(64, 1), (64, 2), (1, 1)], [1024, 16384]):
        yield measured("w3", hanging_rope(), options, case)


def w4(options: Options) -> Iterator[Row]:
    """32 x 32 towel lying folded on a floor: self-collision and friction, at rest."""
    scene = towel()
    for case in sizes(options, [(64, 1), (64, 2)], [1024, 16384]):
        yield measured("w4", scene, options, case, settle=2.0, start=folded(scene))


def w5(options: Options) -> Iterator[Row]:
    """One cloth of 256 x 256 particles, 260,610 distance constraints; on CUDA one of millions, and both schedules."""
    for case in sizes(options, [(1, 1)], [1]):
        if not options.is_cuda:
            yield measured("w5", hanging_cloth(256), options, case, settle=0.1)
            continue
        for particles in (256, 1024):
            scene = hanging_cloth(particles)
            for schedule in ("colors", "block"):
                engine = Engine(scene, case[0], options.device, schedule=schedule)
                engine.run(0.1)
                what = f"{particles} x {particles} particles, schedule {schedule}"
                yield engine.row("w5", measure(engine.step, options.repeats), what)


def w6(options: Options) -> Iterator[Row]:
    """Water of 1,000 and of 300 particles at rest in a tank, four sweeps a substep."""
    for block in WATER_BLOCKS:
        scene = tank(block)
        for num_envs, threads in sizes(options, [(32, 1), (32, 2)], [1024, 4096]):
            engine = Engine(scene, num_envs, options.device, threads)
            engine.run(SETTLE)
            positions, duration = engine.state.get_positions()[0], measure(engine.step, options.repeats)
            yield Row("w6", f"{scene.particle_count:,} particles, {engine.what}",
                      num_envs * scene.particle_count * SUBSTEPS / duration.median, "particle steps/s", duration.spread,
                      level=level(positions), compression=compression(scene, positions))  # fmt: skip


def lanes(options: Options) -> Iterator[Row]:
    """W1 for one group of each lane count, on which the choice of lanes is based."""
    for count in LANE_COUNTS:
        engine = Engine(hanging_cloth(), count, options.device, lanes=count)
        yield engine.row("lanes", measure(engine.step, options.repeats), f"L = {count}")


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


def startup(options: Options) -> Iterator[Row]:
    """Import, and the first step in a fresh process with and without compiled kernels."""

    def run(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        return time.perf_counter() - start

    bare = float(np.median([run("pass") for _ in range(options.repeats)]))
    imports = float(np.median([run("import pbd_gym") for _ in range(options.repeats)]))
    yield Row("startup", "import pbd_gym", imports - bare, "s")
    first = (
        "import tempfile, warp as wp, gymnasium as gym, pbd_gym\n"
        "{cache}"
        f"env = gym.make('PBDCloth-v0', device={options.device!r})\n"
        "env.reset(seed=0); env.step(env.action_space.sample())"
    )
    yield Row("startup", "first step, kernels compile", run(first.format(
        cache="wp.config.kernel_cache_dir = tempfile.mkdtemp()\n")), "s")  # fmt: skip
    run(first.format(cache=""))
    yield Row("startup", "first step, later starts", run(first.format(cache="")), "s")


def pictures(options: Options) -> Iterator[Row]:
    """Pictures of 512 x 512 pixels for people: a 32 x 32 cloth of 1,922 triangles over the ground, one thread."""
    scene = hanging_cloth()
    scene.add_collider(Plane((0.0, 1.0, 0.0), float(scene.positions[:, 1].min()) - 0.3))
    engine = Engine(scene, 1, "cpu")
    engine.run(1.0)
    frame = scene_frame(scene, engine.state.get_positions()[0])
    renderer = Renderer("rgb_array", (512, 512))
    for what, style in (("smooth edges", Style()), ("one point a pixel", Style(antialias=False))):
        renderer.style = style
        found = measure(lambda: renderer.draw(frame), options.repeats)
        yield Row("pictures", what, 1.0 / found.median, "pictures/s", found.spread)
        yield Row("pictures", f"{what}, in processor time", 1.0 / found.cpu, "pictures/s")


def pixels(options: Options) -> Iterator[Row]:
    """Pictures of 64 x 64 pixels of a 16 x 16 cloth of 450 triangles that has been hanging for a second."""
    for num_envs, threads in sizes(options, [(64, 1), (64, 2)], [1024, 4096]):
        engine = Engine(hanging_cloth(16), num_envs, options.device, threads)
        engine.run(1.0)
        camera = Camera.fit(engine.scene.positions.min(axis=0), engine.scene.positions.max(axis=0), yaw=0.4)
        for images in (("rgb",), ("rgb", "depth")):
            rasterizer = Rasterizer(engine.model, [camera], (64, 64), images, threads=threads)

            def draw(rasterizer: Rasterizer = rasterizer, engine: Engine = engine) -> None:
                rasterizer.draw(engine.state)
                wp.synchronize_device(engine.model.device)

            found = measure(draw, options.repeats)
            what = f"{' and '.join(images)}, {num_envs:,} environments, {threads} thread{'s'[: threads > 1]}"
            yield Row("pixels", what, num_envs / found.median, "pictures/s", found.spread)
