"""``pbd-gym doctor``: what is installed, what it runs on, and how to install what is missing."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pbd_gym
from pbd_gym.runtime.extras import DISTRIBUTION, install_hint

_REQUIREMENT = re.compile(r"^([\w.-]+)(?:\[([^\]]*)\])?[^;]*(?:;(.*))?$")
_EXTRA = re.compile(r"""^\s*extra\s*==\s*['"]([\w.-]+)['"]\s*$""")


def installed(name: str) -> str | None:
    """Return the version of a distribution, or None."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def requirements(distribution: str = DISTRIBUTION, extra: str | None = None) -> list[str]:
    """Return the distributions that an installed one, or one of its extras, requires.

    They are read from its metadata. Extras of extras are followed, as in ``pbd-gym[render]`` or ``minari[hdf5]``;
    requirements under any other condition, such as a Python version, are left out.

    Raises:
        importlib.metadata.PackageNotFoundError: if the distribution is not installed.
    """
    return list(dict.fromkeys(_required(distribution, extra)))


def _required(distribution: str, extra: str | None) -> Iterator[str]:
    for line in importlib.metadata.requires(distribution) or ():
        match = _REQUIREMENT.match(line.strip())
        if match is None:
            continue
        name, extras, marker = match.groups()
        condition = _EXTRA.match(marker or "")
        if (condition.group(1) if condition else marker) != extra:
            continue
        if name != distribution:
            yield name
        if name == distribution or installed(name) is not None:
            for inner in filter(None, (part.strip() for part in (extras or "").split(","))):
                yield from _required(name, inner)


def extras() -> list[str]:
    """Return the extras of pbd-gym, as its metadata lists them.

    Raises:
        importlib.metadata.PackageNotFoundError: if pbd-gym itself is not installed.
    """
    return importlib.metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or []


def cpu_name() -> str:
    """Return the processor's name, and whether it has AVX-512."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        return platform.processor() or platform.machine()
    fields = dict(reversed([(k.strip(), v.strip()) for k, _, v in (line.partition(":") for line in lines)]))
    wide = "AVX-512" if "avx512f" in fields.get("flags", "") else "no AVX-512"
    return f"{fields.get('model name', platform.machine())}, {os.cpu_count()} cores, {wide}"


def packages() -> bool:
    """Print what is installed and what is missing. Returns whether everything that pbd-gym requires is installed."""
    try:
        required = requirements()
    except importlib.metadata.PackageNotFoundError:  # it runs from a folder that is on the path
        print(
            f"packages  {DISTRIBUTION} runs from a folder: after {install_hint()} this tells which extras are missing"
        )
        return True
    for name in required:
        print(f"{name:10}{installed(name) or f'MISSING: {install_hint()}'}")
    for extra in extras():
        missing = [name for name in requirements(extra=extra) if installed(name) is None]
        state = f"missing {', '.join(missing)}: {install_hint(extra)}" if missing else "complete"
        print(f"[{extra}]".ljust(10) + state)
    return all(installed(name) is not None for name in required)


def main() -> int:
    """Print the report. Returns 0 if an environment ran, else 1."""
    print(f"pbd-gym   {pbd_gym.__version__}\nPython    {platform.python_version()}\nCPU       {cpu_name()}")
    if not packages():
        return 1

    import gymnasium as gym
    import warp as wp

    from pbd_gym.runtime.messages import start_warp

    start_warp()
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
