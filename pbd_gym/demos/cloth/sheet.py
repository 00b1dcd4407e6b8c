"""The hanging sheet that the cloth demonstrations share, and its stepping without the engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.demos.demo import Demo
from pbd_gym.demos.options import Options, option
from pbd_gym.geometry.grids import grid
from pbd_gym.rendering import PALETTE, Frame, Picker
from pbd_gym.rendering.colors import Color
from pbd_gym.runtime.checks import finite

SPACING = 0.2
"""Distance between neighbours [m]."""
EDGE: Color = (120, 132, 156)
AXIS: Color = PALETTE[3]


@dataclass(frozen=True)
class SheetOptions(Options):
    """Numbers of a hanging sheet."""

    columns: int = option(40, "particles along the width", low=2, high=200)
    rows: int = option(30, "particles along the height", low=2, high=200)
    fixed: int = option(2, "particles that are fixed: 1, the upper 2 or all 4 corners", choices=(1, 2, 4))
    mass: float = option(0.05, "mass of each particle [kg]", low=1e-3, high=1e3)
    gravity: float = option(-9.81, "vertical acceleration [m/s^2]", low=-100.0, high=100.0, step=1.0)
    look: str = option("cloth", "cloth, or its particles and constraints with axes", choices=("cloth", "net"))


AnySheet = TypeVar("AnySheet", bound=SheetOptions)


@dataclass(frozen=True)
class Sheet:
    """A grid of particles ``SPACING`` apart that hangs down from the origin in the plane z = 0."""

    positions: np.ndarray
    """[m], shape (n, 3), row by row from the upper left corner."""
    edges: np.ndarray
    """Pairs, shape (m, 2): along rows, along columns, then the two diagonals of each cell."""
    triangles: np.ndarray
    """Shape (t, 3)."""
    fixed: np.ndarray
    """Indices of the fixed particles."""


def sheet(options: SheetOptions) -> Sheet:
    """Make the sheet described by the options."""
    columns, rows = options.columns, options.rows
    found = grid(rows, columns, SPACING * (columns - 1), SPACING * (rows - 1))
    # The grid lists all diagonals of one kind first; here the two of a cell follow each other, as in the tutorial.
    diagonals = found.shear.reshape(2, -1, 2).swapaxes(0, 1).reshape(-1, 2)
    corners = np.array([0, columns - 1, (rows - 1) * columns, rows * columns - 1])
    return Sheet(
        found.positions - found.positions[0],
        np.concatenate([found.structural, diagonals]),
        found.triangles,
        corners[: options.fixed],
    )


class HangingSheet(Demo[AnySheet]):
    """Base of demonstrations with such a sheet: view, interaction and measurements."""

    max_pull = 2.0 * SPACING
    sheet: Sheet

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the initial view [m], shape (3,) each, with room for the sheet to stretch."""
        lower, upper = self.sheet.positions.min(axis=0), self.sheet.positions.max(axis=0)
        margin = 0.2 * float((upper - lower).max())
        return lower - margin - np.array([0.0, 0.35 * (upper - lower)[1], 0.0]), upper + margin

    def perform(self) -> None:
        """Pull a lower corner aside, up and towards the eye after one second, and release it after two and a half."""
        if 1.0 <= self.time < 2.5:
            last = len(self.sheet.positions) - 1
            particle = last // 2 if self.options.fixed == 4 else last
            size = float(np.ptp(self.sheet.positions, axis=0).max())
            way = np.array([-0.35, 0.35, 0.45]) * size * np.sin(0.5 * np.pi * min(self.time - 1.0, 1.0))
            self.drag(particle, self.sheet.positions[particle] + way)
        elif self.held is not None:
            self.hold(None)

    def dressed(self, frame: Frame) -> Frame:
        """Return a frame of the sheet in the style of the option ``look``: cloth, or balls, lines and axes."""
        if self.options.look == "cloth":
            return frame
        ends = frame.positions[self.sheet.edges]
        length = 0.15 * float(np.ptp(self.sheet.positions, axis=0).max())
        tips = length * np.eye(3)
        return replace(
            frame,
            triangles=np.zeros((0, 3), np.int64),
            line_radius=0.12 * SPACING,
            polylines=[*((pair, EDGE) for pair in ends), *((np.stack([np.zeros(3), t]), AXIS) for t in tips)],
            labels=list(zip(1.1 * tips, "xyz", strict=True)),
        )

    def stretch(self) -> np.ndarray:
        """Return the strain of every edge, shape (m,)."""
        here, rest = self.positions(), self.sheet.positions
        first, second = self.sheet.edges.T
        length = np.linalg.norm(here[first] - here[second], axis=1)
        strain: np.ndarray = length / np.linalg.norm(rest[first] - rest[second], axis=1) - 1.0
        return strain

    def readout(self) -> str:
        """Return the time and the stretch of the sheet."""
        strain = self.stretch()
        return f"{super().readout()}   stretch: mean {100 * strain.mean():.1f} %, largest {100 * strain.max():.1f} %"


class RodSystem(ABC):
    """Particles joined by rods, with their own stepping. Those of inverse mass 0 keep their velocity.

    Args:
        positions: [m], shape (n, d).
        inv_mass: [1/kg], shape (n,); 0 is fixed.
        edges: ends of the rods, shape (m, 2), int.
        gravity: acceleration [m/s^2], shape (d,).
        rest_length: [m], shape (m,); by default the current distance.

    Raises:
        ValueError: for a wrong shape, or a number that is not finite or out of its range.
    """

    def __init__(
        self,
        positions: ArrayLike,
        inv_mass: ArrayLike,
        edges: ArrayLike,
        gravity: ArrayLike,
        rest_length: ArrayLike | None = None,
    ) -> None:
        start = np.array(positions, dtype=np.float64)
        if start.ndim != 2 or not np.isfinite(start).all():
            raise ValueError(f"positions must be finite and of shape (n, d), got {start.shape}")
        self.positions = start
        """[m], shape (n, d)."""
        self.velocities = np.zeros_like(start)
        """[m/s], shape (n, d)."""
        self.inv_mass = finite("inv_mass", np.asarray(inv_mass, dtype=np.float64), (len(start),))
        self.edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
        if ((self.edges < 0) | (self.edges >= len(start))).any():
            raise ValueError(f"edges must name particles 0 to {len(start) - 1}")
        self.gravity = finite("gravity", np.asarray(gravity, dtype=np.float64), start.shape[1:])
        first, second = self.edges.T
        lengths = np.linalg.norm(start[first] - start[second], axis=1) if rest_length is None else rest_length
        self.rest_length = finite("rest_length", np.asarray(lengths, dtype=np.float64), (len(self.edges),))
        """[m], shape (m,)."""

    @abstractmethod
    def step(self, dt: float) -> None:
        """Advance by ``dt`` seconds."""


class SheetSystemDemo(HangingSheet[AnySheet]):
    """A sheet under a :class:`RodSystem`. Its options have a ``time_step`` [s]."""

    rebuilt = ("columns", "rows", "fixed")

    @abstractmethod
    def make_system(self) -> RodSystem:
        """Return the system of ``self.sheet`` with inverse masses ``self.inv_mass``."""

    def reset(self) -> None:
        """Restart with the current options."""
        super().reset()
        self._load()

    def _load(self) -> None:
        options: Any = self.options
        self.sheet = sheet(options)
        self.inv_mass = np.full(len(self.sheet.positions), 1.0 / options.mass)
        self.inv_mass[self.sheet.fixed] = 0.0
        self.system = self.make_system()
        self.time_step = float(options.time_step)
        self.substeps = max(1, round(1.0 / self.fps / self.time_step))

    def adapt(self) -> None:
        """Apply changed options without moving the particles."""
        positions, velocities, fixed = self.system.positions, self.system.velocities, self.inv_mass == 0.0
        self._load()
        self.inv_mass = np.where(fixed, 0.0, 1.0 / self.options.mass)
        self.hold(self.held)
        self.system.positions, self.system.velocities = positions, velocities

    def step(self) -> None:
        """Advance by one frame; the held particle follows the hand."""
        if self.held is not None:
            self.system.velocities[self.held] = self._pull / (self.substeps * self.time_step)
        with np.errstate(over="ignore", invalid="ignore"):  # explosions are meant to be seen here
            for _ in range(self.substeps):
                self.advance()
        self.let_pass(self.substeps * self.time_step)

    def advance(self) -> None:
        """Do one step of the integration."""
        self.system.step(self.time_step)

    @property
    def exploded(self) -> bool:
        """Return whether positions have diverged."""
        return not bool((np.abs(self.system.positions) < 1e3).all())

    def positions(self) -> np.ndarray:
        """Return the particles [m], shape (n, 3)."""
        return self.system.positions.copy()

    def hold(self, particle: int | None) -> None:
        """Hold a particle in the hand; None releases it."""
        self.held = particle
        self.system.inv_mass = self.inv_mass.copy()
        self.system.velocities[self.inv_mass == 0] = 0.0
        if particle is not None:
            self.system.inv_mass[particle] = 0.0

    def pin(self, particle: int) -> str:
        """Fix a particle, or release it. Returns a message."""
        if not self.inv_mass[particle]:
            self.inv_mass[particle] = 1.0 / self.options.mass
        else:
            self.inv_mass[particle] = 0.0
        self.hold(self.held)
        return "free" if self.inv_mass[particle] else "pinned"

    def readout(self) -> str:
        """Return the time and the stretch of the sheet."""
        return "exploded: press r to start again" if self.exploded else super().readout()

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw."""
        here = self.positions()
        hand = [] if self.held is None or self.exploded else [Picker(here[self.held], 0.1, True)]
        pinned = np.flatnonzero(self.inv_mass == 0)
        return self.dressed(Frame(here, self.sheet.triangles, pinned=pinned, pickers=hand, caption=caption))
