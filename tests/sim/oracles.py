"""Reference trajectories in tests/data: loading them, and running the engine through the same steps."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver

DATA = Path(__file__).parent.parent / "data"
NAMES = sorted(p.stem for p in DATA.glob("*.npz"))
COLORED = [name for name in NAMES if "_col_" in name]

EPS_RATIO = float(np.finfo(np.float64).eps / np.finfo(np.float32).eps)
"""Rounding of double relative to single precision, 2^-29."""


@dataclass(frozen=True)
class Oracle:
    """A trajectory of a published program; 2D scenes are embedded with z = 0."""

    name: str
    arrays: dict[str, np.ndarray]
    meta: dict[str, Any]

    def __getitem__(self, key: str) -> np.ndarray:
        return self.arrays[key]

    @property
    def dt(self) -> float:
        return float(self["dt"])

    @property
    def iterations(self) -> int:
        return int(self["iterations"])

    @property
    def f32_deviation(self) -> np.ndarray:
        """Running maximum over the frames of how far the same program in single precision is off [m]."""
        return np.maximum.accumulate(self["f32_pos_max_dev"])

    def float64_frames(self, tolerance: float, safety: float = 10.0) -> int:
        """Number of frames that two sound double-precision programs must agree on to ``tolerance``.

        Rounding is amplified alike in both precisions while it is small, so the deviation of the float32 rerun times
        2^-29 estimates the float64 one. ``safety`` covers that the two round differently. Where the file states how
        long a second float64 program followed, that bounds it as well.
        """
        good = self.f32_deviation * EPS_RATIO * safety <= tolerance
        horizon = self.meta.get("f64_reimpl_horizon_steps", {}).get("1e-09")
        if horizon is not None:
            good &= self["steps"] < horizon
        return len(good) if good.all() else int(np.argmin(good))

    def float32_frames(self) -> int:
        """Number of frames before the float32 rerun has left the trajectory by more than 1 cm (bifurcated)."""
        good = self.f32_deviation <= 1e-2
        return len(good) if good.all() else int(np.argmin(good))

    def float32_tolerance(self) -> np.ndarray:
        """Per frame, what single precision may be off [m]: four times the rerun, and not less than 2e-6 of the size."""
        scale = max(1.0, float(np.abs(self["x0"]).max()))
        return np.maximum(2e-6 * scale, 4.0 * self.f32_deviation)


@cache
def load(name: str) -> Oracle:
    """Load ``tests/data/<name>.npz``."""
    with np.load(DATA / f"{name}.npz", allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    meta = json.loads(str(arrays.pop("meta")))
    for key in ("x0", "v0", "pos", "vel", "gravity", "drag_pos"):
        if key in arrays and arrays[key].shape[-1] == 2:
            flat = arrays[key]
            arrays[key] = np.concatenate([flat, np.zeros((*flat.shape[:-1], 1))], axis=-1)
    return Oracle(name, arrays, meta)


@cache
def analytic() -> dict[str, Any]:
    """Closed forms and the numbers they give."""
    with (DATA / "analytic.json").open() as file:
        return json.load(file)


def make_scene(oracle: Oracle) -> Scene:
    """Build the scene of an oracle; constraints keep its order."""
    weights = oracle["inv_mass"]
    scene = Scene(gravity=oracle["gravity"], grip_count=1 if "drag_index" in oracle.arrays else 0)
    scene.add_particles(oracle["x0"], 1.0 / np.where(weights > 0, weights, 1.0), oracle["v0"])
    scene.pin(np.flatnonzero(weights == 0))
    scene.add_distance_constraints(oracle["edges"], oracle["compliance"], oracle["rest_len"])
    return scene


@dataclass(frozen=True)
class Run:
    """What the engine made of an oracle's scene, at the stored frames."""

    positions: np.ndarray
    """[m], shape (frames, envs, n, 3)."""
    velocities: np.ndarray
    """[m/s], shape (frames, envs, n, 3)."""
    multipliers: np.ndarray
    """[m kg], shape (frames, envs, m); 0 where the engine keeps none."""
    was_dragged: np.ndarray
    """Whether the particle was dragged in the step before the frame, shape (frames, n)."""


def run(oracle: Oracle, frames: int | None = None, num_envs: int = 1, **options: Any) -> Run:
    """Advance the scene of an oracle, one solver step per step of the program, up to the given number of frames."""
    model = Model(make_scene(oracle), num_envs=num_envs, **options)
    solver = Solver(model, substeps=1, iterations=oracle.iterations, threads=1, compensate=False)
    state, control = solver.state(), solver.control()
    steps = oracle["steps"][:frames]
    drag_index = oracle.arrays.get("drag_index", np.full(steps[-1], -1))
    stale_velocity = np.zeros((num_envs, 3))
    held_before = -1
    positions: list[np.ndarray] = []
    velocities: list[np.ndarray] = []
    multipliers: list[np.ndarray] = []
    dragged: list[np.ndarray] = []
    for step in range(steps[-1] + 1):
        if step > 0:
            held = int(drag_index[step - 1])
            if held != held_before:
                now = state.get_velocities()
                if held >= 0:
                    stale_velocity = now[:, held].copy()
                if held_before >= 0:
                    # The program leaves the velocity of a dragged particle as it was when it was grabbed, and goes on
                    # with it at release; ours has the velocity of its path. Undo that difference of convention.
                    now[:, held_before] = stale_velocity
                    state.set_velocities(now)
                state.hold(np.full((num_envs, 1), held))
                held_before = held
            if held >= 0:
                here = state.get_positions()[:, held].astype(np.float64)
                control.move((oracle["drag_pos"][step - 1] - here)[:, None])
            solver.step(state, control, oracle.dt)
        if step == steps[len(positions)]:
            positions.append(state.get_positions())
            velocities.append(state.get_velocities())
            kept = oracle.iterations > 1 and step > 0
            multipliers.append(state.get_lambda() if kept else np.zeros((num_envs, model.constraint_count)))
            dragged.append(np.arange(model.particle_count) == held_before)
    return Run(np.stack(positions), np.stack(velocities), np.stack(multipliers), np.stack(dragged))
