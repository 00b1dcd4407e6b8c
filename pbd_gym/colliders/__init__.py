"""Collider shapes. Each module owns one shape: its dataclass, its numbers for the kernel and its signed distance.

To add a shape: write a module with a :class:`Solid` that has a ``mesh()`` to draw, ``SWEPT``, ``row`` and
``make_distance`` like :mod:`pbd_gym.colliders.sphere`, and name the class in :data:`SOLIDS`. Contacts, friction,
restitution, poses and the sweeping of fast particles follow from these. A custom shape is such a module outside the
package, made known with :func:`register`; docs/custom_colliders.md shows one.
"""

import sys
from types import ModuleType

from pbd_gym.colliders.box import Box as Box
from pbd_gym.colliders.capsule import Capsule as Capsule
from pbd_gym.colliders.cylinder import Cylinder as Cylinder
from pbd_gym.colliders.mesh import MeshCollider as MeshCollider
from pbd_gym.colliders.plane import Plane as Plane
from pbd_gym.colliders.solid import Solid as Solid
from pbd_gym.colliders.solid import check_rotation as check_rotation
from pbd_gym.colliders.sphere import Sphere as Sphere
from pbd_gym.kernels.data.colliders import Distance as Distance
from pbd_gym.kernels.data.colliders import table_type as table_type
from pbd_gym.kernels.lanes.wide import Wide as Wide

SOLIDS = (Plane, Sphere, Box, Capsule, Cylinder, MeshCollider)
"""The package's own collider shapes, in the order in which contacts are resolved."""
SHAPES = tuple(sys.modules[solid.__module__] for solid in SOLIDS)
"""Modules of the shapes in :data:`SOLIDS`."""

__all__ = ["SHAPES", "SOLIDS", "Distance", "Solid", "Wide", "check_rotation", "register", "shapes", "table_type"]
__all__ += [solid.__name__ for solid in SOLIDS]

_registered: dict[str, ModuleType] = {}


def shapes() -> tuple[ModuleType, ...]:
    """Return the modules of all shapes, in the order in which contacts are resolved; registered shapes come last."""
    return (*SHAPES, *_registered.values())


def register(module: str) -> None:
    """Make a custom shape known to :meth:`pbd_gym.scene.scene.Scene.add_collider`.

    Args:
        module: name of the module that has the shape's subclass of :class:`Solid`, and ``SWEPT``, ``row`` and
            ``make_distance``; the module itself says ``register(__name__)`` at its end. Repeating this is harmless.

    Raises:
        ValueError: if no module of that name is imported, or it lacks one of these.
    """
    found = sys.modules.get(module)
    if found is None:
        raise ValueError(f"no module {module!r} is imported")
    missing = [name for name in ("SWEPT", "row", "make_distance") if not hasattr(found, name)]
    solids = [value for value in vars(found).values() if isinstance(value, type) and issubclass(value, Solid)]
    if not [solid for solid in solids if solid.__module__ == module]:
        missing.append("a subclass of Solid")
    if missing:
        raise ValueError(f"the collider shape {module} lacks {', '.join(missing)}")
    if found not in SHAPES:
        _registered[module] = found
