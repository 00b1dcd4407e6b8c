"""Pulls that lines stand round colliders and over each other: warnings where substeps are too long for their tension.

A particle with mass m of a taut line, whose segments have length l and pull by f, swings sideways with a frequency of
up to 2 sqrt(f / (m l)). Straight lines follow that implicitly, however taut they are
(:mod:`pbd_gym.kernels.solve.lines`). Round a collider, friction and turns of the string come from before the line was
solved for, and a line for which ``h^2 f / (m l)`` is large stretches where it slides, and may fly off.

A line that leans on other ropes, or on itself, yields where contacts cannot stand its pull
(:mod:`pbd_gym.kernels.contacts.leans`). It is then a spring of ``h^2 / m`` for each segment: how long it is says what
pulls at it.
"""

from __future__ import annotations

import math
import warnings
from collections import deque
from typing import Any

import numpy as np

from pbd_gym.kernels.colliders.supports import TENSION
from pbd_gym.kernels.native import constant
from pbd_gym.sim.upload.arrays import by_scalar

MOST = 8.0
"""Largest ``h^2 f / (m l)`` that lines round colliders stand: at 8 a rope that slid about a rod was up to 1.5 % too
long, at 20 up to 15 %, and from 50 on ropes at rest flew off.
"""
PATIENCE = 5
"""Number of control steps whose median counts: a jolt passes. The number of substeps is for the largest of them."""
LEANING, HALF = 0.05, 0.5
"""Mean stretch of a line that leans on others which is said, and how much some line has then yielded at least."""
YIELD = constant("YIELD")
MARK = constant("MARK")
"""Added to the state of lines that are too long from having yielded."""
SEEN = 2
"""Number of control steps for which it has to be so long."""
MARGIN = 1.1
"""Margin of the suggested number of substeps."""


class PullWatch:
    """Checks after each step whether lines round colliders, or over each other, are tauter than substeps can resolve.

    It warns once of each of the two.
    """

    def __init__(self, model: Any, quiet: bool = False) -> None:
        """Find the lines, and what they are made of, unless nothing shall be said."""
        loud = not model.device.is_cuda and not quiet
        self._round = bool(model.has_supports) and loud
        self._over = bool(model.has_leans) and loud
        if not self.watching:
            return
        scene = model.scene
        chains = [line for kind in model.kinds if kind.chain for line in model.constraints[kind.name].indices]
        self._firsts = np.unique([line[0] for line in chains])
        self._chains = {int(line[0]): np.asarray(line) for line in chains}
        self._mass, self._places = scene.mass, scene.positions
        self._rest = {first: self._lengths(line, self._places).sum() for first, line in self._chains.items()}
        self._recent: deque[float] = deque(maxlen=PATIENCE)
        self._most, self._worst, self._stretched = 0.0, 0, 0

    @property
    def watching(self) -> bool:
        """Whether there is anything to check: lines that can lie over colliders or lean on others, not on a GPU, which
        reading would delay, and no warning so far.
        """
        return self._round or self._over

    @staticmethod
    def _lengths(line: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the lengths of a line's segments, shape (..., segments) [m], from positions, shape (..., n, 3)."""
        return np.asarray(np.linalg.norm(np.diff(places[..., line, :], axis=-2), axis=-1))

    def look(self, state: Any, arrays: Any, model: Any, ctrl_dt: float, substeps: int) -> None:
        """Warn if some line has been too taut for substeps of ``ctrl_dt / substeps`` seconds for several steps.

        Args:
            state: the state after the step.
            arrays: what the step worked on: the state, or its twin in float64.
            model: the model of that.
            ctrl_dt: control step [s].
            substeps: its substeps.
        """
        if self._round:
            self._look_round(arrays, model, ctrl_dt, substeps)
        if self._over:
            self._look_over(state, ctrl_dt, substeps)

    def _look_over(self, state: Any, ctrl_dt: float, substeps: int) -> None:
        """Warn of the line that has yielded most to what it leans on."""
        first = 3 * state.model.particle_count
        yields = (state.memory_scalar.numpy()[:, first : first + len(self._chains)] % MARK).max()
        now = 0.0
        if yields > HALF:
            places, sizes = state.get_positions(), np.ravel(state.get_parameters()["size"])
            every = {n: self._lengths(line, places).sum(axis=1) / self._rest[n] for n, line in self._chains.items()}
            longest = {n: float((every[n] / sizes).max()) - 1.0 for n in every}
            worst = max(longest, key=lambda n: longest[n])
            now = longest[worst]
            self._stretched += now > LEANING
        if now > self._most:  # it tells what pulls once it gets no longer
            self._most, self._worst = now, worst
            return
        if self._stretched < SEEN or not LEANING < self._most < math.inf:
            if not yields > HALF:
                self._most, self._stretched = 0.0, 0
            return
        self._over = False
        line, h = self._chains[self._worst], ctrl_dt / substeps
        pull = self._most * self._rest[self._worst] / (len(line) - 1) * float(np.median(self._mass[line])) / h**2
        wanted = math.ceil(MARGIN * math.sqrt(2.0 * self._most / YIELD) * substeps)
        warnings.warn(
            f"the line from particle {int(line[0])} to {int(line[-1])} lies over a rope, pulled by about {pull:.3g} N, "
            f"more than contacts hold at substeps of {1e3 * h:.3g} ms: it got {self._most:.0%} longer, and may go "
            f"through. With substeps={wanted} it holds that, unless hands pull it so far; heavier ropes need fewer",
            RuntimeWarning,
            stacklevel=3,
        )

    def _look_round(self, arrays: Any, model: Any, ctrl_dt: float, substeps: int) -> None:
        """Warn of the line that is tautest round colliders."""
        taut = by_scalar(model, arrays.support).numpy()[:, self._firsts, TENSION]
        # What a line knows is the sum over both sides of a particle.
        self._recent.append(0.5 * float(taut.max()))
        most = sorted(self._recent)[len(self._recent) // 2]
        if len(self._recent) < PATIENCE or not MOST < most < math.inf:
            return
        self._round = False
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
