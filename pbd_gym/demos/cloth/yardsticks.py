"""A hanging cloth whose every step is solved for all rods at once: what sweeps of `cloth` are measured against.

The step is implicit Euler's. `newton` minimises inertia and energy together; it takes rods under pressure for straight,
so that every step leads downhill, and gets to the exact step from anywhere, steadily. `newton-raphson` looks for
positions and rod forces at once and doubles the right digits with each iteration, but may go astray. `tournier` is its
first iteration alone, with the forces of the last step: their geometric stiffness lets stiff nets swing calmly without
a loop. `step-and-project` leaves that stiffness out and goes back by the shortest way, as XPBD does; it converges to
where XPBD's sweeps lead, which is not quite the exact step: some force stays out of balance.

The curves show the largest force that is out of balance after each iteration. Make the rods stiff or the step long.

Goldenthal et al. 2007: Efficient simulation of inextensible cloth, doi:10.1145/1276377.1276438. Tournier et al. 2015:
Stable constrained dynamics, doi:10.1145/2766969. Gast et al. 2015: Optimization integrator for large time steps,
doi:10.1109/TVCG.2015.2459687.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pbd_gym.demos.cloth.implicit_step import METHODS
from pbd_gym.demos.cloth.sheet import SheetOptions
from pbd_gym.demos.cloth.sheet_system import SheetSystemDemo
from pbd_gym.demos.cloth.whole_system import WholeSystem
from pbd_gym.demos.options import Options, option
from pbd_gym.rendering import PALETTE, Curve, Frame, Panel

COUNT = 6
"""Iterations that the curves show."""
EVERY = 5
"""Frames from one measurement of them to the next."""
LEAST = 1e-12
"""Smaller forces are drawn as this [N]."""
MOST = 1e6
"""And larger ones as this."""


@dataclass(frozen=True)
class YardstickOptions(SheetOptions):
    """Numbers of a cloth that is solved as a whole."""

    width: int = option(8, "particles along the width", low=2, high=14)
    height: int = option(6, "particles along the height", low=2, high=14)
    time_step: float = option(0.02, "of a step [s]", low=1e-3, high=0.04)
    stiffness: float = option(1000.0, "of every rod [N/m]", low=1.0, high=1e7)
    method: str = option("newton", "how a step is solved", choices=tuple(METHODS))
    iterations: int = option(5, "of a step", low=1, high=20)


class YardsticksDemo(SheetSystemDemo):
    """The sheet under implicit Euler."""

    options_type: ClassVar[type[Options]] = YardstickOptions
    options: YardstickOptions
    system: WholeSystem

    def make_system(self) -> WholeSystem:
        """Return the rods."""
        options = self.options
        return WholeSystem(
            self.sheet.positions, self.inv_mass.copy(), self.sheet.edges, 1.0 / options.stiffness,
            (0.0, options.gravity, 0.0), options.method, options.iterations,
        )  # fmt: skip

    def reset(self) -> None:
        """Go back to the start, with the options as they are now."""
        super().reset()
        self.curves: list[Curve] = []

    def step(self) -> None:
        """Advance by one frame; every fifth time, measure what iterations leave over."""
        if not self.exploded and round(self.time * self.fps) % EVERY == 0:
            self.curves = self._measure()
        super().step()

    def frame(self, caption: str = "") -> Frame:
        """Return what there is to see, with the curves."""
        title = "log10 of the largest force out of balance [N]"
        panels = [Panel(title, self.curves, x_label="iterations")] if self.curves and not self.exploded else []
        return replace(super().frame(caption), panels=panels)

    def _measure(self) -> list[Curve]:
        counts = np.arange(1.0, COUNT + 1)
        with np.errstate(all="ignore"):  # newton-raphson may go astray
            found = {name: self.system.left_over(name, self.time_step, COUNT) for name in METHODS}
        # What has gone astray is not a number; it is drawn as MOST.
        powers = {name: np.log10(np.clip(np.nan_to_num(left, nan=MOST), LEAST, MOST)) for name, left in found.items()}
        return [Curve(name, counts, power, PALETTE[k % len(PALETTE)]) for k, (name, power) in enumerate(powers.items())]
