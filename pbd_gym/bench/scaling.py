"""Scaling benchmark.

Environment-steps per second over batch size, resolution and device, and memory per environment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import warp as wp

from pbd_gym.bench.rows import Options, Row
from pbd_gym.bench.timing import measure
from pbd_gym.runtime.threads import default_threads

RESOLUTIONS = (8, 16, 32, 64)
"""Particles along each side of the cloth."""
NUM_ENVS = (1, 4, 16, 64, 256, 1024)
NUM_ENVS_CUDA = (*NUM_ENVS, 4096, 16384, 65536)


def scaling(
    options: Options, resolutions: Sequence[int] = RESOLUTIONS, num_envs: Sequence[int] | None = None
) -> Iterator[Row]:
    """Time PBDCloth-v0 through make_vec for every size of cloth and batch, on one device or on all.

    Batches that would not fit into the free memory are left out.

    Args:
        options: ``device`` may be ``"all"``; ``num_envs`` measures that batch size alone.
        resolutions: particles along each side of the cloth.
        num_envs: batch sizes; by default up to 1,024 on a CPU and 65,536 on a GPU.
    """
    devices = [device.alias for device in wp.get_devices()] if options.device == "all" else [options.device]
    for device in devices:
        default = NUM_ENVS_CUDA if device.startswith("cuda") else NUM_ENVS
        counts = [options.num_envs] if options.num_envs else num_envs or default
        for resolution in resolutions:
            for count in counts:
                row = _measured(device, resolution, count, options)
                if row is None:
                    break  # larger batches do not fit either
                yield row


def _measured(device: str, resolution: int, num_envs: int, options: Options) -> Row | None:
    """Time one batch, or return None if it does not fit."""
    extra: dict[str, Any] = {"rows": resolution, "columns": resolution, "threads": options.threads}
    if device.startswith("cuda"):
        extra["output"] = "torch"
    try:
        env: Any = gym.make_vec("PBDCloth-v0", num_envs=num_envs, device=device, **extra).unwrapped
    except MemoryError:
        return None
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = env.action_space.sample()

    def step() -> None:
        env.step(actions)
        wp.synchronize_device(env.model.device)

    duration = measure(step, options.repeats, budget=0.2)
    report = env.memory_report()
    env.close()
    threads = options.threads or default_threads()
    where = device if device.startswith("cuda") else f"{device}, {threads} thread{'s'[: threads > 1]}"
    what = f"{resolution} x {resolution}, {num_envs:,} environment{'s'[: num_envs > 1]}, {where}"
    return Row("scaling", what, num_envs / duration.median, "env-steps/s", duration.spread, device=device,
               resolution=resolution, num_envs=num_envs, memory_per_env=report.per_env)  # fmt: skip


def plot(rows: Sequence[Row], path: str, caption: str) -> None:
    """Draw speed over batch size, and memory over resolution.

    Args:
        rows: rows that :func:`scaling` returned.
        path: PNG file to write.
        caption: description of the machine.

    Raises:
        ModuleNotFoundError: if matplotlib is not installed.
        ValueError: if there is nothing to draw.
    """
    import matplotlib.figure as mpl

    found = [row for row in rows if row.workload == "scaling"]
    if not found:
        raise ValueError("a plot is of the workload scaling")
    figure = mpl.Figure(figsize=(9, 3.8), layout="constrained")
    speed, memory = figure.subplots(1, 2, width_ratios=[3, 2])
    resolutions = sorted({row.resolution or 0 for row in found})
    for device, style in zip(dict.fromkeys(row.device for row in found), ("-", "--", ":", "-."), strict=False):
        for k, resolution in enumerate(resolutions):
            line = [row for row in found if (row.device, row.resolution) == (device, resolution)]
            speed.loglog([row.num_envs for row in line], [row.value for row in line], f"o{style}", color=f"C{k}",
                         markersize=3, label=f"{resolution} x {resolution}, {device}")  # fmt: skip
        sizes = {row.resolution: row.memory_per_env for row in found if row.device == device}  # largest batch last
        memory.loglog(list(sizes), [(size or 0.0) / 1024 for size in sizes.values()], f"ko{style}", markersize=3,
                      label=device)  # fmt: skip
    speed.set(xlabel="environments in the batch", ylabel="environment-steps per second", title="PBDCloth-v0")
    memory.set(xlabel="particles along a side", ylabel="KiB per environment", title="memory")
    memory.set_xticks(resolutions, [str(resolution) for resolution in resolutions], minor=False)
    memory.minorticks_off()
    for axes in (speed, memory):
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    figure.supxlabel(caption, fontsize=6)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
