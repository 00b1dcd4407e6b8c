"""One sample of every collider shape, by the name of its module.

A new shape adds its line to :data:`SAMPLES`; test_every_shape.py and test_motion.py then hold it to what every shape
must keep: distances, poses, contacts, sweeping, pictures and files.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from pbd_gym.colliders import SHAPES, Box, Capsule, Cylinder, MeshCollider, Plane, Sphere
from pbd_gym.colliders.solid import Solid
from pbd_gym.geometry import tetmeshes
from tests.colliders.helpers import rotation

TURN = rotation(np.random.default_rng(1))
MIDDLE = (0.1, 0.2, 0.3)


@dataclass(frozen=True)
class Sample:
    """A collider about 0.3 m in size round :data:`MIDDLE`."""

    shape: Any
    error: float = 1e-12
    """How far the kernel's distances may be from those in NumPy, in double precision [m]."""
    closed: bool = True
    """Whether it has an inside that ends, and a mesh; a half-space has neither."""
    convex: bool = True


_TORUS = tetmeshes.torus(0.25, 0.1, 16, 2)
_RING = MeshCollider(_TORUS.positions, _TORUS.triangles, MIDDLE, TURN, cell=0.01, margin=0.06)

SAMPLES: dict[str, Sample] = {
    "plane": Sample(Plane((0.2, 1.0, -0.1), 0.3), closed=False),
    "sphere": Sample(Sphere(MIDDLE, 0.3)),
    "box": Sample(Box(MIDDLE, (0.3, 0.2, 0.1), tuple(map(tuple, TURN)))),
    "capsule": Sample(Capsule((-0.2, 0.1, 0.3), (0.3, 0.2, 0.1), 0.15)),
    "cylinder": Sample(Cylinder((-0.2, 0.1, 0.3), (0.3, 0.2, 0.1), 0.15), error=1e-9),
    # Interpolated between samples on a grid of 1 cm.
    "mesh": Sample(_RING, error=4e-3, convex=False),
}


def name_of(module: ModuleType) -> str:
    """The last part of a module's name."""
    return module.__name__.rsplit(".", 1)[1]


def class_of(module: ModuleType) -> type[Solid]:
    """The collider that a module of :data:`pbd_gym.colliders.SHAPES` defines."""
    (found,) = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Solid) and value.__module__ == module.__name__
        if not value.__subclasses__()  # what several shapes share is none
    ]
    return found


NAMES = [name_of(module) for module in SHAPES]
"""Every shape that there is, whether it has a sample or not: one that has none fails by its name."""
CLOSED = [name for name in NAMES if name not in SAMPLES or SAMPLES[name].closed]
