"""Four SPH methods side by side, one box for each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pbd_gym.demos.demo import Demo, History, clear_box
from pbd_gym.demos.fluids.fluid import Fluid, block_in_box
from pbd_gym.demos.fluids.solvers import DFSPH, IISPH, PBF, WCSPH, Tolerance
from pbd_gym.demos.options import Options, option
from pbd_gym.rendering import Frame
from pbd_gym.rendering.colors import Color, ramp

METHODS: dict[str, type[Fluid]] = {"WCSPH": WCSPH, "PBF": PBF, "IISPH": IISPH, "DFSPH": DFSPH}
SPACING = 0.05
"""Spacing of the particles [m]."""
KEPT = ("velocities", "pressure", "divergence_pressure", "late_acceleration", "density")
"""Attributes that a fluid keeps when its options change, if it has them."""
WALL: Color = (120, 126, 140)
SHADES = 16
"""Number of colours between slow and fast; sprites are cached per colour."""
FAST = 3.0
"""Speed of the last colour [m/s]."""


@dataclass(frozen=True)
class FluidOptions(Options):
    """Numbers that the fluids share."""

    method: str = option("all", "method to show", choices=("all", *METHODS))
    columns: int = option(18, "particles along the block", low=2, high=80)
    rows: int = option(14, "particles up the block", low=2, high=60)
    time_step: float = option(0.002, "time step of the solvers [s]", low=1e-4, high=0.02)
    viscosity: float = option(0.05, "share of velocity differences lost per step", low=0.0, high=1.0, step=0.05)
    stiffness: float = option(35000.0, "k of WCSPH [N/m]", low=0.0, high=1e7)
    exponent: float = option(7.0, "gamma of WCSPH", low=1.0, high=10.0, step=1.0)
    error: float = option(0.1, "mean remaining compression [%]", low=0.0, high=10.0)
    divergence_error: float = option(0.5, "mean remaining compression of DFSPH's second solve [%]", low=0.0, high=10.0)
    iterations: int = option(100, "largest number of iterations per solve", low=1, high=1000)
    gravity: float = option(-9.81, "vertical acceleration [m/s^2]", low=-100.0, high=100.0, step=1.0)
    quirks: str = option("mended", "corrected (mended), or as in the original programs", choices=("mended", "original"))


class FluidsDemo(Demo[FluidOptions]):
    """Four ways to make particles a liquid, side by side: the same block of water falls into four boxes.

    Each particle stands for a piece of water, and density is a sum over neighbours: `rho_i = sum_j m W_ij`. The methods
    differ in how they keep it near the rest density. WCSPH takes pressure from an equation of state, needs no solve,
    and is slightly compressible; PBF moves particles until the density is right; IISPH solves a linear system for the
    pressures that leave no compression at the end of the step; DFSPH solves a second one, so that velocities do not
    compress either. Read how many iterations each takes, and lengthen the time step to see which of them remain stable.
    Drag a particle to stir. With `quirks original` they reproduce the programs that they are modelled on; water at rest
    then has twice its pressure beside a wall.

    Koschier, Bender, Solenthaler, Teschner 2019: Smoothed particle hydrodynamics techniques for the physics based
    simulation of fluids and solids, doi:10.2312/egt.20191035. The block is that of RWTH's physics-simulation tutorial,
    whose trajectories it reproduces with `--method PBF --columns 40 --rows 30 --quirks original`.
    """

    original = FluidOptions(method="PBF", columns=40, rows=30, quirks="original")
    fps = 50
    flat = True
    rebuilt = ("method", "columns", "rows")

    def reset(self) -> None:
        """Restart with the current options."""
        super().reset()
        options = self.options
        names = list(METHODS) if options.method == "all" else [options.method]
        block, box = block_in_box(options.columns, options.rows, SPACING)
        self.fluids = {name: make_fluid(name, options, block, box) for name in names}
        """Fluids by the name of the method."""
        self.failed: set[str] = set()
        """Methods that have exploded: a particle is far outside the box or not finite. They stand still."""
        apart = 3 * SPACING * np.array([options.columns + 1, options.rows + 2])
        self.places = {name: apart * [k % 2, -(k // 2)] for k, name in enumerate(names)}
        """Drawn place of each fluid's box [m], shape (2,)."""
        self.counts, self.compression = History(*names), History(*names)
        self._measure()

    @property
    def exploded(self) -> bool:
        """Return whether any method has exploded."""
        return bool(self.failed)

    def adapt(self) -> None:
        """Apply changed options without moving the particles."""
        for name, fluid in self.fluids.items():
            new = make_fluid(name, self.options, fluid.positions, fluid.boundary)
            for word in KEPT:
                if hasattr(new, word):
                    setattr(new, word, getattr(fluid, word))
            self.fluids[name] = new

    def step(self) -> None:
        """Advance by one frame."""
        dt = self.options.time_step
        steps = max(1, round(1.0 / self.fps / dt))
        start = self.positions()
        for k in range(steps):
            for name, fluid in self.fluids.items():
                if name not in self.failed:
                    self._guide(start, (k + 1) / steps, steps * dt)
                    self._advance(name, fluid, dt)
        self._guide(start, 1.0, steps * dt)
        self.let_pass(steps * dt)
        self._measure()

    def _advance(self, name: str, fluid: Fluid, dt: float) -> None:
        with np.errstate(all="ignore"):  # explosions are meant to be seen here
            try:
                fluid.step(dt)
            except ValueError:  # particles that are not finite, or too far away, have no neighbours
                self.failed.add(name)
        reach = 2.0 * np.abs(fluid.boundary).max()
        if not (np.abs(fluid.positions) < reach).all():  # nor is a comparison with NaN true
            self.failed.add(name)

    def _guide(self, start: np.ndarray, share: float, time: float) -> None:
        """Move the held particle with the hand, at the hand's velocity.

        Args:
            start: all particles before the frame [m], shape (n, 3).
            share: share of the frame that has passed.
            time: duration of the frame [s].
        """
        if self.held is None:
            return
        name, index = self._owner(self.held)
        self.fluids[name].positions[index] = start[self.held, :2] - self.places[name] + share * self._pull[:2]
        self.fluids[name].velocities[index] = self._pull[:2] / time

    def _owner(self, particle: int) -> tuple[str, int]:
        names, size = list(self.fluids), self.options.columns * self.options.rows
        return names[particle // size], particle % size

    def _measure(self) -> None:
        counts, left = [], []
        for fluid in self.fluids.values():
            counts.append(float(sum(fluid.iterations)))
            left.append(100.0 * float(np.maximum(fluid.density / fluid.rest_density - 1.0, 0.0).mean()))
        self.counts.add(self.time, *counts)
        self.compression.add(self.time, *left)

    def positions(self) -> np.ndarray:
        """Return the particles that the mouse can take [m], shape (n, 3)."""
        return _raised([fluid.positions + self.places[name] for name, fluid in self.fluids.items()])

    def hold(self, particle: int | None) -> None:
        """Hold a particle in the hand; None releases it."""
        self.held, self._pull = particle, np.zeros(3)

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw: particles coloured by speed, and the boxes."""
        speeds = np.concatenate([np.linalg.norm(fluid.velocities, axis=1) for fluid in self.fluids.values()])
        share = np.floor(SHADES * np.nan_to_num(np.clip(speeds / FAST, 0.0, 1.0))) / SHADES
        walls = _raised([fluid.boundary + self.places[name] for name, fluid in self.fluids.items()])
        colors = np.concatenate([np.round(ramp(share)).astype(np.int64), np.tile(WALL, (len(walls), 1))])
        return Frame(
            np.concatenate([self.positions(), walls]),
            colors=colors,
            line_radius=0.5 * SPACING,
            labels=[(self._above(name), self._words(name)) for name in self.fluids],
            panels=[
                self.counts.panel("iterations of a step"), self.compression.panel("mean compression [%]"),
            ],
            caption=caption,
        )  # fmt: skip

    def _above(self, name: str) -> np.ndarray:
        return np.array([*self.places[name] + [0.0, SPACING * (3 * self.options.rows - 4.5)], 0.0])

    def _words(self, name: str) -> str:
        if name in self.failed:
            return f"{name}: exploded"
        counts = " + ".join(map(str, self.fluids[name].iterations))
        return f"{name}: {counts}" if counts else name

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the initial view [m], shape (3,) each."""
        walls = _raised([fluid.boundary + self.places[name] for name, fluid in self.fluids.items()])
        lower, upper = walls.min(axis=0), walls.max(axis=0)
        return clear_box(lower, upper)

    def readout(self) -> str:
        """Return the time, and the methods that have exploded."""
        count = sum(len(fluid.positions) for fluid in self.fluids.values())
        lost = f"   exploded: {', '.join(sorted(self.failed))}; press r to start again" if self.failed else ""
        return f"{super().readout()}   {count} particles   iterations beside the names{lost}"


def make_fluid(method: str, options: FluidOptions, positions: np.ndarray, boundary: np.ndarray) -> Fluid:
    """Return a fluid of a method at positions [m], shape (n, 2), between a boundary [m], shape (b, 2)."""
    shared: dict[str, Any] = {
        "spacing": SPACING,
        "viscosity": options.viscosity,
        "gravity": (0.0, options.gravity),
        "original": options.quirks == "original",
    }
    tolerance = Tolerance(options.error, options.iterations)
    if method == "WCSPH":
        shared |= {"stiffness": options.stiffness, "exponent": options.exponent}
    else:
        shared["tolerance"] = tolerance
    if method == "DFSPH":
        shared["divergence_tolerance"] = replace(tolerance, error=options.divergence_error)
    return METHODS[method](positions, boundary, **shared)


def _raised(parts: list[np.ndarray]) -> np.ndarray:
    """Return points of the plane as points of space, shape (n, 3)."""
    points = np.concatenate(parts)
    return np.concatenate([points, np.zeros((len(points), 1))], axis=1)
