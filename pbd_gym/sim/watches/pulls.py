"""Pulls that lines round colliders stand: a warning where substeps are too long for the tension of a rope.

A particle with mass m of a taut line, whose segments have length l and pull by f, swings sideways with a frequency of
up to 2 sqrt(f / (m l)). Straight lines follow that implicitly, however taut they are
(:mod:`pbd_gym.kernels.solve.lines`). Round a collider, friction and turns of the string come from before the line was
solved for, and a line for which ``h^2 f / (m l)`` is large stretches where it slides, and may fly off.
"""

from __future__ import annotations

import math
import warnings
from collections import deque
from typing import Any

import numpy as np

from pbd_gym.kernels.colliders.supports import TENSION
from pbd_gym.sim.upload.arrays import by_scalar

MOST = 8.0
"""Largest ``h^2 f / (m l)`` that lines round colliders stand: at 8 a rope that slid about a rod was up to 1.5 % too
long, at 20 up to 15 %, and from 50 on ropes at rest flew off.
"""
PATIENCE = 5
"""Number of control steps whose median counts: a jolt passes. The number of substeps is for the largest of them."""
MARGIN = 1.1
"""Margin of the suggested number of substeps."""


class PullWatch:
    """Checks after each step whether lines that go round colliders are tauter than substeps can resolve; warns once."""

    def __init__(self, model: Any, quiet: bool = False) -> None:
        """Find the lines, and what they are made of, unless nothing shall be said."""
        self.watching = bool(model.has_supports) and not model.device.is_cuda and not quiet
        """Whether there is anything to check: lines that can lie over colliders, not on a GPU, which reading would
        delay, and no warning so far.
        """
        if not self.watching:
            return
        scene = model.scene
        chains = [line for kind in model.kinds if kind.chain for line in model.constraints[kind.name].indices]
        self._firsts = np.unique([line[0] for line in chains])
        self._chains = {int(line[0]): np.asarray(line) for line in chains}
        self._mass, self._places = scene.mass, scene.positions
        self._recent: deque[float] = deque(maxlen=PATIENCE)

    def look(self, state: Any, model: Any, ctrl_dt: float, substeps: int) -> None:
        """Warn if some line has been too taut for substeps of ``ctrl_dt / substeps`` seconds for several steps.

        Args:
            state: what the step worked on: the state, or its twin in float64.
            model: the model of that.
            ctrl_dt: control step [s].
            substeps: its substeps.
        """
        taut = by_scalar(model, state.support).numpy()[:, self._firsts, TENSION]
        # What a line knows is the sum over both sides of a particle.
        self._recent.append(0.5 * float(taut.max()))
        most = sorted(self._recent)[len(self._recent) // 2]
        if len(self._recent) < PATIENCE or not MOST < most < math.inf:
            return
        self.watching = False
        line = self._chains[int(self._firsts[taut.max(axis=(0, 2)).argmax()])]
        lengths = np.linalg.norm(np.diff(self._places[line], axis=0), axis=1)
        h = ctrl_dt / substeps
        pull = most * float(np.median(self._mass[line])) * float(lengths.mean()) / h**2
        wanted = math.ceil(MARGIN * math.sqrt(max(self._recent) / MOST) * substeps)
        warnings.warn(
            f"the line from particle {int(line[0])} to {int(line[-1])} goes round a collider and is pulled by about "
            f"{pull:.3g} N, more than substeps of {1e3 * h:.3g} ms stand: it may stretch or fly off. With "
            f"substeps={wanted} it would not; heavier ropes, or particles farther apart, need fewer",
            RuntimeWarning,
            stacklevel=3,
        )
