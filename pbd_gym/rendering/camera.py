"""A perspective camera that circles a target. Pixels are (x, y) from the top left corner, y down."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pbd_gym.runtime.checks import number, shaped

Size = tuple[int, int]

NEAR = 0.01
"""Smallest depth at which points are drawn [m]."""
PITCH_LIMIT = 1.55
"""Largest pitch [rad], slightly below a quarter turn: at the pole "up" would have no direction."""
_MARGIN = 1.12  # room left around a box that a camera is fitted to


@dataclass
class Camera:
    """A camera that looks at ``target`` from ``distance`` away.

    :meth:`orbit`, :meth:`zoom` and :meth:`pan` change it in place.

    Raises:
        TypeError: for anything but numbers.
        ValueError: if the distance or the field of view is out of range, or a number is not finite.
    """

    target: np.ndarray = field(default_factory=lambda: np.zeros(3))
    """Point in the middle of the picture [m], shape (3,)."""
    distance: float = 3.0
    """Distance from the eye to the target [m]."""
    yaw: float = 0.45
    """Rotation about the vertical [rad]; 0 looks along -z, a positive angle moves the eye towards +x."""
    pitch: float = 0.24
    """Elevation of the eye above the target [rad]."""
    fov: float = 0.6
    """Field of view across the shorter side of the picture [rad]."""

    def __post_init__(self) -> None:
        self.target = shaped("the target of a camera", self.target, (3,))
        number("the yaw of a camera", self.yaw)
        number("the pitch of a camera", self.pitch)
        number("the distance of a camera", self.distance, positive=True)
        if not 0.0 < number("the fov of a camera", self.fov) < np.pi:
            raise ValueError(f"the fov of a camera must be above 0 and below pi, got {self.fov}")
        self.pitch = float(np.clip(self.pitch, -PITCH_LIMIT, PITCH_LIMIT))

    @classmethod
    def fit(
        cls,
        lower: np.ndarray,
        upper: np.ndarray,
        size: Size = (512, 512),
        yaw: float = 0.45,
        pitch: float = 0.24,
        fov: float = 0.6,
    ) -> Camera:
        """Return the camera that just shows the box from ``lower`` to ``upper`` [m], each of shape (3,).

        Raises:
            ValueError: if the box is not finite or ``upper`` is below ``lower``.
        """
        lower, upper = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
        if lower.shape != (3,) or upper.shape != (3,) or not np.isfinite(upper - lower).all() or (upper < lower).any():
            raise ValueError(f"a box needs finite corners of shape (3,), lower <= upper, got {lower} and {upper}")
        camera = cls((lower + upper) / 2, 1.0, yaw, pitch, fov)
        picks = np.array([[i >> k & 1 for k in range(3)] for i in range(8)], dtype=bool)
        corners = np.where(picks, upper, lower) - camera.target
        x, y, z = (corners @ camera.axes().T).T
        half = np.tan(fov / 2) / _MARGIN * np.array(size) / min(size)
        # Each corner says how far back the eye must be for it to be inside the picture.
        need = np.maximum(np.abs(x) / half[0], np.abs(y) / half[1]) - z
        camera.distance = max(float(need.max()), 0.2)
        return camera

    @classmethod
    def overview(cls, lower: np.ndarray, upper: np.ndarray, size: Size = (512, 512)) -> Camera:
        """Return the camera that shows a box [m], looking down more steeply on a flatter box.

        Raises:
            ValueError: as :meth:`fit`.
        """
        extent = np.asarray(upper, dtype=np.float64) - np.asarray(lower, dtype=np.float64)
        flatness = float(extent[1] / max(extent[0], extent[2], 1e-9))
        return cls.fit(lower, upper, size, pitch=float(np.clip(0.75 - 0.5 * flatness, 0.24, 0.7)))

    def axes(self) -> np.ndarray:
        """Return the directions right, up and forward as the rows of a (3, 3) array."""
        sin_yaw, cos_yaw = np.sin(self.yaw), np.cos(self.yaw)
        sin_pitch, cos_pitch = np.sin(self.pitch), np.cos(self.pitch)
        return np.array(
            [
                [cos_yaw, 0.0, -sin_yaw],
                [-sin_yaw * sin_pitch, cos_pitch, -cos_yaw * sin_pitch],
                [-sin_yaw * cos_pitch, -sin_pitch, -cos_yaw * cos_pitch],
            ]
        )

    def eye(self) -> np.ndarray:
        """Return the position of the camera [m], shape (3,)."""
        return self.target - self.distance * self.axes()[2]

    def light(self) -> np.ndarray:
        """Return the unit direction to the light, which follows the camera so that no side is left in the dark."""
        back = np.array([np.sin(self.yaw), 0.0, np.cos(self.yaw)])
        light = -0.62 * self.axes()[0] + np.array([0.0, 0.72, 0.0]) + 0.5 * back
        return light / np.linalg.norm(light)

    def focal(self, size: Size) -> float:
        """Return the focal length [pixels] of a picture of ``size`` (width, height)."""
        return float(min(size) / 2 / np.tan(self.fov / 2))

    def orbit(self, dx: float, dy: float) -> None:
        """Orbit the target as if the scene were dragged by (dx, dy) pixels (0.008 rad per pixel)."""
        self.yaw = float((self.yaw - 0.008 * dx + np.pi) % (2 * np.pi) - np.pi)
        self.pitch = float(np.clip(self.pitch + 0.008 * dy, -PITCH_LIMIT, PITCH_LIMIT))

    def zoom(self, factor: float, pixel: tuple[float, float] | None = None, size: Size = (512, 512)) -> None:
        """Magnify the target by ``factor``, by moving nearer.

        Args:
            factor: magnification, above 0.
            pixel: pixel that keeps showing the same point at the target's depth; the middle of the picture by default.
            size: width and height of the picture [pixels].

        Raises:
            ValueError: unless ``factor`` is positive and finite.
        """
        if not (np.isfinite(factor) and factor > 0):
            raise ValueError(f"a zoom factor must be positive and finite, got {factor}")
        before = None if pixel is None else self.unproject(pixel, self.distance, size)
        self.distance = float(np.clip(self.distance / factor, 0.05, 1e4))
        if pixel is not None:
            self.target = self.target + before - self.unproject(pixel, self.distance, size)

    def pan(self, dx: float, dy: float, size: Size = (512, 512)) -> None:
        """Shift the target so that points at its depth move by (dx, dy) pixels."""
        right, up, _ = self.axes()
        self.target = self.target + (up * dy - right * dx) * (self.distance / self.focal(size))

    def stay_above(self, normal: np.ndarray, offset: float) -> None:
        """Move the target out of the ground n . x < offset, and raise the eye until it is above it, too.

        Half-spaces that do not lie below, such as walls, have no effect.

        Args:
            normal: unit normal of the ground, shape (3,).
            offset: offset along the normal [m].
        """
        if normal[1] < 0.5:
            return
        self.target = self.target + max(offset - float(normal @ self.target), 0.0) * np.asarray(normal)
        # Above the target by distance (up sin(pitch) + back cos(pitch)), which is to be at least ``need``.
        up, back = normal[1], normal[0] * np.sin(self.yaw) + normal[2] * np.cos(self.yaw)
        need = 0.02 - (float(normal @ self.target) - offset) / self.distance
        lowest = np.arcsin(max(need / np.hypot(up, back), -1.0)) - np.arctan2(back, up)
        if need > -np.hypot(up, back) and self.pitch < lowest:
            self.pitch = float(min(lowest, PITCH_LIMIT))

    def project(self, points: np.ndarray, size: Size) -> tuple[np.ndarray, np.ndarray]:
        """Project points [m], shape (n, 3), to a picture of ``size`` (width, height).

        Returns:
            pixels: shape (n, 2), NaN for points that are not in front of the eye.
            depth: distance along the direction of view [m], shape (n,), negative behind the eye.
        """
        x, y, depth = self.axes() @ (np.asarray(points, dtype=np.float64).reshape(-1, 3) - self.eye()).T
        scale = self.focal(size) / np.where(depth > NEAR, depth, np.nan)
        return np.stack([size[0] / 2 + x * scale, size[1] / 2 - y * scale], axis=1), depth

    def unproject(self, pixel: tuple[float, float] | np.ndarray, depth: float, size: Size) -> np.ndarray:
        """Return the point [m], shape (3,), seen at ``pixel`` at a depth of ``depth`` metres."""
        right, up, forward = self.axes()
        focal = self.focal(size)
        slope = right * (pixel[0] - size[0] / 2) / focal - up * (pixel[1] - size[1] / 2) / focal + forward
        return self.eye() + slope * depth

    def ray(self, pixel: tuple[float, float] | np.ndarray, size: Size) -> tuple[np.ndarray, np.ndarray]:
        """Return the eye [m] and the unit direction of the ray through ``pixel``, each of shape (3,)."""
        origin = self.eye()
        direction = self.unproject(pixel, 1.0, size) - origin
        return origin, direction / np.linalg.norm(direction)
