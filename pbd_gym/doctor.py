"""``pbd-gym doctor``: what is installed, what it runs on, and how to get what is missing."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from pathlib import Path

import pbd_gym

REQUIRED = ("numpy", "gymnasium", "warp-lang")
EXTRAS = {
    "render": ("pygame", "pygame-menu", "pillow"),
    "mesh": ("trimesh", "meshio"),
    "train": ("stable-baselines3", "torch", "tqdm", "rich", "tensorboard", "matplotlib", "moviepy", "tyro"),
    "export": ("trimesh", "usd-core", "rerun-sdk"),
    "data": ("minari", "h5py"),
    "dev": ("pytest", "hypothesis", "scipy", "ruff", "mypy", "capstone"),
}


def installed(name: str) -> str | None:
    """Return the version of a distribution, or None."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def cpu_name() -> str:
    """Return the processor's name, and whether it has AVX-512."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        return platform.processor() or platform.machine()
    fields = dict(reversed([(k.strip(), v.strip()) for k, _, v in (line.partition(":") for line in lines)]))
    wide = "AVX-512" if "avx512f" in fields.get("flags", "") else "no AVX-512"
    return f"{fields.get('model name', platform.machine())}, {os.cpu_count()} cores, {wide}"


def main() -> int:
    """Print the report. Returns 0 if an environment ran, else 1."""
    print(f"pbd-gym   {pbd_gym.__version__}\nPython    {platform.python_version()}\nCPU       {cpu_name()}")
    for name in REQUIRED:
        print(f"{name:10}{installed(name) or 'MISSING: pip install pbd-gym'}")
    for extra, names in EXTRAS.items():
        missing = [name for name in names if installed(name) is None]
        state = f"missing {', '.join(missing)}: pip install 'pbd-gym[{extra}]'" if missing else "complete"
        print(f"[{extra}]".ljust(10) + state)
    if any(installed(name) is None for name in REQUIRED):
        return 1

    import gymnasium as gym
    import warp as wp

    from pbd_gym.runtime.compile_messages import compiling

    with compiling():
        wp.init()
    cuda = [device.name for device in wp.get_cuda_devices()]
    print(f"GPU       {', '.join(cuda) or 'none that Warp can use (an NVIDIA driver is needed); the CPU is used'}")
    print("compiling and running PBDCloth-v0 (a few seconds the first time) ...", flush=True)
    start = time.perf_counter()
    env = gym.make("PBDCloth-v0")
    env.reset(seed=0)
    _, reward, *_ = env.step(env.action_space.sample())
    print(f"          ran in {time.perf_counter() - start:.1f} s, reward {float(reward):.3f}: all is well")
    env.close()
    return 0
