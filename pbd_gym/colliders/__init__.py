"""Collider shapes. Each module owns one shape: its dataclass, its Warp table and its signed distance.

To add a shape: write a module with ``NAME``, a dataclass, ``table_type``, ``fill_table`` and ``make_contact`` like
:mod:`pbd_gym.colliders.sphere`, and name it in :data:`SHAPES`.
"""

from pbd_gym.colliders import plane, sphere
from pbd_gym.colliders.plane import Plane
from pbd_gym.colliders.sphere import Sphere

SHAPES = (plane, sphere)
"""Modules of the collider shapes, in the order in which contacts are resolved."""

Collider = Plane | Sphere

__all__ = ["SHAPES", "Collider", "Plane", "Sphere"]
