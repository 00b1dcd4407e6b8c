"""Smoothing kernels of SPH: the bumps that sums over particles weigh neighbours with, and their derivatives.

A kernel W is as good as its properties: its integral is 1, so that constants are kept; it is even, so that linear
functions are, too; it is never negative, so that densities are not; it ends at its support radius, so that only
neighbours count; and with the radius it shrinks to a point. Drag the particle to read off numbers. The curves show W,
the derivative W' along the axis and the Laplacian, each times a factor; forces of SPH are gradients, and where W' goes
to zero in the middle, particles that touch do not push each other apart.

Liu, Liu 2010: Smoothed particle hydrodynamics, an overview and recent developments, doi:10.1007/s11831-010-9040-7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pbd_gym.demos.graph import Graph
from pbd_gym.demos.options import Options, option
from pbd_gym.demos.plane import PlaneDemo
from pbd_gym.demos.sph.smoothing import PROFILES, SmoothingKernel
from pbd_gym.rendering import PALETTE, Frame

REACH = 1.1
"""Ends of the graph, in support radii."""
SCALES = (1.0, 0.1, 0.001)
"""What W, its gradient and its Laplacian are multiplied by, for a support radius of 0.2 m; their units differ."""
USUAL = 0.2
POINTS = 401


@dataclass(frozen=True)
class KernelOptions(Options):
    """Which kernel."""

    kernel: str = option("cubic spline", "which of them", choices=tuple(PROFILES))
    support: float = option(0.2, "radius from which on it is zero [m]", low=0.01, high=1.0)
    dimensions: int = option(1, "of the space that it is normalised in", low=1, high=3)


class KernelsDemo(PlaneDemo):
    """A graph two metres wide and high, whatever the numbers at its ends, and a particle on its axis."""

    options_type = KernelOptions
    limits: ClassVar[tuple[tuple[float, float], tuple[float, float]]] = ((-1.0, -1.0), (1.0, 1.0))
    options: KernelOptions

    def reset(self) -> None:
        """Go back to the start, with the options as they are now."""
        super().reset()
        self._build()

    def start(self) -> np.ndarray:
        """Return where the particle is at first [m], shape (1, 2)."""
        return np.array([[0.4, 0.0]])

    def change(self, options: Options) -> None:
        """Go on with another kernel; the particle stays."""
        assert isinstance(options, KernelOptions)
        self.options = options
        self._build()

    def _build(self) -> None:
        options = self.options
        self.kernel = SmoothingKernel(options.support, options.dimensions, options.kernel)
        reach = REACH * options.support
        self.offsets = np.linspace(-reach, reach, POINTS)
        """Where the curves are computed [m], shape (401,)."""
        self.curves = dict(zip(("W", "W'", "Laplacian"), self.at(self.offsets), strict=True))
        highest = 1.05 * max(float(np.abs(curve).max()) for curve in self.curves.values())
        self.graph = Graph((-1.0, -1.0), (1.0, 1.0), (-reach, reach), (-highest, highest))

    def at(self, offsets: np.ndarray) -> list[np.ndarray]:
        """Return W, W' and the Laplacian at offsets [m], shape (n,), times the factors they are drawn with."""
        distance, shrink = np.abs(offsets), self.options.support / USUAL
        values = (
            self.kernel.value(distance),
            np.sign(offsets) * self.kernel.slope(distance),
            self.kernel.laplacian(distance),
        )
        return [scale * shrink**k * value for k, (scale, value) in enumerate(zip(SCALES, values, strict=True))]

    @property
    def offset(self) -> float:
        """Return r of the particle [m]."""
        return float(self.handles[0, 0]) * REACH * self.options.support

    def perform(self) -> None:
        """Move the particle to and fro."""
        self.handles[0, 0] = 0.4 + 0.5 * np.sin(2.0 * self.time) * np.cos(0.7 * self.time)

    def frame(self, caption: str = "") -> Frame:
        """Return what there is to see."""
        lines = self.graph.axes()
        labels = self.graph.numbers(" m")
        for k, (name, curve) in enumerate(self.curves.items()):
            lines.append(self.graph.curve(self.offsets, curve, PALETTE[k]))
            (mark,) = self.graph.places(self.offset, self.at(np.array([self.offset]))[k])
            lines += [(mark + 0.02 * np.array([[-1, 0, 0], [1, 0, 0]]), PALETTE[k])]
            lines += [(mark + 0.02 * np.array([[0, -1, 0], [0, 1, 0]]), PALETTE[k])]
            (place,) = self.graph.places(-REACH * self.options.support, -0.5 * self.graph.y_range[1])
            factor = SCALES[k] * (self.options.support / USUAL) ** k
            lines.append((place + np.array([[0.05, -0.12 * k, 0.0], [0.15, -0.12 * k, 0.0]]), PALETTE[k]))
            words = name if factor == 1.0 else f"{name} times {factor:.3g}"
            labels.append((place + np.array([0.6, -0.12 * k, 0.0]), words))
        for edge in (-1.0, 1.0):
            ends = self.graph.places(edge * self.options.support, 0.06 * np.array(self.graph.y_range))
            lines.append((ends, PALETTE[3]))
        return Frame(self.positions(), line_radius=0.03, polylines=lines, labels=labels, caption=caption)

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of what is shown at first [m], shape (3,) each."""
        return np.array([-1.15, -1.1, -0.1]), np.array([1.05, 1.3, 0.1])

    def readout(self) -> str:
        """Return the kernel at the particle."""
        r = np.abs(self.offset)
        values = (
            f"W {self.kernel.value(r):.4g}   W' {self.kernel.slope(r):.4g}   Laplacian {self.kernel.laplacian(r):.4g}"
        )
        return f"r {self.offset:.3f} m   {values}"
