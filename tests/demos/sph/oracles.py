"""Trajectories of RWTH's SPH pages (float64), and fluids in their states."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pbd_gym.demos.fluids.fluid import Fluid
from pbd_gym.demos.fluids.solvers import DFSPH, IISPH, PBF, WCSPH, Tolerance

FOLDER = Path(__file__).parents[2] / "data" / "demos" / "sph"
EVERY = Path(__file__).parents[4] / "shared" / "oracles" / "fluids"
"""Where all of the trajectories are, beside the clone; too many to ship."""
METHODS = {"wcsph": WCSPH, "pbf": PBF, "iisph": IISPH, "dfsph": DFSPH}
STATE = {"vel": "velocities", "acc": "late_acceleration", "pressure": "pressure", "pressureV": "divergence_pressure"}
"""Attributes that a fluid starts a step from, by the oracles' name."""
FOUND = {"pos": "positions", "vel": "velocities", "density": "density", "lambda": "multiplier", "pressure": "pressure"}


@dataclass(frozen=True)
class Oracle:
    """One trajectory."""

    arrays: dict[str, np.ndarray]
    meta: dict[str, Any]

    def fluid(self, frame: int = 0) -> Any:
        """Return the fluid of the page as it is at a stored frame."""
        params, method = self.meta["params"], self.meta["method"]
        options: dict[str, Any] = {"viscosity": params["viscosity"], "gravity": self.arrays["gravity"]}
        if method == "wcsph":
            options |= {"stiffness": params["stiffness"], "exponent": params["exponent"]}
        else:
            options["tolerance"] = Tolerance(params["maxError"], params["maxIterations"])
        if method == "dfsph":
            options["divergence_tolerance"] = Tolerance(params["maxErrorV"], params["maxIterationsV"])
        fluid: Fluid = METHODS[method](self.arrays["pos"][frame], self.arrays["boundary"], original=True, **options)
        for name, attribute in STATE.items():
            if name in self.arrays and not (method == "wcsph" and name == "pressure"):
                setattr(fluid, attribute, self.arrays[name][frame].copy())
        return fluid

    def iterations(self, step: int, solves: int) -> tuple[int, ...]:
        """Return how many iterations each of its solves took in step 1, 2, ..."""
        return tuple(self.arrays["stats_all_iterations"][step - 1, :solves]) if solves else ()

    def drag(self, fluid: Fluid, step: int) -> None:
        """Move the particle that the mouse drags in a step."""
        if "drag_index" in self.arrays and self.arrays["drag_index"][step - 1] >= 0:
            fluid.positions[self.arrays["drag_index"][step - 1]] = self.arrays["drag_pos"][step - 1]


@cache
def load(path: Path) -> Oracle:
    """Return the trajectory in a file."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    return Oracle(arrays, json.loads(str(arrays.pop("meta"))))
