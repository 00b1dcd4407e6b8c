"""Piercings: a warning when edges begin to go through surfaces, which contacts do not push back."""

from __future__ import annotations

import warnings
from typing import Any


class PiercingWatch:
    """Looks after each step whether edges go through surfaces, where a solver counts them; warns once.

    Fast bodies are warned of before they meet (:mod:`pbd_gym.sim.watches.speeds`). Slow ones can pass through as well:
    a load of mass M that lies on cloth of mass m sinks by about ``M g h^2 / m`` into it.
    """

    def __init__(self, model: Any, counts: bool, quiet: bool) -> None:
        """Watch if the solver counts piercings, unless warnings are off or reading would delay a GPU."""
        self.watching = counts and not quiet and not model.device.is_cuda
        """Whether there is anything to check: not after a warning."""

    def look(self, state: Any, ctrl_dt: float, substeps: int) -> None:
        """Warn if edges go through surfaces after a step of ``ctrl_dt`` seconds."""
        found = state.contacts.piercings.numpy()[: state.model.num_envs]
        if not found.any():
            return
        self.watching = False
        env = int(found.argmax())
        warnings.warn(
            f"{int(found[env])} edges go through surfaces in environment {env}, with substeps of "
            f"{1e3 * ctrl_dt / substeps:.3g} ms: contacts do not push back what has passed. Shorter substeps, thicker "
            "contacts, or heavier cloth under a load, hold more; State.get_piercings counts them",
            RuntimeWarning,
            stacklevel=3,
        )
