"""Demonstrations: small simulations to look at and to handle, each of which teaches one thing.

To add one: a file with a subclass of :class:`pbd_gym.demos.demo.Demo` (or ``SceneDemo``), whose docstring says what it
teaches and where that comes from, and a line in :data:`DEMOS`.
"""

from __future__ import annotations

import difflib
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pbd_gym.demos.demo import Demo


@dataclass(frozen=True)
class Entry:
    """One demonstration."""

    name: str
    where: str
    """Module and class; a string, so that nothing is imported before it is wanted."""
    summary: str
    """What there is to see, in one line."""


DEMOS = (
    Entry("cloth", "pbd_gym.demos.cloth:ClothDemo", "XPBD cloth that hangs from 1, 2 or 4 particles and is dragged"),
    Entry("pbd-cloth", "pbd_gym.demos.pbd_cloth:PBDClothDemo", "the same under PBD: rigid constraints, solved in part"),
    Entry(
        "mass-spring", "pbd_gym.demos.mass_spring:MassSpringDemo", "the same of springs, which explode at long steps"
    ),
    Entry("impulses", "pbd_gym.demos.impulses:ImpulsesDemo", "the same by impulses that look one step ahead"),
    Entry("double-pendulum", "pbd_gym.demos.double_pendulum:DoublePendulumDemo", "two rods, their energy and a trace"),
    Entry("soft-body", "pbd_gym.demos.soft_body:SoftBodyDemo", "edges and volumes: a soft body falls and is kicked"),
    Entry(
        "shape-matching", "pbd_gym.demos.shape_matching:ShapeMatchingDemo", "loose particles that come back to a shape"
    ),
    Entry(
        "region-shape-matching", "pbd_gym.demos.region_shape_matching:RegionDemo", "regions that overlap: it bends, too"
    ),
    Entry("materials", "pbd_gym.demos.materials:MaterialsDemo", "beams of three FEM materials under the same load"),
    Entry("fem", "pbd_gym.demos.fem:FEMDemo", "sheets of the same materials in the plane, classical explicit FEM"),
    Entry("integrators", "pbd_gym.demos.integrators:IntegratorsDemo", "Euler's methods, RK2 and the exact motion"),
    Entry("throw", "pbd_gym.demos.throw:ThrowDemo", "Euler's methods and RK2 beside the exact parabola"),
    Entry("spring-damper", "pbd_gym.demos.spring_damper:SpringDamperDemo", "four integrators of a damped spring"),
    Entry("fountain", "pbd_gym.demos.fountain:FountainDemo", "emitters, bounces and lifetimes of free particles"),
    Entry("rotating-bodies", "pbd_gym.demos.rotating_bodies:RotatingBodiesDemo", "an emitter of squares that turn"),
    Entry("rigid-boxes", "pbd_gym.demos.rigid_boxes:RigidBoxesDemo", "boxes on a floor by impulses and penalties"),
    Entry("sdf", "pbd_gym.demos.sdf:SDFDemo", "particles or cloths fall on solids given by signed distances"),
    Entry("sph-fluids", "pbd_gym.demos.sph_fluids:FluidsDemo", "water by WCSPH, PBF, IISPH and DFSPH side by side"),
    Entry("sph-kernels", "pbd_gym.demos.sph_kernels:KernelsDemo", "smoothing kernels, their gradients and Laplacians"),
    Entry(
        "sph-approximation", "pbd_gym.demos.sph_approximation:ApproximationDemo", "a function from samples along a line"
    ),
    Entry("sph-gradient", "pbd_gym.demos.sph_gradient:GradientDemo", "its gradient, plain and corrected"),
    Entry("heat", "pbd_gym.demos.heat:HeatDemo", "diffusion in a plate, and the step at which it explodes"),
    Entry("sdf-field", "pbd_gym.demos.sdf_field:FieldDemo", "the field of a signed distance, normals, closest points"),
    Entry("deformation", "pbd_gym.demos.deformation:DeformationDemo", "deformation gradient and strains of a triangle"),
    Entry("barycentric", "pbd_gym.demos.barycentric:BarycentricDemo", "a point as a weighted mean of three corners"),
    Entry("neighbours", "pbd_gym.demos.neighbours:NeighboursDemo", "which particles are near the one under the mouse"),
)


def find(name: str) -> type[Demo]:
    """Return the class of a demonstration.

    Raises:
        ValueError: if there is none of that name; the message names the closest.
    """
    for entry in DEMOS:
        if entry.name == name:
            module, kind = entry.where.split(":")
            found: type[Demo] = getattr(importlib.import_module(module), kind)
            return found
    names = [entry.name for entry in DEMOS]
    close = difflib.get_close_matches(name, names, 1, cutoff=0.3)
    raise ValueError(f"no demonstration {name!r}; did you mean {(close or names)[0]!r}?")
