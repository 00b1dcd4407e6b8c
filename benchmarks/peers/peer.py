"""Other engines on the scenes of W1 and W6: what each of them is to the comparison, and the scene as they want it."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from pbd_gym.colliders import Plane
from pbd_gym.scene.scene import Scene

MODULES = {
    "genesis": "genesis",
    "newton": "newton",
    "newton-vbd": "newton",
    "splishsplash": "pysplishsplash",
    "splishsplash-dfsph": "pysplishsplash",
    "taichi": "taichi",
}
"""What has to be installed by hand for a peer."""


@dataclass(frozen=True)
class Peer:
    """An engine that is set up for a scene."""

    what: str
    """Name and version."""
    step: Callable[[], object]
    """Does one control step of all environments, and waits for its end."""
    positions: Callable[[], np.ndarray]
    """Positions of the first environment [m], shape (n, 3)."""
    projects: bool = True
    """Whether it solves each constraint once per substep, as W1 does."""
    alone: bool = False
    """Whether it steps one environment, however many were asked for."""


def require(names: Iterable[str]) -> None:
    """Refuse peers that are not installed, before minutes of measuring. Nothing is imported, which takes some seconds.

    Raises:
        ModuleNotFoundError: for one; its ``name`` is the module.
    """
    for name in names:
        module = MODULES.get(name)
        if module is not None and importlib.util.find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def maker(path: str) -> Callable[[Scene, int, str], Peer]:
    """Return the function ``(scene, num_envs, device) -> Peer`` of a path ``module:function``."""
    module, _, function = path.partition(":")
    return getattr(importlib.import_module(module), function)


@dataclass(frozen=True)
class Swung:
    """An engine that is set up for a cloth in moving hands."""

    what: str
    """Name and version."""
    step: Callable[[np.ndarray, float], object]
    """Does one control step of so many seconds, in which the hands move by a vector [m], and waits for its end."""
    positions: Callable[[], np.ndarray]
    """Positions of the first environment [m], shape (n, 3)."""


@dataclass(frozen=True)
class Springs:
    """A scene of springs and pins in arrays, as other engines want it."""

    positions: np.ndarray
    """[m], shape (n, 3), float32."""
    inv_mass: np.ndarray
    """[1/kg], shape (n,), float32."""
    pairs: np.ndarray
    """Shape (m, 2), int32."""
    rest_length: np.ndarray
    """[m], shape (m,), float32."""
    compliance: np.ndarray
    """[m/N], shape (m,), float32."""
    gravity: np.ndarray
    """[m/s^2], shape (3,), float32."""


def springs(scene: Scene) -> Springs:
    """Take a scene of distance constraints apart."""
    batch = scene.constraints["distance"]
    rest_length, compliance = (np.concatenate(batch.values[name]) for name in ("rest_length", "compliance"))
    return Springs(
        scene.positions.astype(np.float32),
        scene.inv_mass.astype(np.float32),
        np.concatenate(batch.indices).astype(np.int32),
        rest_length.astype(np.float32),
        compliance.astype(np.float32),
        scene.gravity.astype(np.float32),
    )


def walls(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Return the box that the planes of a scene enclose.

    Returns:
        Lower and upper corner [m], shape (3,), float64; infinite on a side that is open.

    Raises:
        ValueError: for another collider, or a plane that is not upright or level.
    """
    lower, upper = np.full(3, -np.inf), np.full(3, np.inf)
    for collider in scene.colliders:
        if not isinstance(collider, Plane) or np.abs(collider.normal).max() != 1.0:
            raise ValueError(f"a tank is made of planes that are upright or level, got {collider}")
        axis = int(np.abs(collider.normal).argmax())
        if collider.normal[axis] > 0.0:
            lower[axis] = max(lower[axis], collider.offset)
        else:
            upper[axis] = min(upper[axis], -collider.offset)
    return lower, upper


def closed_walls(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Return the box that the planes of a scene enclose, as :func:`walls` does, with a lid on sides that are open.

    It is three times as far up as the particles, where nothing splashes.
    """
    lower, upper = walls(scene)
    return lower, np.where(np.isfinite(upper), upper, 3.0 * scene.positions.max(axis=0))
