"""Base of demonstrations: starting, stepping, frames and interaction, with curves of measured quantities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, ClassVar, Generic, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.demos.options import AnyOptions, Options, dial
from pbd_gym.rendering import PALETTE, Camera, Curve, Frame, Panel
from pbd_gym.rendering.window.dials import Dial

SPANS = (2.0, 5.0, 10.0, 20.0)
"""Lengths of a time axis [s]: it stays while a run goes on, until the next is needed."""


class History:
    """The last values of a few quantities.

    Args:
        *names: names of the quantities.
        length: how many frames are kept.
    """

    def __init__(self, *names: str, length: int = 250) -> None:
        self.names = names
        self._rows: deque[tuple[float, ...]] = deque(maxlen=length)

    def add(self, time: float, *values: float) -> None:
        """Record a value of each quantity at ``time`` [s]."""
        if len(values) != len(self.names):
            raise ValueError(f"expected {len(self.names)} values, got {len(values)}")
        self._rows.append((time, *values))

    def panel(self, title: str, y_range: tuple[float, float] | None = None) -> Panel:
        """Return a panel with the curves over time.

        Args:
            title: measured quantity, with its unit.
            y_range: ends of the vertical axis; the range of the values by default.
        """
        rows = np.array(self._rows).reshape(-1, 1 + len(self.names))
        start, end = (float(rows[0, 0]), float(rows[-1, 0])) if len(rows) else (0.0, 0.0)
        longest = next((span for span in SPANS if end - start <= span * (1.0 + 1e-9)), end - start)
        curves = [Curve(n, rows[:, 0], rows[:, 1 + i], PALETTE[i % len(PALETTE)]) for i, n in enumerate(self.names)]
        return Panel(title, curves, y_range, x_range=(start, start + longest))


PANELS, CAPTION = 0.34, 0.13
"""Shares of a picture's height that panels and a caption of two lines cover."""


def clear_box(lower: ArrayLike, upper: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the box to look at so that a subject is seen between the caption and the panels of a square picture.

    Args:
        lower, upper: corners of the box around the subject [m], shape (3,) each.
    """
    low, high = np.array(lower, np.float64), np.array(upper, np.float64)
    height = high[1] - low[1]
    spare = max(high[0] - low[0], height / (1.0 - PANELS - CAPTION)) - height
    low[1] -= spare * PANELS / (PANELS + CAPTION)
    high[1] += spare * CAPTION / (PANELS + CAPTION)
    return low, high


Corner = tuple[float, float, float]


class Demo(ABC, Generic[AnyOptions]):
    """A small simulation to look at. Its type parameter names its options: ``Throw(Demo[ThrowOptions])``.

    Args:
        options: its numbers; the defaults if not given.
    """

    options_type: ClassVar[type[Options]] = Options
    """Type of the options, taken from the class's type parameter."""
    fps: ClassVar[int] = 25
    """Frames per second of simulated time. GIFs count time in hundredths of a second, so 25 is exact."""
    flat: ClassVar[bool] = False
    """Whether everything happens in the plane z = 0, which is then viewed head-on."""
    max_pull: ClassVar[float] = 0.08
    """Largest move of the hand per frame [m]."""

    box: ClassVar[tuple[Corner, Corner] | None] = None
    """Lower and upper corner of the initial view [m], if fixed; otherwise see :attr:`view_box`."""
    rebuilt: ClassVar[tuple[str, ...] | None] = None
    """Options whose change restarts the demonstration; None for all."""
    deeds: ClassVar[tuple[tuple[str, str, str], ...]] = ()
    """Further keys: the key, a short description, and the name of the method."""
    original: ClassVar[Options | None] = None
    """Options that reproduce the tutorial page it was modelled on, where they differ from the defaults."""

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        for base in cls.__dict__.get("__orig_bases__", ()):
            for parameter in get_args(base):
                if isinstance(parameter, type):
                    cls.options_type = parameter

    def __init__(self, options: Options | None = None) -> None:
        options = self.options_type() if options is None else options
        if not isinstance(options, self.options_type):
            raise TypeError(f"options must be {self.options_type.__name__}, got {type(options).__name__}")
        self.options = cast(AnyOptions, options)
        self.time = 0.0
        """Simulated time [s]."""
        self.held: int | None = None
        """Particle in the hand."""
        self.keys: dict[str, tuple[str, Callable[[], object]]] = {}
        """Further keys: a short description and the function."""
        if self.original is not None:
            self.keys["o"] = ("the original's numbers", self.be_original)
        self.keys |= {key: (words, getattr(self, name)) for key, words, name in self.deeds}
        self.reset()

    @abstractmethod
    def reset(self) -> None:
        """Restart with the current options."""
        self.time = 0.0
        self.held = None
        self._pull = np.zeros(3)

    @abstractmethod
    def step(self) -> None:
        """Advance by one frame."""

    @abstractmethod
    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw."""

    def let_pass(self, seconds: float) -> None:
        """Account for the time of a step, and clear the hand's movement."""
        self.time += seconds
        self._pull = np.zeros(3)

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the initial view [m], shape (3,) each."""
        assert self.box is not None, "a demonstration has a box or a view_box of its own"
        lower, upper = self.box
        return np.array(lower), np.array(upper)

    def camera(self, size: tuple[int, int]) -> Camera:
        """Return the initial camera for a picture of ``size`` (width, height)."""
        if self.flat:
            return Camera.fit(*self.view_box, size, yaw=0.0, pitch=0.0)
        return Camera.overview(*self.view_box, size)

    def readout(self) -> str:
        """Return a line of measured numbers."""
        return f"{self.time:.2f} s"

    def change(self, options: AnyOptions) -> None:
        """Apply new options, or restart: after an explosion, or if one of those in :attr:`rebuilt` changed."""
        before, self.options = self.options, options
        rebuilt = self.rebuilt
        if self.exploded or rebuilt is None or any(getattr(before, n) != getattr(options, n) for n in rebuilt):
            self.reset()
        else:
            self.adapt()

    def adapt(self) -> None:
        """Apply changed options without a restart."""
        return

    @property
    def exploded(self) -> bool:
        """Return whether the demonstration cannot continue from its current state."""
        return False

    def try_change(self, name: str, value: Any) -> None:
        """Continue with a new value of one option.

        Raises:
            ValueError: if it does not fit the others; the demonstration then restarts with the old value.
        """
        before = self.options
        try:
            self.change(replace(before, **{name: value}))
        except ValueError:
            self.options = before
            self.reset()
            raise

    def be_original(self) -> None:
        """Restart with the numbers of the page that it was modelled on."""
        if self.original is not None:
            self.options = cast(AnyOptions, self.original)
            self.reset()

    def ready(self, name: str, value: Any) -> bool:
        """Return whether :meth:`try_change` would be quick; if not, the kernels it needs are compiled meanwhile."""
        return True

    def dials(self) -> list[Dial]:
        """Return the sliders that work while it runs: its options."""

        def one(about: Any) -> Dial:
            name = about.name
            return dial(
                about, lambda: getattr(self.options, name), lambda value: self.try_change(name, value),
                lambda value: self.ready(name, value),
            )  # fmt: skip

        return [one(about) for about in fields(self.options)]

    def measures(self) -> str:
        """Return further lines of measured numbers, for a window."""
        return ""

    def pin(self, particle: int) -> str:
        """Fix a particle, or release it. Returns a message."""
        return "nothing can be pinned here"

    def perform(self) -> None:
        """Act as a person would, before a step: called when nobody is there, as when a file is written."""
        return

    def positions(self) -> np.ndarray:
        """Return the particles that the mouse can take [m], shape (n, 3)."""
        return np.zeros((0, 3))

    def hold(self, particle: int | None) -> None:
        """Hold a particle in the hand; None releases it."""
        self.held = particle

    def drag(self, particle: int, target: np.ndarray) -> None:
        """Hold a particle and move it towards ``target`` [m], shape (3,), as far as a hand moves in a frame."""
        if self.held != particle:
            self.hold(particle)
        pull = target - self.positions()[particle]
        self.move(pull * min(1.0, self.max_pull / max(float(np.linalg.norm(pull)), 1e-9)))

    def move(self, pull: np.ndarray) -> None:
        """Move the hand by ``pull`` [m], shape (3,), during the next step."""
        self._pull = pull

    def point(self, eye: np.ndarray, direction: np.ndarray) -> None:
        """Receive the ray from the eye through the mouse pointer: origin and direction [m], shape (3,) each."""
        return
