"""Building blocks of SPH's sums: kernels, a function from its samples, and its gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from pbd_gym.demos.expression import Expression
from pbd_gym.demos.fluids.smoothing import PROFILES, Samples, SmoothingKernel, lattice
from pbd_gym.demos.options import Options, option, switch
from pbd_gym.demos.plane import Graph, PlaneDemo, raised
from pbd_gym.rendering import PALETTE, Curve, Frame, Panel
from pbd_gym.rendering.colors import ramp

REACH = 1.1
"""Ends of the graph, in support radii."""
SCALES = (1.0, 0.1, 0.001)
"""Factors applied to W, its gradient and its Laplacian, whose units differ, for a support radius of 0.2 m."""
USUAL = 0.2
PLOTTED = 401


@dataclass(frozen=True)
class KernelOptions(Options):
    """Choice of kernel."""

    kernel: str = option("cubic spline", "kernel to show", choices=tuple(PROFILES))
    support: float = option(0.2, "radius beyond which it is zero [m]", low=0.01, high=1.0)
    dimensions: int = option(1, "dimensions of the space that it is normalised in", low=1, high=3)


class KernelsDemo(PlaneDemo[KernelOptions]):
    """Smoothing kernels of SPH: the bumps that weight neighbours in sums over particles, and their derivatives.

    A kernel W is as good as its properties: its integral is 1, so that constants are reproduced; it is even, so that
    linear functions are, too; it is never negative, so that densities are not; it ends at its support radius, so that
    only neighbours count; and as the radius shrinks, it tends to a point. Drag the particle to read off numbers. The
    curves show W, the derivative W' along the axis and the Laplacian, each times a factor; forces of SPH are gradients,
    and where W' goes to zero in the middle, particles that touch do not push each other apart.

    Liu, Liu 2010: Smoothed particle hydrodynamics, an overview and recent developments, doi:10.1007/s11831-010-9040-7.
    """

    box = ((-1.15, -1.1, -0.1), (1.05, 1.3, 0.1))
    limits = ((-1.0, -1.0), (1.0, 1.0))
    rebuilt = ()

    def reset(self) -> None:
        """Restart with the current options."""
        super().reset()
        self.adapt()

    def start(self) -> np.ndarray:
        """Return the initial place of the particle [m], shape (1, 2)."""
        return np.array([[0.4, 0.0]])

    def adapt(self) -> None:
        """Switch to another kernel; the particle stays."""
        options = self.options
        self.kernel = SmoothingKernel(options.support, options.dimensions, options.kernel)
        reach = REACH * options.support
        self.offsets = np.linspace(-reach, reach, PLOTTED)
        """Offsets at which the curves are computed [m], shape (401,)."""
        self.curves = dict(zip(("W", "W'", "Laplacian"), self.at(self.offsets), strict=True))
        highest = 1.05 * max(float(np.abs(curve).max()) for curve in self.curves.values())
        self.graph = Graph((-1.0, -1.0), (1.0, 1.0), (-reach, reach), (-highest, highest))

    def at(self, offsets: np.ndarray) -> list[np.ndarray]:
        """Return W, W' and the Laplacian at offsets [m], shape (n,), times their drawing factors."""
        distance, shrink = np.abs(offsets), self.options.support / USUAL
        values = (
            self.kernel.value(distance),
            np.sign(offsets) * self.kernel.slope(distance),
            self.kernel.laplacian(distance),
        )
        return [scale * shrink**k * value for k, (scale, value) in enumerate(zip(SCALES, values, strict=True))]

    @property
    def offset(self) -> float:
        """Return the particle's offset r [m]."""
        return float(self.handles[0, 0]) * REACH * self.options.support

    def perform(self) -> None:
        """Move the particle to and fro."""
        self.handles[0, 0] = 0.4 + 0.5 * np.sin(2.0 * self.time) * np.cos(0.7 * self.time)

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw."""
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
            labels.append((place + np.array([0.2 + 0.0175 * len(words), -0.12 * k, 0.0]), words))
        for edge in (-1.0, 1.0):
            ends = self.graph.places(edge * self.options.support, 0.06 * np.array(self.graph.y_range))
            lines.append((ends, PALETTE[3]))
        return Frame(self.positions(), line_radius=0.03, polylines=lines, labels=labels, caption=caption)

    def readout(self) -> str:
        """Return the kernel's values at the particle."""
        r = np.abs(self.offset)
        values = (
            f"W {self.kernel.value(r):.4g}   W' {self.kernel.slope(r):.4g}   Laplacian {self.kernel.laplacian(r):.4g}"
        )
        return f"r {self.offset:.3f} m   {values}"


COUNT, SPACING, DENSITY = 30, 0.05, 1000.0
POINTS = 201
"""Number of points along the line at which the sums are computed."""
HANDLE = np.array([30, 34, 60])
MOVED = 0.4
"""Largest random displacement of a sample, in spacings."""


@dataclass(frozen=True)
class SamplingOptions(Options):
    """Numbers of the samples."""

    support: float = option(0.1, "radius of the kernel [m]", low=0.05, high=0.5, step=0.01)
    irregular: str = switch(False, "whether samples are moved at random")
    seed: int = option(0, "seed of the random moves", low=0, high=10**6)


AnySampling = TypeVar("AnySampling", bound=SamplingOptions)


@dataclass(frozen=True)
class ApproximationOptions(SamplingOptions):
    """Function and method of the approximation."""

    function: str = option(
        "sin(5*x)*cos(3*y)", "f(x, y), with + - * / ^ and sin cos tan exp log sqrt abs pi e",
        choices=("sin(5*x)*cos(3*y)", "(x+y)/2", "(x^2+y^2)/2-1", "exp(-x*y)"), check=Expression,
    )  # fmt: skip
    shepard: str = switch(False, "whether sums are normalised")


class LineDemo(PlaneDemo[AnySampling]):
    """Samples of a function, and a line with two draggable ends along which a sum is evaluated."""

    limits = ((-1.0, -0.2), (1.0, 1.7))
    box = ((-0.8, -0.9, -0.1), (0.8, 1.75, 0.1))
    rebuilt = ()
    function: Expression
    """Function f."""

    def reset(self) -> None:
        """Restart with the current options."""
        super().reset()
        self.adapt()

    def start(self) -> np.ndarray:
        """Return the initial ends of the line [m], shape (2, 2), both at the border, where neighbours are missing."""
        return np.array([[-0.75, 0.5], [0.75, 1.5]])

    def adapt(self) -> None:
        """Switch to other samples; the line stays."""
        options = self.options
        points = lattice(COUNT, SPACING)
        if options.irregular == "on":
            points = points + MOVED * SPACING * np.random.default_rng(options.seed).uniform(-1.0, 1.0, points.shape)
        self.samples = Samples(points, SmoothingKernel(options.support), SPACING**2 * DENSITY)
        self.function = self.make_function()
        self.values = self.function(*points.T)
        """Values of f at the samples, shape (n,)."""

    def make_function(self) -> Expression:
        """Return f."""
        raise NotImplementedError

    def line(self) -> tuple[np.ndarray, np.ndarray]:
        """Return points along the line [m], shape (201, 2), and their distances from its first end [m]."""
        share = np.linspace(0.0, 1.0, POINTS)[:, None]
        points = self.handles[0] + share * (self.handles[1] - self.handles[0])
        return points, share[:, 0] * float(np.linalg.norm(self.handles[1] - self.handles[0]))

    def perform(self) -> None:
        """Swing an end of the line."""
        self.handles[1] = [0.75, 1.0 + 0.5 * np.cos(0.8 * self.time)]

    def panels(self) -> list[Panel]:
        """Return the curves along the line."""
        raise NotImplementedError

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw: the samples coloured by value, the line, and curves."""
        finite = self.values[np.isfinite(self.values)]  # not all are for a function such as 1/x
        low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
        share = np.nan_to_num(np.clip((self.values - low) / max(high - low, 1e-12), 0.0, 1.0))
        colors = np.concatenate([np.tile(HANDLE, (2, 1)), np.round(ramp(np.floor(16 * share) / 16))])
        return Frame(
            np.concatenate([self.positions(), raised(self.samples.positions)]),
            colors=colors.astype(np.int64),
            line_radius=0.018,
            polylines=[(self.positions(), (30, 34, 60))],
            panels=self.panels(),
            caption=caption,
        )


class ApproximationDemo(LineDemo[ApproximationOptions]):
    """A function from its samples: SPH's sum along a line through the plane, compared with the exact values.

    `<f>(x) = sum_j m_j/rho_j f_j W(x - x_j)`: every sample is weighted by the area it represents and by its nearness.
    In the interior the sum is good, and improves with the number of neighbours; at the border half of them are missing,
    and it falls short. Shepard's normalisation divides by the same sum for f = 1 and corrects that. Move samples at
    random to see what a lattice hides. Drag the ends of the line; type a function of your own with `--function
    "exp(-x*x)*y"`.

    Monaghan 1992: Smoothed particle hydrodynamics, doi:10.1146/annurev.aa.30.090192.002551; Shepard 1968: A
    two-dimensional interpolation function for irregularly-spaced data, doi:10.1145/800186.810616.
    """

    def make_function(self) -> Expression:
        """Return f."""
        return Expression(self.options.function)

    def curves(self) -> tuple[np.ndarray, np.ndarray]:
        """Return f and its approximation along the line, shape (201,) each."""
        points, _ = self.line()
        return self.function(*points.T), self.samples.value(self.values, points, self.options.shepard == "on")

    def panels(self) -> list[Panel]:
        """Return f and its approximation, and their difference."""
        along, (exact, found) = self.line()[1], self.curves()
        both = [Curve("exact", along, exact, PALETTE[0]), Curve("SPH", along, found, PALETTE[1])]
        label = "on the line [m]"
        return [
            Panel("f", both, x_label=label),
            Panel("error", [Curve("SPH - exact", along, found - exact, PALETTE[3])], x_label=label),
        ]

    def readout(self) -> str:
        """Return the error along the line."""
        exact, found = self.curves()
        error = np.abs(found - exact)
        near = np.pi * (self.samples.kernel.support / SPACING) ** 2
        return f"mean error {np.nanmean(error):.2g}, largest {np.nanmax(error):.2g}   about {near:.0f} neighbours"


@dataclass(frozen=True)
class GradientOptions(SamplingOptions):
    """Function and method of the gradient."""

    function: str = option(
        "x^2+y^2/4-1", "f(x, y), with + - * / ^ and sin cos tan exp log sqrt abs pi e",
        choices=("x^2+y^2/4-1", "(x+y)/2", "sin(5*x)*cos(3*y)", "exp(-x*y)"), check=Expression,
    )  # fmt: skip
    component: str = option("x", "component of the gradient to draw", choices=("x", "y"))
    correction: str = switch(False, "whether the kernel's gradient is corrected")


class GradientDemo(LineDemo[GradientOptions]):
    """The gradient of a function from its samples, and how a correction of the kernel's gradient improves it.

    `<grad f>(x) = sum_j m_j/rho_j (f_j - f(x)) grad W(x - x_j)`: with the difference to f(x), constants have no
    gradient, but the slope of a linear function is still wrong where samples are irregular, and too small at the
    border. Multiplying `grad W` by `L = (sum_j m_j/rho_j grad W (x_j - x)^T)^-1`, a matrix for each point, makes linear
    functions exact everywhere. Switch it on, move the samples at random, and drag the ends of the line.

    Bonet, Lok 1999: Variational and momentum preservation aspects of smooth particle hydrodynamic formulations,
    doi:10.1016/S0045-7825(99)00051-1.
    """

    def make_function(self) -> Expression:
        """Return f."""
        return Expression(self.options.function)

    def curves(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient and its approximation along the line, shape (201, 2) each."""
        points, _ = self.line()
        x, y = points.T
        found = self.samples.gradient(self.values, points, self.function(x, y), self.options.correction == "on")
        return self.function.gradient(x, y), found

    def panels(self) -> list[Panel]:
        """Return a component of the gradient with its approximation, and the length of their difference."""
        along, (exact, found) = self.line()[1], self.curves()
        part = "xy".index(self.options.component)
        error = np.linalg.norm(found - exact, axis=1)
        label = "on the line [m]"
        return [
            Panel(
                f"df/d{self.options.component}",
                [Curve("exact", along, exact[:, part], PALETTE[0]), Curve("SPH", along, found[:, part], PALETTE[1])],
                x_label=label,
            ),
            Panel("error", [Curve("|SPH - exact|", along, error, PALETTE[3])], x_label=label),
        ]

    def readout(self) -> str:
        """Return the error along the line."""
        exact, found = self.curves()
        error = np.linalg.norm(found - exact, axis=1)
        return f"mean error {np.nanmean(error):.2g}, largest {np.nanmax(error):.2g}"
