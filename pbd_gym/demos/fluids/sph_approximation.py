"""A function from its samples: SPH's sum along a line through the plane, beside the exact values.

`<f>(x) = sum_j m_j/rho_j f_j W(x - x_j)`: every sample counts with the area it stands for and its nearness. Inside the
sum is good, and the better, the more neighbours there are; at the border half of them are missing, and it falls short.
Shepard's normalisation divides by the same sum for f = 1 and mends that. Move samples at random and see what a lattice
hides. Drag the ends of the line; type a function of your own with `--function "exp(-x*x)*y"`.

Monaghan 1992: Smoothed particle hydrodynamics, doi:10.1146/annurev.aa.30.090192.002551; Shepard 1968: A two-dimensional
interpolation function for irregularly-spaced data, doi:10.1145/800186.810616.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pbd_gym.demos.expression import Expression
from pbd_gym.demos.options import Options, option, switch
from pbd_gym.demos.plane import PlaneDemo, raised
from pbd_gym.demos.sph.approximation import Samples, lattice
from pbd_gym.demos.sph.smoothing import SmoothingKernel
from pbd_gym.rendering import PALETTE, Curve, Frame, Panel
from pbd_gym.rendering.colormaps import ramp

COUNT, SPACING, DENSITY = 30, 0.05, 1000.0
POINTS = 201
"""Points of the line at which the sums are computed."""
HANDLE = np.array([30, 34, 60])
MOVED = 0.4
"""Largest displacement of a sample, in spacings, where they are moved at random."""


@dataclass(frozen=True)
class SamplingOptions(Options):
    """Numbers of the samples."""

    support: float = option(0.1, "radius of the kernel [m]", low=0.05, high=0.5, step=0.01)
    irregular: str = switch(False, "whether samples are moved at random")
    seed: int = option(0, "of the random moves", low=0, high=10**6)


@dataclass(frozen=True)
class ApproximationOptions(SamplingOptions):
    """What is approximated, and how."""

    function: str = option(
        "sin(5*x)*cos(3*y)", "f(x, y), with + - * / ^ and sin cos tan exp log sqrt abs pi e",
        choices=("sin(5*x)*cos(3*y)", "(x+y)/2", "(x^2+y^2)/2-1", "exp(-x*y)"), check=Expression,
    )  # fmt: skip
    shepard: str = switch(False, "whether sums are normalised")


class LineDemo(PlaneDemo):
    """Samples of a function, and a line with two ends to drag along which something is computed."""

    limits: ClassVar[tuple[tuple[float, float], tuple[float, float]]] = ((-1.0, -0.2), (1.0, 1.7))
    options: SamplingOptions
    function: Expression
    """f."""

    def reset(self) -> None:
        """Go back to the start, with the options as they are now."""
        super().reset()
        self._sample()

    def start(self) -> np.ndarray:
        """Return the ends of the line [m], shape (2, 2): both are at the border, where neighbours are missing."""
        return np.array([[-0.75, 0.5], [0.75, 1.5]])

    def change(self, options: Options) -> None:
        """Go on with other samples; the line stays."""
        assert isinstance(options, SamplingOptions)
        self.options = options
        self._sample()

    def _sample(self) -> None:
        options = self.options
        points = lattice(COUNT, SPACING)
        if options.irregular == "on":
            points = points + MOVED * SPACING * np.random.default_rng(options.seed).uniform(-1.0, 1.0, points.shape)
        self.samples = Samples(points, SmoothingKernel(options.support), SPACING**2 * DENSITY)
        self.function = self.make_function()
        self.values = self.function(*points.T)
        """f at the samples, shape (n,)."""

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
        """Return what there is to see: the samples by their values, the line, and curves."""
        finite = self.values[np.isfinite(self.values)]  # of a function such as 1/x not all are
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

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of what is shown at first [m], shape (3,) each."""
        return np.array([-0.8, -0.9, -0.1]), np.array([0.8, 1.75, 0.1])


class ApproximationDemo(LineDemo):
    """The sum beside the function."""

    options_type = ApproximationOptions
    options: ApproximationOptions

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
