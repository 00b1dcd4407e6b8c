"""pbd_gym: Gymnasium environments of cloth, ropes and soft bodies, simulated by XPBD in NVIDIA Warp kernels.

Importing this package registers the environment ids. It is cheap: Warp, pygame and torch are imported when they are
first used.
"""

import importlib
from typing import Any

from pbd_gym._version import __version__
from pbd_gym.registry import register_all

_LAZY = {
    "ClothMaterial": "pbd_gym.materials.materials",
    "Control": "pbd_gym.sim.solver",
    "Cord": "pbd_gym.materials.fabrics",
    "Fabric": "pbd_gym.materials.fabrics",
    "Model": "pbd_gym.sim.model",
    "Plane": "pbd_gym.colliders",
    "Plasticity": "pbd_gym.materials.materials",
    "RopeMaterial": "pbd_gym.materials.materials",
    "Scene": "pbd_gym.scene.scene",
    "ShapeMaterial": "pbd_gym.materials.materials",
    "SoftMaterial": "pbd_gym.materials.materials",
    "Solver": "pbd_gym.sim.solver",
    "Sphere": "pbd_gym.colliders",
    "State": "pbd_gym.sim.state",
    "memory_report": "pbd_gym.sim.memory_report",
}

__all__ = [*_LAZY, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'pbd_gym' has no attribute {name!r}")


register_all()
