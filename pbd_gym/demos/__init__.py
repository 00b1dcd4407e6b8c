"""Demonstrations: small interactive simulations, each of which teaches one thing.

To add one, write a subclass of :class:`pbd_gym.demos.demo.Demo` (or ``SceneDemo``, or ``PlaneDemo``) in a file of its
theme, with a docstring that says what it teaches and names its sources, and a line in :data:`DEMOS`.
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

    theme: str
    """One of :data:`THEMES`; also its folder."""
    name: str
    kind: str
    """Module and class; a string, so that nothing is imported before it is needed."""
    summary: str
    """One line on what the demonstration shows."""


THEMES = {
    "cloth": "one sheet under several methods",
    "soft": "soft bodies, materials and strains",
    "motion": "integrators, pendulums, particles, rigid bodies",
    "fluids": "fluids of particles, their sums, and diffusion",
    "optimization": "roots and minima by Newton's method",
    "geometry": "distances, coordinates, neighbours",
}
"""Subject of each theme, by its name."""

DEMOS = (
    Entry("cloth", "cloth", "cloth:ClothDemo", "XPBD cloth that hangs in the wind, is dragged, and falls down"),
    Entry("cloth", "pbd-cloth", "cloth:PBDClothDemo", "the same under PBD: rigid constraints, solved in part"),
    Entry("cloth", "mass-spring", "mass_spring:MassSpringDemo", "the same of springs, which explode at long steps"),
    Entry("cloth", "impulses", "impulses:ImpulsesDemo", "the same by impulses that look one step ahead"),
    Entry("cloth", "yardsticks", "yardsticks:YardsticksDemo", "implicit Euler solved for all rods at once, four ways"),
    Entry("soft", "soft-body", "soft_body:SoftBodyDemo", "edges and volumes: a soft body falls and is kicked"),
    Entry("soft", "shape-matching", "shape_matching:ShapeMatchingDemo", "loose particles that come back to a shape"),
    Entry("soft", "region-shape-matching", "shape_matching:RegionDemo", "regions that overlap: it bends, too"),
    Entry("soft", "materials", "materials:MaterialsDemo", "FEM materials, bent, crushed flat, and back"),
    Entry("soft", "fem", "fem:FEMDemo", "sheets of the same materials in the plane, classical explicit FEM"),
    Entry("soft", "deformation", "deformation:DeformationDemo", "deformation gradient and strains of a triangle"),
    Entry("motion", "throw", "integrators:ThrowDemo", "Euler's methods and RK2 beside the exact parabola"),
    Entry("motion", "spring-damper", "integrators:SpringDamperDemo", "four integrators of a damped spring"),
    Entry("motion", "integrators", "integrators:IntegratorsDemo", "Euler's methods, RK2 and the exact motion"),
    Entry("motion", "double-pendulum", "double_pendulum:DoublePendulumDemo", "two rods, their energy and a trace"),
    Entry("motion", "fountain", "emitters:FountainDemo", "emitters, bounces and lifetimes of free particles"),
    Entry("motion", "rotating-bodies", "emitters:RotatingBodiesDemo", "an emitter of squares that turn"),
    Entry("motion", "rigid", "rigid:RigidDemo", "a chain, and a cup that a ball on a rope knocks over"),
    Entry("motion", "rigid-boxes", "rigid_boxes:RigidBoxesDemo", "boxes on a floor by impulses and penalties"),
    Entry("fluids", "sph-fluids", "sph_fluids:FluidsDemo", "water by WCSPH, PBF, IISPH and DFSPH side by side"),
    Entry("fluids", "dam-break", "dam_break:DamBreakDemo", "water falls into a tank and round a post, in 3D"),
    Entry("fluids", "sph-kernels", "sph_sums:KernelsDemo", "smoothing kernels, their gradients and Laplacians"),
    Entry("fluids", "sph-approximation", "sph_sums:ApproximationDemo", "a function from samples along a line"),
    Entry("fluids", "sph-gradient", "sph_sums:GradientDemo", "its gradient, plain and corrected"),
    Entry("fluids", "heat", "heat:HeatDemo", "diffusion in a plate, and the step at which it explodes"),
    Entry("optimization", "newton-roots", "newton_ways:RootsDemo", "tangents that lead to a root"),
    Entry("optimization", "newton-minimum", "newton_ways:MinimumDemo", "parabolas and a line search, to a minimum"),
    Entry("optimization", "newton-plane", "newton_ways:SurfaceDemo", "ways down a landscape, three of them"),
    Entry("optimization", "newton-saddle", "newton_ways:SaddleDemo", "out of a saddle by clamped curvatures"),
    Entry("geometry", "sdf", "sdf:SDFDemo", "particles or cloths fall on solids given by signed distances"),
    Entry("geometry", "sdf-field", "sdf:FieldDemo", "the field of a signed distance, normals, closest points"),
    Entry("geometry", "barycentric", "barycentric:BarycentricDemo", "a point as a weighted mean of three corners"),
    Entry("geometry", "neighbours", "neighbours:NeighboursDemo", "which particles are near the one under the mouse"),
)


def find(name: str) -> type[Demo]:
    """Return the class of a demonstration.

    Raises:
        ValueError: for an unknown name; the message suggests the closest.
    """
    for entry in DEMOS:
        if entry.name == name:
            module, kind = entry.kind.split(":")
            found: type[Demo] = getattr(importlib.import_module(f"pbd_gym.demos.{entry.theme}.{module}"), kind)
            return found
    names = [entry.name for entry in DEMOS]
    close = difflib.get_close_matches(name, names, 1, cutoff=0.3)
    raise ValueError(f"no demonstration {name!r}; did you mean {(close or names)[0]!r}?")
