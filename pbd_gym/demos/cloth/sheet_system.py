"""Hanging sheets that something other than the engine moves: how they are stepped, dragged and drawn."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol

import numpy as np

from pbd_gym.demos.cloth.sheet import HangingSheet, sheet
from pbd_gym.demos.options import Options
from pbd_gym.rendering import Frame, Picker


class System(Protocol):
    """Particles that step; one of inverse mass 0 goes on with the velocity that it has."""

    positions: np.ndarray
    """[m], shape (n, d)."""
    velocities: np.ndarray
    """[m/s], shape (n, d)."""
    inv_mass: np.ndarray
    """[1/kg], shape (n,)."""

    def step(self, dt: float) -> None:
        """Advance by ``dt`` seconds."""


class SheetSystemDemo(HangingSheet):
    """A sheet under a :class:`System`. Its options have a ``time_step`` [s]."""

    @abstractmethod
    def make_system(self) -> System:
        """Return the system of ``self.sheet`` with inverse masses ``self.inv_mass``."""

    def reset(self) -> None:
        """Go back to the start, with the options as they are now."""
        self.time = 0.0
        self.held = None
        self._load()

    def _load(self) -> None:
        options: Any = self.options
        self.sheet = sheet(options)
        self.inv_mass = np.full(len(self.sheet.positions), 1.0 / options.mass)
        self.inv_mass[self.sheet.fixed] = 0.0
        self.system = self.make_system()
        self.time_step = float(options.time_step)
        self.substeps = max(1, round(1.0 / self.fps / self.time_step))
        self._pull = np.zeros(3)

    def change(self, options: Options) -> None:
        """Go on with other options from where the particles are, if they are still the same particles."""
        before, self.options = self.options, options  # type: ignore[assignment]
        if self.exploded or any(getattr(before, n) != getattr(options, n) for n in ("width", "height", "fixed")):
            self.reset()
            return
        positions, velocities, fixed = self.system.positions, self.system.velocities, self.inv_mass == 0.0
        self._load()
        self.inv_mass = np.where(fixed, 0.0, 1.0 / options.mass)  # type: ignore[attr-defined]
        self.hold(self.held)
        self.system.positions, self.system.velocities = positions, velocities

    def step(self) -> None:
        """Advance by one frame; what is held moves with the hand."""
        if self.held is not None:
            self.system.velocities[self.held] = self._pull / (self.substeps * self.time_step)
        with np.errstate(over="ignore", invalid="ignore"):  # an explosion is something to be seen here
            for _ in range(self.substeps):
                self.system.step(self.time_step)
        self._pull = np.zeros(3)
        self.time += self.substeps * self.time_step

    @property
    def exploded(self) -> bool:
        """Whether positions have gone beyond all bounds."""
        return not bool((np.abs(self.system.positions) < 1e3).all())

    def positions(self) -> np.ndarray:
        """Return the particles [m], shape (n, 3)."""
        return self.system.positions.copy()

    def hold(self, particle: int | None) -> None:
        """Put a particle into the hand; None opens the hand."""
        self.held = particle
        self.system.inv_mass = self.inv_mass.copy()
        self.system.velocities[self.inv_mass == 0] = 0.0
        if particle is not None:
            self.system.inv_mass[particle] = 0.0

    def pin(self, particle: int) -> str:
        """Fix a particle, or set it free. Returns what to tell."""
        if not self.inv_mass[particle]:
            self.inv_mass[particle] = 1.0 / self.options.mass
        else:
            self.inv_mass[particle] = 0.0
        self.hold(self.held)
        return "free" if self.inv_mass[particle] else "pinned"

    def move(self, pull: np.ndarray) -> None:
        """Move the hand by ``pull`` [m], shape (3,), during the next step."""
        self._pull = pull

    def readout(self) -> str:
        """Return the time and how far the sheet is stretched."""
        return "exploded: press r to start again" if self.exploded else super().readout()

    def frame(self, caption: str = "") -> Frame:
        """Return what there is to see."""
        here = self.positions()
        hand = [] if self.held is None or self.exploded else [Picker(here[self.held], 0.1, True)]
        pinned = np.flatnonzero(self.inv_mass == 0)
        return self.dressed(Frame(here, self.sheet.triangles, pinned=pinned, pickers=hand, caption=caption))
