"""Newton's method for minima: jump to the lowest point of the parabola that touches, and again from there.

`x -= f'(x) / f''(x)` looks for a root of the slope, which may as well be a maximum, and where f'' is small it jumps too
far. Two cures: a line search halves the step until f falls by a share c of what the slope promises (it finds no step
where f'' < 0, for there the way leads up); and a curvature below a smallest one is raised to that, which always leads
down. Choose c = 0.5 and see why it is wrong: a full step falls by just that share of a parabola, so near the minimum
every step is cut, and digits come one by one. Drag the start.

Nocedal, Wright 2006: Numerical optimization, doi:10.1007/978-0-387-40065-5, sections 3.1 to 3.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from pbd_gym.demos.graph import Line
from pbd_gym.demos.optimization.iterates import DARK, CurveDemo, IterationOptions, convergence, typed
from pbd_gym.demos.optimization.newton import LineSearch, minimise, newton_step
from pbd_gym.demos.options import option, switch
from pbd_gym.rendering import PALETTE, Frame

STARTS = {"log(exp(2*x)+exp(-2*x))": 1.5, "x^2/2+5*exp(-x^2/2)": 3.0, "x^2/2-2*log(x^2+1)": 3.0, "exp(x)-3*x": 2.0}
"""Where a function begins, if not at 2.5."""
REACH = 1.3
"""How far a parabola is drawn, in steps."""


@dataclass(frozen=True)
class SearchOptions(IterationOptions):
    """Numbers of a line search."""

    sufficient: float = option(1e-4, "share c of the promised descent that is asked for", low=1e-6, high=0.99)
    shrink: float = option(0.5, "what a step that is too long is multiplied by", low=0.05, high=0.95, step=0.05)

    def line_search(self) -> LineSearch:
        """Return the line search."""
        return LineSearch(self.sufficient, self.shrink)


@dataclass(frozen=True)
class MinimumOptions(SearchOptions):
    """Whose minimum, and how."""

    function: str = typed(
        "x^4-4*x^2+2", "2*sin(x)+x^2/2", "exp(x)-3*x", "x^2/2-3*log(x+4)",
        "log(exp(2*x)+exp(-2*x))", "x^2/2+5*exp(-x^2/2)", "x^2/2-2*log(x^2+1)",
    )  # fmt: skip
    search: str = switch(True, "whether steps are shortened until f falls")
    smallest: float = option(0.5, "curvature to which lower ones are raised", low=1e-3, high=100.0)
    clamp: str = switch(False, "whether f'' is at least the smallest curvature")


class MinimumDemo(CurveDemo):
    """A curve, and the parabolas whose lowest points lead to where it is lowest."""

    options_type = MinimumOptions
    options: MinimumOptions

    def first(self) -> tuple[float, float]:
        """Return the start at first, on the axis."""
        return STARTS.get(self.options.function, 2.5), 0.0

    def iterate(self) -> None:
        """Do the steps from the start."""
        options = self.options
        self.method = partial(newton_step, smallest=options.smallest if options.clamp == "on" else None)
        search = options.line_search() if options.search == "on" else None
        points, self.shares = minimise(self.f, self.x0[:1], options.steps, self.method, search)
        self.points = points[:, 0]
        """x at the start and after each step, shape (k + 1,)."""
        self.values = self.f.value(points)
        """f there."""
        self.slopes = np.array([self.f.derivatives(point)[1][0] for point in points])
        """f' there."""

    def model(self, k: int, share: np.ndarray) -> np.ndarray:
        """Return points of the parabola of step k at shares of the whole step, shape (n,): x and height, (n, 2)."""
        value, gradient, hessian = self.f.derivatives(self.points[k : k + 1])
        whole = self.method(gradient, hessian)[0]
        curvature = -gradient[0] / whole if whole else hessian[0, 0]
        way = share * whole
        return np.stack([self.points[k] + way, value + gradient[0] * way + 0.5 * curvature * way**2], axis=1)

    def frame(self, caption: str = "") -> Frame:
        """Return what there is to see: the curve, the parabolas so far, and where they lead."""
        whole = min(int(self.shown), len(self.points) - 1)
        lines: list[Line] = []
        heads = [np.zeros((0, 2))]
        with np.errstate(all="ignore"):
            for k in range(min(whole + 1, len(self.shares))):
                reached = REACH * min(self.shown - k, 1.0)
                x, y = self.model(k, np.linspace(0.0, reached, 60)).T
                x[np.abs(x) > self.options.width] = np.nan
                lines.append(self.graph.curve(x, y, PALETTE[1]))
                heads.append(self.model(k, np.array([min(reached, 1.0)])))
        lines.append((np.concatenate([self.positions(), self.graph.places(self.x0[0], self.values[0])]), DARK))
        balls = [
            (np.stack([self.points, self.values], axis=1)[: whole + 1], PALETTE[3]),
            (np.concatenate(heads), PALETTE[1]),
        ]
        panel = convergence("|f'|", {"after each step": (self.slopes[: whole + 1], PALETTE[3])})
        return self.picture(lines, balls, panel, caption)

    def readout(self) -> str:
        """Return where it has got to."""
        k = min(int(self.shown), len(self.points) - 1)
        share = f"   {self.shares[k - 1]:.3g} of the step" if k else ""
        stuck = "   no way down" if k and self.shares[k - 1] == 0.0 and abs(self.slopes[k]) > 1e-6 else ""
        return f"step {k}   x {self.points[k]:.12g}   f' {self.slopes[k]:.2g}{share}{stuck}"
