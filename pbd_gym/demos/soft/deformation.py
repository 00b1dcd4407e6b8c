"""A triangle at rest, its deformed state, and four matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.demos.options import Options, option
from pbd_gym.demos.plane import PlaneDemo, raised
from pbd_gym.demos.soft.fem import cauchy_strain, gradients, green_strain
from pbd_gym.rendering import PALETTE, Frame

REST = np.array([[-3.0, -1.5], [3.0, -1.5], [0.0, 3.5]])
"""Corners at rest [m]."""
GREY = (160, 168, 184)


@dataclass(frozen=True)
class DeformationOptions(Options):
    """A map of the triangle: shear, then scale, then rotation, then translation."""

    rotation: float = option(0.0, "counter-clockwise [degrees]", low=-180.0, high=180.0, step=15.0)
    scale_x: float = option(1.0, "along x", low=0.1, high=2.0, step=0.1)
    scale_y: float = option(1.0, "along y", low=0.1, high=2.0, step=0.1)
    shear: float = option(0.0, "x per y", low=-2.0, high=2.0, step=0.1)
    translation_x: float = option(0.0, "[m]", low=-3.0, high=3.0, step=0.5)
    translation_y: float = option(0.0, "[m]", low=-3.0, high=3.0, step=0.5)

    def matrix(self) -> np.ndarray:
        """Return the map's matrix, shape (2, 2)."""
        angle = np.radians(self.rotation)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        result: np.ndarray = turn @ np.diag([self.scale_x, self.scale_y]) @ np.array([[1.0, self.shear], [0.0, 1.0]])
        return result


class DeformationDemo(PlaneDemo[DeformationOptions]):
    """The deformation gradient of a triangle, and the strains that measure it.

    F maps edges at rest to edges now: `F = Ds Dm^-1`. Translations do not enter it, and a rotation R gives F = R. A
    strain should be zero for both. Green's, `(F^T F - I)/2`, is; Cauchy's, `(F + F^T)/2 - I`, is linear in F, cheap and
    good for small displacements only: rotate the triangle and watch it report a shrinkage that does not exist. That is
    why a linear elastic body swells when it rotates. The circle shows the effect of F on all directions: an ellipse
    whose axes are the principal stretches. Drag the corners, or set translation, rotation, scale and shear.

    Sifakis, Barbic 2012: FEM simulation of 3D deformable solids, doi:10.1145/2343483.2343501, chapter 2.
    """

    box = ((-7.0, -7.2, -0.1), (7.0, 6.0, 0.1))
    limits = ((-8.0, -8.0), (8.0, 8.0))
    max_pull = 0.5

    def start(self) -> np.ndarray:
        """Return the corners that the options describe [m], shape (3, 2)."""
        moved: np.ndarray = REST @ self.options.matrix().T + [self.options.translation_x, self.options.translation_y]
        return moved

    @property
    def gradient(self) -> np.ndarray:
        """Return F, shape (2, 2)."""
        edges = np.stack([REST[1] - REST[0], REST[2] - REST[0]], axis=1)
        found: np.ndarray = gradients(self.handles[None], np.linalg.inv(edges)[None])[0]
        return found

    def perform(self) -> None:
        """Turn the triangle, and then stretch it."""
        angle, stretch = min(self.time, 2.0) * 0.6, 0.4 * np.sin(max(self.time - 2.0, 0.0))
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        self.handles = REST @ (turn @ np.diag([1.0 + stretch, 1.0 - 0.5 * stretch])).T

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw."""
        f = self.gradient
        around = np.linspace(0.0, 2.0 * np.pi, 73)
        circle = np.stack([np.cos(around), np.sin(around)], axis=1)
        middle = self.handles.mean(axis=0)
        left, sizes, _ = np.linalg.svd(f)
        axes = [middle + size * np.outer([-1.0, 1.0], way) for size, way in zip(sizes, left.T, strict=True)]
        lines = [
            (raised(REST[[0, 1, 2, 0]]), GREY), (raised(REST.mean(axis=0) + circle), GREY),
            (raised(self.handles[[0, 1, 2, 0]]), PALETTE[0]), (raised(middle + circle @ f.T), PALETTE[1]),
            *((raised(axis), PALETTE[3]) for axis in axes),
        ]  # fmt: skip
        matrices = {
            "F": f,
            "F^T F": f.T @ f,
            "Green strain": green_strain(f[None])[0],
            "Cauchy strain": cauchy_strain(f[None])[0],
        }
        labels = []
        for k, (name, matrix) in enumerate(matrices.items()):
            place = np.array([-5.6 + 3.7 * k, -5.2, 0.0])
            labels.append((place, name))
            for row, numbers in enumerate(matrix):
                words = "   ".join(f"{value + 0.0:.3f}" for value in np.round(numbers, 3))
                labels.append((place - [0.0, 0.7 * (row + 1), 0.0], words))
        return Frame(
            self.positions(), colors=np.tile(PALETTE[0], (3, 1)), line_radius=0.16, polylines=lines, labels=labels,
            caption=caption,
        )  # fmt: skip

    def readout(self) -> str:
        """Return areas and principal stretches."""
        sizes = np.linalg.svd(self.gradient, compute_uv=False)
        return f"area now / at rest {np.linalg.det(self.gradient):.3f}   stretches {sizes[0]:.3f} and {sizes[1]:.3f}"
