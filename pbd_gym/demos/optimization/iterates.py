"""What demonstrations of iterative methods share: a start to drag, and steps that are shown one after the other."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pbd_gym.demos.expression import Expression
from pbd_gym.demos.graph import Graph, Line
from pbd_gym.demos.optimization.newton import Objective
from pbd_gym.demos.options import Options, option
from pbd_gym.demos.plane import PlaneDemo
from pbd_gym.rendering import PALETTE, Curve, Frame, Panel
from pbd_gym.rendering.colors import Color

LIMITS = ((-1.5, -1.0), (1.5, 1.0))
"""Lower left and upper right corner of what is drawn [m]."""
PACE = 0.3
"""Time in which a step is drawn [s]."""
SPEED = 0.25
"""Of a start that moves by itself, once everything has been shown [m/s]."""
POINTS = 401
"""At which a curve is computed."""
DARK: Color = (30, 34, 60)
LEAST = 1e-17
"""Smaller numbers are drawn as this, where a scale is logarithmic."""


def typed(*examples: str, variables: str = "x") -> str:
    """Declare an option that is a function of x, or of x and y; the first example is the default."""
    words = f"f({variables}), with + - * / ^ and sin cos tan exp log sqrt abs pi e"
    default: str = option(examples[0], words, choices=examples, check=Expression)
    return default


@dataclass(frozen=True)
class IterationOptions(Options):
    """What every iterative method has."""

    function: str
    """What it is about, made by :func:`typed`."""
    steps: int = option(10, "how many are done", low=1, high=50)
    width: float = option(3.5, "half of that of the picture, in units of x", low=0.5, high=10.0, step=0.5)


class IterationDemo(PlaneDemo):
    """A graph in which steps from a start are drawn; the start is dragged."""

    limits: ClassVar[tuple[tuple[float, float], tuple[float, float]]] = LIMITS
    options: IterationOptions
    graph: Graph

    def reset(self) -> None:
        """Go back to the start, with the options as they are now."""
        self.graph = self.make_graph()
        super().reset()
        self._iterate()

    def start(self) -> np.ndarray:
        """Return where the start is at first [m], shape (1, 2)."""
        return np.clip(self.graph.places(*self.first())[:, :2], *self.limits)

    def change(self, options: Options) -> None:
        """Go on with other numbers; the start stays where it is unless what is drawn is something else."""
        assert isinstance(options, IterationOptions)
        before, self.options = self.options, options
        same = all(getattr(before, name) == getattr(options, name) for name in ("function", "width"))
        if not same:
            self.graph = self.make_graph()
            self.handles = self.start()
        self._iterate()

    @property
    def x0(self) -> np.ndarray:
        """Return the start, shape (2,); where there is one variable, the first."""
        return self.graph.values(self.handles)[0]

    def step(self) -> None:
        """Advance by one frame; another start begins anew, with all steps at once."""
        before = self.handles.copy()
        super().step()
        if (self.handles != before).any():
            self._iterate()
            self.time = max(self.time, PACE * self.options.steps)

    def perform(self) -> None:
        """Move the start to the left, when all steps have been shown."""
        if self.time > PACE * (self.options.steps + 1):
            self.handles = np.clip(self.handles - [SPEED / self.fps, 0.0], *self.limits)
            self._iterate()

    @property
    def shown(self) -> float:
        """Return how many steps are to be seen; the last one in part."""
        return min(self.time / PACE, float(self.options.steps))

    def _iterate(self) -> None:
        with np.errstate(all="ignore"):  # what is lost is something to be seen here
            self.iterate()

    @abstractmethod
    def make_graph(self) -> Graph:
        """Return the axes."""

    @abstractmethod
    def first(self) -> tuple[float, float]:
        """Return the start at first."""

    @abstractmethod
    def iterate(self) -> None:
        """Do the steps from :attr:`x0`."""

    def visible(self, points: np.ndarray) -> np.ndarray:
        """Return the points of the graph, shape (n, 2), that are within it, as places [m], shape (m, 3)."""
        return self.graph.places(*points[self.graph.inside(points)].T)

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of what is shown at first [m], shape (3,) each."""
        return np.array([-1.75, -2.05, -0.1]), np.array([1.6, 1.3, 0.1])


class CurveDemo(IterationDemo):
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
    """Return a panel of numbers after each step, shape (k,), on a logarithmic scale."""
    curves = [
        Curve(name, np.arange(float(len(numbers))), np.log10(np.maximum(np.abs(numbers), LEAST)), color)
        for name, (numbers, color) in columns.items()
    ]
    return Panel(f"log10 of {title}", curves, x_label="step")


def y_range(values: np.ndarray, start: float) -> tuple[float, float]:
    """Return the ends of an axis for the values of a curve: where the method starts, and what is not far above it."""
    finite = values[np.isfinite(values)]
    low, high = np.quantile(finite, [0.02, 0.98]).tolist() if len(finite) else (-1.0, 1.0)
    most = 1.3 * max(abs(start), float(np.median(np.abs(finite)))) if np.isfinite(start) and len(finite) else np.inf
    low, high = min(max(low, -most), 0.0), max(min(high, most), 0.0)
    margin = 0.1 * (high - low) or 1.0
    return low - margin, high + margin
