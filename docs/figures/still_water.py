"""Ten minutes of water at rest, 10 and 20 layers deep, of the default material. Prints what docs/fluids.md says.

Run ``python -m docs.figures.still_water [MINUTES]``: columns fall into a tank twice as wide; half an hour on one core.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.peers.peer import walls
from pbd_gym.bench.scenes import SPACING, level, tank
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State

CTRL_DT = 0.08
"""Control step of the tasks [s]."""
SUBSTEPS = 16
"""Of a control step: 5 ms each."""
COLUMNS = ((8, 20, 5), (8, 40, 5))
"""Particles along each side of the water at the start: 10 and 20 layers when it has spread."""
REPORTS = (4.8, 60.0, 300.0)
"""Times at which a line is printed besides the end [s]."""


def rms_speed(state: State) -> float:
    """Return the root mean square speed of the particles of one environment [m/s]."""
    return float(np.sqrt((state.get_velocities()[0] ** 2).sum(axis=1).mean()))


def main(minutes: float = 10.0) -> None:
    """Let both columns fall, and watch them."""
    for column in COLUMNS:
        scene, at_rest = tank(column), 0.5 * SPACING * column[1]
        lower, upper = walls(scene)
        solver = Solver(Model(scene, 1), substeps=SUBSTEPS, threads=1)
        state, control = solver.state(), solver.control()
        steps = round(60.0 * minutes / CTRL_DT)
        due = {*(round(time / CTRL_DT) for time in REPORTS), steps}
        fastest = 0.0
        for step in range(1, steps + 1):
            solver.step(state, control, CTRL_DT)
            if step % 125 == 0 and step * CTRL_DT > 20.0:
                fastest = max(fastest, rms_speed(state))
            if step in due:
                x = state.get_positions()[0]
                excess = np.maximum(state.get_fluid_density()[0] - 1.0, 0.0).mean()
                lost = ((x < lower - SPACING) | (x > upper + SPACING)).any(axis=1).sum()
                print(
                    f"{column[1] // 2} layers, {step * CTRL_DT:5.1f} s: compression {excess:.2%}, "
                    f"level {level(x) / at_rest:.3f}, rms speed {rms_speed(state):.3f} m/s "
                    f"(largest since 20 s {fastest:.3f}), lost {lost}, "
                    f"overflow {int(state.get_fluid_overflow().max())}",
                    flush=True,
                )


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
