"""Collider shapes. Each module owns one shape: its dataclass, its numbers for the kernel and its signed distance.

To add a shape: write a module with a :class:`Solid` that has a ``mesh()`` to draw, ``SWEPT``, ``row`` and
``make_distance`` like :mod:`pbd_gym.colliders.capsule`, and name it in :data:`SHAPES`. Contacts, friction, restitution,
poses and the sweeping of fast particles follow from these.
"""

from pbd_gym.colliders import box, capsule, cylinder, mesh, plane, sphere
from pbd_gym.colliders.box import Box
from pbd_gym.colliders.capsule import Capsule
from pbd_gym.colliders.cylinder import Cylinder
from pbd_gym.colliders.mesh import MeshCollider
from pbd_gym.colliders.plane import Plane
from pbd_gym.colliders.sphere import Sphere

SHAPES = (plane, sphere, box, capsule, cylinder, mesh)
"""Modules of the collider shapes, in the order in which contacts are resolved."""

Collider = Plane | Sphere | Box | Capsule | Cylinder | MeshCollider

__all__ = ["SHAPES", "Box", "Capsule", "Collider", "Cylinder", "MeshCollider", "Plane", "Sphere"]
