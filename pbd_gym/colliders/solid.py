"""Base of all collider shapes: surface properties and motion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.runtime.checks import LARGEST, number, reals, shaped

Point = tuple[float, float, float]
Mesh = tuple[np.ndarray, np.ndarray]
"""Vertices [m], shape (v, 3), float64, and outward triangles, shape (t, 3), int64."""


@dataclass(frozen=True, kw_only=True)
class Solid:
    """A solid obstacle; a shape adds its sizes.

    A touching particle sticks while the force needed is below ``static_friction`` times the normal force, and
    slides against ``friction`` times the normal force otherwise (Coulomb). The same holds for a rigid body as a whole.
    The particles of a soft body each follow the force on them at that moment: on a slope such a body begins to slide
    between the two coefficients.
    """

    friction: float = 0.5
    """Kinetic Coulomb coefficient."""
    static_friction: float | None = None
    """Static Coulomb coefficient, not below ``friction``; equal to it by default."""
    restitution: float = 0.0
    """Share of the normal speed that an impact gives back, 0 to 1."""
    surface_velocity: Point | None = None
    """Velocity with which the surface moves along itself while the shape stays, like a conveyor belt [m/s]; none by
    default.

    It is given in world axes and turns with a moving collider. Friction acts on the slip relative to it.
    The part along the normal of the surface does nothing.
    """

    def check_surface(self) -> None:
        """Check the numbers of the surface, and complete them.

        Raises:
            TypeError: for anything but numbers.
            ValueError: for a friction that is negative or above 1e6, a static one below the kinetic one, a restitution
                out of range, a surface velocity that is not of shape (3,), or a number that is not finite.
        """
        static = self.friction if self.static_friction is None else self.static_friction
        number("friction", self.friction, 0.0, LARGEST)
        if number("static_friction", static, 0.0, LARGEST) < self.friction:
            raise ValueError(f"static_friction must not be below friction, got {static} < {self.friction}")
        number("restitution", self.restitution, 0.0, 1.0)
        object.__setattr__(self, "static_friction", static)
        if self.surface_velocity is not None:
            velocity = shaped("surface_velocity", self.surface_velocity, (3,))
            object.__setattr__(self, "surface_velocity", tuple(velocity.tolist()))

    def turned_velocity(self, turn: ArrayLike) -> Any:
        """Return the surface velocity [m/s] after a rotation, shape (3, 3), or None if there is none."""
        if self.surface_velocity is None:
            return None
        return tuple((np.asarray(turn) @ self.surface_velocity).tolist())

    @property
    def origin(self) -> np.ndarray:
        """Point that a pose places and that a rotation leaves in place [m], shape (3,)."""
        raise NotImplementedError

    def mesh(self) -> Mesh:
        """Return vertices and outward triangles to draw and to export."""
        raise NotImplementedError

    @property
    def convex(self) -> bool:
        """Whether the shape is convex.

        Pictures of concave meshes take longer: their triangles are sorted one by one.
        """
        return True

    @property
    def half_thickness(self) -> float:
        """Largest depth of a particle at which the side it came through is still the nearest [m]."""
        raise NotImplementedError

    @property
    def spine(self) -> np.ndarray | None:
        """Ends of a segment in its inside that a line or surface crosses on its way through the shape [m], shape
        (2, 3), or None if there is none.
        """
        return None

    @property
    def bend_radius(self) -> float:
        """Radius of the arc on which a line that lies on the shape goes round it [m]: 0 for one with edges."""
        return 0.0

    @property
    def slack(self) -> float:
        """Largest distance off the surface at which a push may leave a particle, besides rounding [m]."""
        return 0.0

    @property
    def reach(self) -> float:
        """Distance from the surface up to which distances are known [m]; the contact radius must not be larger."""
        return math.inf

    def moved(self, origin: ArrayLike, turn: ArrayLike) -> Any:
        """Return a copy of the shape in another place.

        Args:
            origin: new place of :attr:`origin` [m], shape (3,).
            turn: rotation relative to the current orientation, in world axes, shape (3, 3).
        """
        raise NotImplementedError

    def signed_distance(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance of points from the surface, in NumPy.

        Args:
            points: [m], shape (n, 3).

        Returns:
            distance: [m], shape (n,), float64, negative inside.
            normal: outward unit normals at the nearest point of the surface, shape (n, 3), float64.
        """
        raise NotImplementedError


def inner_part(ends: np.ndarray, margin: float) -> np.ndarray:
    """Return a segment that is shorter by a margin at both ends [m], shape (2, 3); at least a point in its middle."""
    middle, half = ends.mean(axis=0), (ends[1] - ends[0]) / 2
    share = max(0.0, 1.0 - margin / float(np.linalg.norm(half)))
    return np.stack([middle - share * half, middle + share * half])


def check_rotation(name: str, rotation: ArrayLike) -> np.ndarray:
    """Return a rotation matrix, shape (3, 3), orthogonal to the last bits.

    Raises:
        ValueError: if it is not one to 1e-6.
    """
    turn = reals(f"the rotation of {name}", rotation).astype(np.float64)
    if turn.shape != (3, 3) or not np.isfinite(turn).all():
        raise ValueError(f"{name} needs a finite rotation matrix (3, 3), got {turn.tolist()}")
    if np.abs(turn @ turn.T - np.eye(3)).max() > 1e-6 or np.linalg.det(turn) < 0.0:
        raise ValueError(f"{name} needs a rotation: orthonormal and right-handed, got {turn.tolist()}")
    for _ in range(2):  # a matrix rounded to float32 becomes a rotation to the last bits; a rotation stays
        turn = 1.5 * turn - 0.5 * turn @ turn.T @ turn
    return turn


def matrix_of(orientation: ArrayLike) -> np.ndarray:
    """Return the rotation matrix, shape (3, 3), of a quaternion (x, y, z, w) of any non-zero length."""
    x, y, z, w = np.asarray(orientation, dtype=np.float64) / np.linalg.norm(orientation)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
