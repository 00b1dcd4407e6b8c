"""Newton's method for roots: follow the tangent to where it is zero, and again from there.

`x -= f(x) / f'(x)`. Near a simple root the error is squared by each step, so digits that are right double: the curve
below falls ever steeper. Near a double root, as of `x^2`, errors are only halved. Far away anything can happen: where
the tangent is nearly level it leads far off, and starts that are next to each other end at different roots. Drag the
start along the axis, past where the tangent is level; type another function with `--function "cos(x) - x"`.

Nocedal, Wright 2006: Numerical optimization, doi:10.1007/978-0-387-40065-5, section 11.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.demos.graph import Line
from pbd_gym.demos.optimization.iterates import DARK, CurveDemo, IterationOptions, convergence, typed
from pbd_gym.demos.optimization.newton import root
from pbd_gym.rendering import PALETTE, Frame

STARTS = {"20*sin(2*x)+3*cos(3*x)": 0.465, "x^2": 3.0}
"""Where a function begins, if not at 3."""


@dataclass(frozen=True)
class RootOptions(IterationOptions):
    """Whose root."""

    function: str = typed("10*x^2+2*x-1", "5*x^3-3*x^2+2*x+1", "20*sin(2*x)+3*cos(3*x)", "x^2", "x^3-2*x+2")


class RootsDemo(CurveDemo):
    """A curve, and the tangents that lead to where it is zero."""

    options_type = RootOptions
    options: RootOptions

    def first(self) -> tuple[float, float]:
        """Return the start at first."""
        return STARTS.get(self.options.function, 3.0), 0.0

    def iterate(self) -> None:
        """Do the steps from the start."""
        self.points = root(self.f, float(self.x0[0]), self.options.steps)
        """x at the start and after each step, shape (k + 1,)."""
        self.values = self.f.value(self.points[:, None])
        """f there."""

    def frame(self, caption: str = "") -> Frame:
        """Return what there is to see: the curve, the tangents so far, and where they lead."""
        lines: list[Line] = []
        heads = []
        whole = int(self.shown)
        for k in range(min(whole + 1, len(self.points) - 1)):
            share = np.linspace(0.0, min(self.shown - k, 1.0), 60)
            x = self.points[k] + share * (self.points[k + 1] - self.points[k])
            x[np.abs(x) > self.options.width] = np.nan
            y = (1.0 - share) * self.values[k]
            lines.append(self.graph.curve(x, y, PALETTE[1]))
            heads = [[x[-1], y[-1]]]
            if abs(self.points[k]) <= self.options.width:
                lines.append(self.graph.curve(np.full(2, self.points[k]), np.array([0.0, self.values[k]]), DARK))
        x, y = self.points[: whole + 1], self.values[: whole + 1]
        balls = [
            (np.array(heads).reshape(-1, 2), PALETTE[1]),
            (np.stack([x, y], axis=1), PALETTE[0]),
            (np.stack([x, 0.0 * x], axis=1), PALETTE[3]),
        ]
        panel = convergence("|f|", {"after each step": (self.values[: whole + 1], PALETTE[3])})
        return self.picture(lines, balls, panel, caption)

    def readout(self) -> str:
        """Return where it has got to."""
        k = min(int(self.shown), len(self.points) - 1)
        lost = "   then the tangent is level" if len(self.points) <= self.options.steps else ""
        return f"step {k}   x {self.points[k]:.12g}   f {self.values[k]:.3g}{lost}"
