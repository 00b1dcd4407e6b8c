"""Newton's method step by step: to roots, to minima, down a landscape, and out of a saddle."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from pbd_gym.demos.expression import Expression
from pbd_gym.demos.optimization.newton import LineSearch, Objective, descent_step, minimise, newton_step, root
from pbd_gym.demos.options import Options, option, switch
from pbd_gym.demos.plane import Graph, Line, PlaneDemo
from pbd_gym.rendering import PALETTE, Curve, Frame, Panel, Raster
from pbd_gym.rendering.colors import Color, ramp

LIMITS = ((-1.5, -1.0), (1.5, 1.0))
"""Lower left and upper right corner of the drawing [m]."""
PACE = 0.3
"""Time that drawing a step takes [s]."""
SPEED = 0.25
"""Speed of a start that moves by itself, once everything has been shown [m/s]."""
POINTS = 401
"""Number of points at which a curve is computed."""
DARK: Color = (30, 34, 60)
LEAST = 1e-17
"""Smallest number drawn on a logarithmic scale; smaller ones are drawn as this."""


def typed(*examples: str, variables: str = "x") -> str:
    """Declare an option that is a function of x, or of x and y; the first example is the default."""
    words = f"f({variables}), with + - * / ^ and sin cos tan exp log sqrt abs pi e"
    default: str = option(examples[0], words, choices=examples, check=Expression)
    return default


@dataclass(frozen=True)
class IterationOptions(Options):
    """Options that every iterative method has."""

    function: str
    """Function to examine, declared with :func:`typed`."""
    steps: int = option(10, "how many are done", low=1, high=50)
    width: float = option(3.5, "half of that of the picture, in units of x", low=0.5, high=10.0, step=0.5)


AnyIteration = TypeVar("AnyIteration", bound=IterationOptions)


class IterationDemo(PlaneDemo[AnyIteration]):
    """A graph that draws the steps from a draggable start."""

    limits = LIMITS
    box = ((-1.85, -2.45, -0.1), (1.7, 1.3, 0.1))
    graph: Graph

    def reset(self) -> None:
        """Restart with the current options."""
        self.graph = self.make_graph()
        super().reset()
        self._iterate()

    def start(self) -> np.ndarray:
        """Return the initial place of the start [m], shape (1, 2)."""
        return np.clip(self.graph.places(*self.first())[:, :2], *self.limits)

    def change(self, options: AnyIteration) -> None:
        """Apply new numbers; the start stays where it is unless the function changes."""
        before, self.options = self.options, options
        same = all(getattr(before, name) == getattr(options, name) for name in ("function", "width"))
        if not same:
            self.graph = self.make_graph()
            self.handles = self.start()
        self._iterate()

    @property
    def x0(self) -> np.ndarray:
        """Return the start, shape (2,); with one variable only the first counts."""
        return self.graph.values(self.handles)[0]

    def step(self) -> None:
        """Advance by one frame; a moved start recomputes the iteration and shows all steps at once."""
        before = self.handles.copy()
        super().step()
        if (self.handles != before).any():
            self._iterate()
            self.time = max(self.time, PACE * self.options.steps)

    def perform(self) -> None:
        """Move the start to the left once all steps have been shown."""
        if self.time > PACE * (self.options.steps + 1):
            self.handles = np.clip(self.handles - [SPEED / self.fps, 0.0], *self.limits)
            self._iterate()

    @property
    def shown(self) -> float:
        """Return the number of steps to show; the last one may be partial."""
        return min(self.time / PACE, float(self.options.steps))

    def _iterate(self) -> None:
        with np.errstate(all="ignore"):  # divergence is meant to be seen here
            self.iterate()

    @abstractmethod
    def make_graph(self) -> Graph:
        """Return the axes."""

    @abstractmethod
    def first(self) -> tuple[float, float]:
        """Return the default start."""

    @abstractmethod
    def iterate(self) -> None:
        """Compute the steps from :attr:`x0`."""

    def visible(self, points: np.ndarray) -> np.ndarray:
        """Return the points of the graph, shape (n, 2), that lie within it, as places [m], shape (m, 3)."""
        return self.graph.places(*points[self.graph.inside(points)].T)


class CurveDemo(IterationDemo[AnyIteration]):
    """A function of one variable, drawn as a curve."""

    def make_graph(self) -> Graph:
        """Return the axes."""
        width = self.options.width
        self.f = Objective(self.options.function, 1)
        self.x = np.linspace(-width, width, POINTS)
        self.y = self.f.value(self.x[:, None])
        height = float(self.f.value(np.array(self.first()[:1])))
        return Graph(*LIMITS, (-width, width), y_range(self.y, height))

    def picture(self, lines: list[Line], balls: list[tuple[np.ndarray, Color]], panel: Panel, caption: str) -> Frame:
        """Return the curve and the start with ``lines``, and balls at points of the graph, shape (n, 2) each."""
        places = [self.visible(points) for points, _ in balls]
        colors = [DARK, *(color for at, (_, color) in zip(places, balls, strict=True) for _ in at)]
        return Frame(
            np.concatenate([self.positions(), *places]), colors=np.array(colors), line_radius=0.022,
            polylines=[*self.graph.axes(), self.graph.curve(self.x, self.y, PALETTE[0]), *lines],
            labels=[*self.graph.numbers(), (self.positions()[0] + [0.0, 0.1, 0.0], "start")],
            panels=[panel], caption=caption,
        )  # fmt: skip


def convergence(title: str, columns: dict[str, tuple[np.ndarray, Color]]) -> Panel:
    """Return a panel of values after each step, shape (k,), on a logarithmic scale."""
    curves = [
        Curve(name, np.arange(float(len(numbers))), np.log10(np.maximum(np.abs(numbers), LEAST)), color)
        for name, (numbers, color) in columns.items()
    ]
    return Panel(f"log10 of {title}", curves, x_label="step")


def y_range(values: np.ndarray, start: float) -> tuple[float, float]:
    """Return the axis range for a curve's values: the height at the start, and the values not far above it."""
    finite = values[np.isfinite(values)]
    low, high = np.quantile(finite, [0.02, 0.98]).tolist() if len(finite) else (-1.0, 1.0)
    most = 1.3 * max(abs(start), float(np.median(np.abs(finite)))) if np.isfinite(start) and len(finite) else np.inf
    low, high = min(max(low, -most), 0.0), max(min(high, most), 0.0)
    margin = 0.1 * (high - low) or 1.0
    return low - margin, high + margin


ROOT_STARTS = {"20*sin(2*x)+3*cos(3*x)": 0.465, "x^2": 3.0}
"""Start of each function whose start is not 3."""


@dataclass(frozen=True)
class RootOptions(IterationOptions):
    """Function whose root is sought."""

    function: str = typed("10*x^2+2*x-1", "5*x^3-3*x^2+2*x+1", "20*sin(2*x)+3*cos(3*x)", "x^2", "x^3-2*x+2")


class RootsDemo(CurveDemo[RootOptions]):
    """Newton's method for roots: follow the tangent to its zero, and repeat from there.

    `x -= f(x) / f'(x)`. Near a simple root each step squares the error, so the number of correct digits doubles: the
    curve below falls ever steeper. Near a double root, as of `x^2`, errors are only halved. Far away anything can
    happen: a nearly level tangent leads far off, and neighbouring starts end at different roots. Drag the start along
    the axis, past where the tangent is level; type another function with `--function "cos(x) - x"`.

    Nocedal, Wright 2006: Numerical optimization, doi:10.1007/978-0-387-40065-5, section 11.1.
    """

    def first(self) -> tuple[float, float]:
        """Return the default start."""
        return ROOT_STARTS.get(self.options.function, 3.0), 0.0

    def iterate(self) -> None:
        """Compute the steps from the start."""
        self.points = root(self.f, float(self.x0[0]), self.options.steps)
        """x at the start and after each step, shape (k + 1,)."""
        self.values = self.f.value(self.points[:, None])
        """Values of f there."""

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw: the curve, the tangents so far, and their zeros."""
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
        """Return the current iterate."""
        k = min(int(self.shown), len(self.points) - 1)
        lost = "   then the tangent is level" if len(self.points) <= self.options.steps else ""
        return f"step {k}   x {self.points[k]:.12g}   f {self.values[k]:.3g}{lost}"


MINIMUM_STARTS = {
    "log(exp(2*x)+exp(-2*x))": 1.5,
    "x^2/2+5*exp(-x^2/2)": 3.0,
    "x^2/2-2*log(x^2+1)": 3.0,
    "exp(x)-3*x": 2.0,
}
"""Start of each function whose start is not 2.5."""
REACH = 1.3
"""Drawn width of a parabola, in steps."""


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
    """Function to minimise, and the method."""

    function: str = typed(
        "x^4-4*x^2+2", "2*sin(x)+x^2/2", "exp(x)-3*x", "x^2/2-3*log(x+4)",
        "log(exp(2*x)+exp(-2*x))", "x^2/2+5*exp(-x^2/2)", "x^2/2-2*log(x^2+1)",
    )  # fmt: skip
    search: str = switch(True, "whether steps are shortened until f falls")
    smallest: float = option(0.5, "curvature to which lower ones are raised", low=1e-3, high=100.0)
    clamp: str = switch(False, "whether f'' is at least the smallest curvature")


class MinimumDemo(CurveDemo[MinimumOptions]):
    """Newton's method for minima: jump to the lowest point of the osculating parabola, and repeat from there.

    `x -= f'(x) / f''(x)` looks for a root of the slope, which may also be a maximum, and where f'' is small it jumps
    too far. There are two cures: a line search halves the step until f falls by a share c of what the slope promises
    (it finds no step where f'' < 0, since the direction leads up); and curvatures below a minimum are raised to it,
    which always leads down. Choose c = 0.5 and see why it is wrong: a full step on a parabola falls by exactly that
    share, so near the minimum every step is cut, and digits are gained one by one. Drag the start.

    Nocedal, Wright 2006: Numerical optimization, doi:10.1007/978-0-387-40065-5, sections 3.1 to 3.4.
    """

    def first(self) -> tuple[float, float]:
        """Return the default start, on the axis."""
        return MINIMUM_STARTS.get(self.options.function, 2.5), 0.0

    def iterate(self) -> None:
        """Compute the steps from the start."""
        options = self.options
        self.method = partial(newton_step, smallest=options.smallest if options.clamp == "on" else None)
        search = options.line_search() if options.search == "on" else None
        points, self.shares = minimise(self.f, self.x0[:1], options.steps, self.method, search)
        self.points = points[:, 0]
        """x at the start and after each step, shape (k + 1,)."""
        self.values = self.f.value(points)
        """Values of f there."""
        self.slopes = np.array([self.f.derivatives(point)[1][0] for point in points])
        """Values of f' there."""

    def model(self, k: int, share: np.ndarray) -> np.ndarray:
        """Return points of the parabola of step k at shares of the whole step, shape (n,): x and height, (n, 2)."""
        value, gradient, hessian = self.f.derivatives(self.points[k : k + 1])
        whole = self.method(gradient, hessian)[0]
        curvature = -gradient[0] / whole if whole else hessian[0, 0]
        way = share * whole
        return np.stack([self.points[k] + way, value + gradient[0] * way + 0.5 * curvature * way**2], axis=1)

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw: the curve, the parabolas so far, and their minima."""
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
        """Return the current iterate."""
        k = min(int(self.shown), len(self.points) - 1)
        share = f"   {self.shares[k - 1]:.3g} of the step" if k else ""
        stuck = "   no way down" if k and self.shares[k - 1] == 0.0 and abs(self.slopes[k]) > 1e-6 else ""
        return f"step {k}   x {self.points[k]:.12g}   f' {self.slopes[k]:.2g}{share}{stuck}"


CELLS = 200
LEVELS = 16
"""Number of levels of the landscape whose lines are drawn."""
SURFACE_STARTS = {
    "(1-x)^2+100*(y-x^2)^2": (-1.2, 0.8), "3*(x-1)^2+8*(y-1/2)^2": (-1.5, -1.5),
    "(x^2+y-11)^2+(x+y^2-7)^2": (0.2, -0.5), "(x^2-1)^2+y^2/2": (0.1, 1.0),
}  # fmt: skip
"""Start of each function whose start is not (-1.5, 1)."""

Way = tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], LineSearch | None]
"""Function that computes a step from gradient and Hessian, and the line search that shortens it."""


@dataclass(frozen=True)
class SurfaceOptions(SearchOptions):
    """Function to minimise, and the method."""

    function: str = typed(
        "(1-x)^2+100*(y-x^2)^2", "3*(x-1)^2+8*(y-1/2)^2", "(x^2+y-11)^2+(x+y^2-7)^2", "(x^2-1)^2+y^2/2",
        variables="x, y",
    )  # fmt: skip
    steps: int = option(24, "how many are done", low=1, high=50)
    width: float = option(2.5, "half of that of the picture, in units of x and y", low=0.5, high=10.0, step=0.5)


class SurfaceDemo(IterationDemo[SurfaceOptions]):
    """Newton's method in the plane: down a landscape by its gradient and its Hessian, beside steepest descent.

    A step `-H^-1 g` leads to the lowest point of a paraboloid that has the slope and the curvatures of the place. On
    the ellipse, which is one, a single step arrives, however long and thin; steepest descent with the same line search
    zigzags. In Rosenbrock's curved valley full steps climb its wall and are lucky; the line search never climbs, and
    follows the valley. Himmelblau's function has four minima, four saddles and a maximum: full steps go to any of the
    nine, and which of them is a matter of chance. Drag the start; type a function with `--function "x^4+y^2"`.

    Nocedal, Wright 2006: Numerical optimization, doi:10.1007/978-0-387-40065-5, section 3.3.
    """

    limits = ((-1.0, -1.0), (1.0, 1.0))

    def ways(self) -> dict[str, Way]:
        """Return the methods by name.

        Full steps, the same with a line search, and steepest descent with a line search.
        """
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
        """Return the default start."""
        return SURFACE_STARTS.get(self.options.function, (-1.5, 1.0))

    def iterate(self) -> None:
        """Compute the steps from the start."""
        self.paths = {name: minimise(self.f, self.x0, self.options.steps, *way)[0] for name, way in self.ways().items()}
        """Iterates of each method, from the start on, shape (k + 1, 2)."""
        self.slopes = {
            name: np.array([np.linalg.norm(self.f.derivatives(point)[1]) for point in path])
            for name, path in self.paths.items()
        }
        """Length of the gradient there, shape (k + 1,)."""

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw: the landscape, and the paths so far."""
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
        """Return the current iterate of each method."""
        found = []
        for name, path in self.paths.items():
            x, y = path[min(int(self.shown), len(path) - 1)]
            found.append(f"{name} ({x:.3g}, {y:.3g})")
        return f"step {int(self.shown)}   {', '.join(found)}"


def landscape(values: np.ndarray) -> np.ndarray:
    """Return colours for heights, shape (n, n), from low to high by their logarithm, with contour lines."""
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


ARROW = 0.16
"""Drawn length of an eigenvector [m]."""
COLORS: tuple[Color, Color] = (PALETTE[0], (206, 54, 58))
"""Colours of eigenvectors with positive and with negative curvature."""


@dataclass(frozen=True)
class SaddleOptions(SurfaceOptions):
    """Choice of saddle and of its treatment."""

    function: str = typed("(x^2-1)^2+y^2/2", "x^4/4-x*y+y^4/4", "cos(x)*cos(y)", variables="x, y")
    smallest: float = option(0.5, "curvature to which lower ones are raised", low=1e-3, high=100.0)
    steps: int = option(10, "how many are done", low=1, high=50)
    width: float = option(2.0, "half of that of the picture, in units of x and y", low=0.5, high=10.0, step=0.5)


class SaddleDemo(SurfaceDemo):
    """Newton's method near a saddle: why the Hessian is clamped before it is inverted.

    `-H^-1 g` goes to where the gradient is zero, which includes saddles: between the two minima of
    `(x^2-1)^2+y^2/2` the curvature along x is negative, and dividing by it turns downhill into uphill. Raising the
    eigenvalues of H to a minimum, `max(lambda, eps)`, makes every step lead down; with a line search it then ends in a
    minimum, and near that, where no eigenvalue needs raising, it is Newton's method again. The arrows are the
    eigenvectors of H at the start, red where the curvature is negative. A large eps is safe and slow. Drag the start to
    and fro across x = 0.577, where the curvature changes sign.

    Nocedal, Wright 2006: Numerical optimization, doi:10.1007/978-0-387-40065-5, section 3.4; Teran et al. 2005: Robust
    quasistatic finite elements and flesh simulation, doi:10.1145/1073368.1073394, who clamp in this way for elasticity.
    """

    options_type = SaddleOptions
    options: SaddleOptions

    def ways(self) -> dict[str, Way]:
        """Return the methods by name."""
        clamped = partial(newton_step, smallest=self.options.smallest)
        return {"plain": (newton_step, None), "clamped": (clamped, self.options.line_search())}

    def first(self) -> tuple[float, float]:
        """Return the default start."""
        return (0.1, 1.0) if self.options.function == "(x^2-1)^2+y^2/2" else (0.6, 0.3)

    def iterate(self) -> None:
        """Compute the steps from the start."""
        super().iterate()
        hessian = self.f.derivatives(self.x0)[2]
        if not np.isfinite(hessian).all():
            hessian = np.zeros((2, 2))
        self.curvatures, self.directions = np.linalg.eigh(hessian)
        """Eigenvalues of the Hessian at the start, shape (2,), and its eigenvectors, as columns, shape (2, 2)."""

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw: the landscape, the paths so far, and the eigenvectors at the start."""
        shown = super().frame(caption)
        (middle,) = self.positions()
        arrows = []
        for curvature, direction in zip(self.curvatures, self.directions.T, strict=True):
            along = ARROW * np.array([*direction, 0.0])
            arrows.append((np.array([middle - along, middle + along]), COLORS[int(curvature < 0.0)]))
        return replace(shown, polylines=[*shown.polylines, *arrows])

    def readout(self) -> str:
        """Return the current iterate of each method, and the curvatures at the start."""
        low, high = self.curvatures
        return f"{super().readout()}   curvatures {low:.3g}, {high:.3g}"
