"""pbd_gym: Gymnasium environments of cloth, ropes and soft bodies, simulated by XPBD in NVIDIA Warp kernels.

Importing this package registers the environment ids. It is cheap: Warp, pygame and torch are imported when they are
first used.
"""

import importlib
from typing import Any

from pbd_gym._version import __version__
from pbd_gym.registry import register_all

_LAZY = {
    "ClothMaterial": "pbd_gym.materials",
    "Control": "pbd_gym.solver",
    "Cord": "pbd_gym.fabrics",
    "Fabric": "pbd_gym.fabrics",
    "Model": "pbd_gym.model",
    "Plane": "pbd_gym.colliders",
    "Plasticity": "pbd_gym.materials",
    "RopeMaterial": "pbd_gym.materials",
    "Scene": "pbd_gym.scene",
    "ShapeMaterial": "pbd_gym.materials",
    "SoftMaterial": "pbd_gym.materials",
    "Solver": "pbd_gym.solver",
    "Sphere": "pbd_gym.colliders",
    "State": "pbd_gym.state",
    "memory_report": "pbd_gym.memory",
}

__all__ = [*_LAZY, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'pbd_gym' has no attribute {name!r}")


register_all()
