"""The gradient of a function from its samples, and what a correction of the kernel's gradient does for it.

`<grad f>(x) = sum_j m_j/rho_j (f_j - f(x)) grad W(x - x_j)`: by taking the difference to f(x) constants have no
gradient, but the slope of a linear function still comes out wrong where samples lie irregularly, and too small at the
border. Multiplying `grad W` by `L = (sum_j m_j/rho_j grad W (x_j - x)^T)^-1`, a matrix for each point, makes linear
functions exact everywhere. Switch it on, move the samples at random, and drag the ends of the line.

Bonet, Lok 1999: Variational and momentum preservation aspects of smooth particle hydrodynamic formulations,
doi:10.1016/S0045-7825(99)00051-1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.demos.expression import Expression
from pbd_gym.demos.fluids.sph_approximation import LineDemo, SamplingOptions
from pbd_gym.demos.options import option, switch
from pbd_gym.rendering import PALETTE, Curve, Panel


@dataclass(frozen=True)
class GradientOptions(SamplingOptions):
    """Whose gradient, and how."""

    function: str = option(
        "x^2+y^2/4-1", "f(x, y), with + - * / ^ and sin cos tan exp log sqrt abs pi e",
        choices=("x^2+y^2/4-1", "(x+y)/2", "sin(5*x)*cos(3*y)", "exp(-x*y)"), check=Expression,
    )  # fmt: skip
    component: str = option("x", "which part of the gradient is drawn", choices=("x", "y"))
    correction: str = switch(False, "whether the kernel's gradient is corrected")


class GradientDemo(LineDemo):
    """The sum beside the gradient."""

    options_type = GradientOptions
    options: GradientOptions

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
        """Return a part of the gradient and its approximation, and the length of their difference."""
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
