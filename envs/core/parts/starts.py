"""Start states of episodes: shapes that come to rest when the batch is made, or a bank that is kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pbd_gym.envs.core.data.solving import with_default_solver
from pbd_gym.envs.core.data.start_bank import cached
from pbd_gym.envs.core.task import World
from pbd_gym.runtime.checks import whole
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver

MOST_STEPS = 1_000_000
"""Largest number of control steps in which shapes may come to rest."""
SETTLING_DAMPING = 4.0
"""Rate at which particles lose velocity while shapes come to rest [1/s]."""


@dataclass(frozen=True)
class SettledStarts:
    """Shapes that come to rest for ``config.settle_time`` seconds in the hands that hold them at the start."""

    shapes: np.ndarray | None = None
    """Shapes [m], shape (starts, n, 3); by default the scene as it was built."""

    def positions(self, world: World, held: np.ndarray) -> np.ndarray:
        """Return the positions of the particles [m], shape (starts, n, 3), float32; see :class:`Starts`."""
        scene, config = world.scene, world.config
        shapes = scene.positions[None] if self.shapes is None else self.shapes
        model = Model(scene, len(shapes), device=world.model.device.alias, lanes=world.model.lanes)
        options: Any = {"threads": 1, "piercings": False, "compensate": world.solver.compensate, "quiet": True}
        solver = Solver(model, world.solver.substeps, damping=SETTLING_DAMPING, **options)
        state, control = solver.state(), solver.control()
        state.set_positions(shapes)
        if held.size:
            state.hold(held)
        steps = whole("settle_time in steps of ctrl_dt", round(config.settle_time / config.ctrl_dt), 0, MOST_STEPS)
        for _ in range(steps):
            solver.step(state, control, config.ctrl_dt)
        return state.get_positions()

    def strains(self, world: World) -> np.ndarray:
        """Return no permanent strains, shape (1, k)."""
        return np.zeros((1, world.model.memory_count))


class StartBank:
    """States that are sampled once and kept on disk: four fifths are for training, the rest for evaluation.

    ``config.starts`` is their number, and ``config.starts_seed`` the seed of their sampling.

    Args:
        sample: function that samples the states, at rest [m], shape (starts, n, 3).
        strains: function that returns the permanent strains of clay, shape (1 or starts, k).
    """

    def __init__(
        self,
        sample: Callable[[World, np.random.Generator], np.ndarray],
        strains: Callable[[World], np.ndarray] | None = None,
    ) -> None:
        self.sample, self._strains = sample, strains

    def positions(self, world: World, held: np.ndarray) -> np.ndarray:
        """Return the positions of the particles [m], shape (starts, n, 3), float32; see :class:`Starts`."""
        config, mode = world.config, world.actions.mode
        # The sampler may be another package's, whose text the class of the task does not show.
        sampler = getattr(self.sample, "__func__", self.sample), type(getattr(self.sample, "__self__", None))
        what = (type(world.task), with_default_solver(config), mode if (held >= 0).any() else None, sampler)
        rng, shape = np.random.default_rng(config.starts_seed), (config.starts, world.scene.particle_count, 3)
        return cached(what, world.model.device, lambda: np.asarray(self.sample(world, rng), dtype=np.float32), shape)

    def strains(self, world: World) -> np.ndarray:
        """Return the permanent strains of clay, shape (1 or starts, k)."""
        return np.zeros((1, world.model.memory_count)) if self._strains is None else self._strains(world)
