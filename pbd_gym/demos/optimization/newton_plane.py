"""Newton's method in the plane: down a landscape by its gradient and its Hessian, beside steepest descent.

A step `-H^-1 g` leads to the lowest point of a paraboloid that has the slope and the curvatures of the place. On the
ellipse, which is one, a single step arrives, however long and thin; steepest descent with the same line search zigzags.
In Rosenbrock's curved valley full steps climb its wall and are lucky; the line search never climbs, and follows the
valley. Himmelblau's function has four minima, four saddles and a maximum: full steps go to any of the nine, and which
of them is a matter of chance. Drag the start; type a function with `--function "x^4+y^2"`.

Nocedal, Wright 2006: Numerical optimization, doi:10.1007/978-0-387-40065-5, section 3.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pbd_gym.demos.graph import Graph
from pbd_gym.demos.optimization.iterates import DARK, IterationDemo, convergence, typed
from pbd_gym.demos.optimization.newton import LineSearch, Objective, descent_step, minimise, newton_step
from pbd_gym.demos.optimization.newton_minimum import SearchOptions
from pbd_gym.demos.options import option
from pbd_gym.rendering import PALETTE, Frame, Raster
from pbd_gym.rendering.colormaps import ramp

CELLS = 200
LEVELS = 16
"""Of the landscape; their lines are drawn."""
STARTS = {
    "(1-x)^2+100*(y-x^2)^2": (-1.2, 0.8), "3*(x-1)^2+8*(y-1/2)^2": (-1.5, -1.5),
    "(x^2+y-11)^2+(x+y^2-7)^2": (0.2, -0.5), "(x^2-1)^2+y^2/2": (0.1, 1.0),
}  # fmt: skip
"""Where a function begins, if not at (-1.5, 1)."""

Way = tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], LineSearch | None]
"""How a step is computed from gradient and Hessian, and what shortens it."""


@dataclass(frozen=True)
class SurfaceOptions(SearchOptions):
    """Whose minimum, and how."""

    function: str = typed(
        "(1-x)^2+100*(y-x^2)^2", "3*(x-1)^2+8*(y-1/2)^2", "(x^2+y-11)^2+(x+y^2-7)^2", "(x^2-1)^2+y^2/2",
        variables="x, y",
    )  # fmt: skip
    steps: int = option(24, "how many are done", low=1, high=50)
    width: float = option(2.5, "half of that of the picture, in units of x and y", low=0.5, high=10.0, step=0.5)


class SurfaceDemo(IterationDemo):
    """A landscape, and the ways of a few methods from one start."""

    options_type = SurfaceOptions
    limits: ClassVar[tuple[tuple[float, float], tuple[float, float]]] = ((-1.0, -1.0), (1.0, 1.0))
    options: SurfaceOptions

    def ways(self) -> dict[str, Way]:
        """Return the methods by name: full steps, those of the line search, and steepest descent with the same."""
        search = self.options.line_search()
        return {
            "full": (newton_step, None),
            "searched": (newton_step, search),
            "descent": (descent_step, search),
        }

    def make_graph(self) -> Graph:
        """Return the axes; the landscape is computed, too."""
        width = self.options.width
        self.f = Objective(self.options.function, 2)
        middle = ((np.arange(CELLS) + 0.5) / CELLS * 2.0 - 1.0) * width
        self.raster = Raster(*self.limits, landscape(self.f.value(np.stack(np.meshgrid(middle, middle), axis=-1))))
        return Graph(*self.limits, (-width, width), (-width, width))

    def first(self) -> tuple[float, float]:
        """Return the start at first."""
        return STARTS.get(self.options.function, (-1.5, 1.0))

    def iterate(self) -> None:
        """Do the steps from the start."""
        self.paths = {name: minimise(self.f, self.x0, self.options.steps, *way)[0] for name, way in self.ways().items()}
        """The start and what is reached by each step, by method, shape (k + 1, 2)."""
        self.slopes = {
            name: np.array([np.linalg.norm(self.f.derivatives(point)[1]) for point in path])
            for name, path in self.paths.items()
        }
        """Length of the gradient there, shape (k + 1,)."""

    def frame(self, caption: str = "") -> Frame:
        """Return what there is to see: the landscape, and the ways so far."""
        balls, colors, lines = [self.positions()], [DARK], self.graph.axes()[:1]
        whole = int(self.shown)
        for path, color in zip(self.paths.values(), PALETTE[1:], strict=False):
            done = path[: whole + 1]
            if whole + 1 < len(path):  # a part of the next step
                done = np.concatenate([done, [path[whole] + (self.shown - whole) * (path[whole + 1] - path[whole])]])
            inside = self.graph.inside(done)
            lines.append((self.graph.places(*np.where(inside[:, None], done, np.nan).T), color))
            balls.append(self.visible(done[1:]))
            colors += [color] * len(balls[-1])
        columns = {
            name: (slopes[: whole + 1], color)
            for (name, slopes), color in zip(self.slopes.items(), PALETTE[1:], strict=False)
        }
        return Frame(
            np.concatenate(balls), colors=np.array(colors), line_radius=0.022, polylines=lines,
            labels=[*self.graph.numbers(), (self.positions()[0] + [0.0, 0.1, 0.0], "start")],
            panels=[convergence("|grad f|", columns)], rasters=[self.raster], caption=caption,
        )  # fmt: skip

    def readout(self) -> str:
        """Return where each has got to."""
        found = []
        for name, path in self.paths.items():
            x, y = path[min(int(self.shown), len(path) - 1)]
            found.append(f"{name} ({x:.3g}, {y:.3g})")
        return f"step {int(self.shown)}   {', '.join(found)}"


def landscape(values: np.ndarray) -> np.ndarray:
    """Return colours for heights, shape (n, n), from low to high by their logarithm, with lines between levels."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return np.full((*values.shape, 3), 230, np.uint8)
    low, high = float(finite.min()), float(finite.max())
    height = np.nan_to_num(values, nan=high, posinf=high, neginf=low) - low
    scale = max(float(np.median(height)), 1e-12) / 50.0
    level = np.log1p(height / scale) / np.log1p(max(high - low, 1e-12) / scale) * LEVELS
    line = np.zeros(values.shape, bool)
    for axis in (0, 1):
        line |= np.diff(np.floor(level), axis=axis, append=np.take(np.floor(level), [-1], axis=axis)) != 0
    colors = 0.5 * ramp(np.floor(level).ravel() / LEVELS) + 0.5 * 255.0
    colors[line.ravel()] *= 0.85
    return colors.reshape(*values.shape, 3).round().astype(np.uint8)
