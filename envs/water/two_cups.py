"""Two cups, from one of which water is poured into the other: what the pouring tasks are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pbd_gym.envs.core.data.hands import Hands
from pbd_gym.envs.core.data.launches import prepare
from pbd_gym.envs.core.data.modes import Modes
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.task import Corners, Features, Task, World
from pbd_gym.envs.water.body import Water, WaterTaskConfig
from pbd_gym.envs.water.contents import POURED, Contents, CupScore, observe_two
from pbd_gym.envs.water.moves import CupMover
from pbd_gym.envs.water.pouring import Pourer

ROOM = 0.5
"""How far the cup can go beyond where it starts and beyond the other, and above the other [m]."""


@dataclass(frozen=True)
class PouringConfig(WaterTaskConfig):
    """Numbers of the pouring tasks; each can be given to ``gym.make``."""

    max_step: float = 0.08
    """Largest move of the cup along an axis per action [m]."""
    max_turn: float = 0.12
    """Largest turn of the cup per action [rad]."""
    pivot: Literal["bottom", "top"] = "bottom"
    """What a turn leaves where it is: the middle of the cup's floor, or that of its opening."""
    fill: float = 0.7
    """Depth of the most water that there can be, as a share of the height of the cup."""
    gap: tuple[float, float] = (0.05, 0.09)
    """Between the cups at the start, the least and the most [m]."""
    taller: tuple[float, float] = (0.0, 0.1)
    """How much taller the other cup is than the most water in it would be deep, the least and the most [m], besides a
    quarter of that."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, positive=("max_turn", "fill", "gap"))
        if self.pivot not in ("bottom", "top"):
            raise ValueError(f"pivot must be 'bottom' or 'top', got {self.pivot!r}")
        if self.fill > 1.0:
            raise ValueError(f"fill must be a share of the height, got {self.fill:g}")
        for name in ("gap", "taller"):
            low, high = getattr(self, name)
            if low > high:
                raise ValueError(f"{name} must be the least and the most, got {getattr(self, name)}")


class TwoCups(Task):
    """A cup of water, and another that stands beside it, into which all the water is to be poured.

    Args:
        config: its numbers.
        modes: how agents act, see and are paid.
    """

    def __init__(self, config: PouringConfig, modes: Modes) -> None:
        self.config = config
        width = config.breadth * config.spacing + 0.055
        self.water = water = Water(config, width, config.depth(width) / config.fill)
        self.cup = water.cup
        """The cup that the agent moves."""
        tallest = 1.25 * config.depth(width) + config.taller[1]
        self.target = water.add_cup(width, tallest, self.farthest, standing=True)
        """The cup that is to be filled."""
        self.contents = Contents(self.cup, self.target, water.fill())
        poured = self.contents.share("poured", 1.0, POURED)
        super().__init__(
            scene=water.scene,
            hands=self.cup_moves(),
            keypoints=np.zeros(0, dtype=np.int32),
            goal_particles=np.zeros(0, dtype=np.int32),
            starts=water.starts(),
            score=CupScore(config, modes, [self.contents], [poured], best=1.0),
            features=Features(13, self.observe),
            start_poses=self.poses,
            expert=Pourer(self.cup, self.target, self.asked),
            view_box=self.shown(),
        )

    def cup_moves(self) -> Hands:
        """Return what the agent can do with the cup."""
        config, cup = self.config, self.cup
        lower = (-ROOM, 0.5 * config.wall)
        upper = (self.farthest + ROOM, self.target.rim + cup.rim + ROOM)
        pivot = cup.rim if config.pivot == "top" else 0.0
        return Hands(
            particles=(), corners=(), reach=0.0, max_step=config.max_step, max_turn=config.max_turn,
            lower=(*lower, 0.0), upper=(*upper, 0.0),
            mover=CupMover(cup, (self.target,), 3, config.max_step, config.max_turn, lower, upper, pivot),
        )  # fmt: skip

    @property
    def farthest(self) -> float:
        """How far the other cup is from the first at most, from middle to middle [m]."""
        return self.cup.outer + self.config.gap[1]

    def shown(self) -> Corners:
        """Return what pictures show: both cups, and as much room above them."""
        half = 0.5 * self.cup.outer
        lower = np.array([-1.5 * half, 0.0, -half])
        return lower, np.array([self.farthest + half, 1.1 * (self.target.rim + self.cup.rim), half])

    def poses(self, world: World) -> np.ndarray:
        """Return the poses of both cups for each start state."""
        config, water, target = self.config, self.water, self.target
        stream = water.variations(2)
        gaps = stream.uniform(*config.gap, config.starts)
        sunk = config.taller[1] - stream.uniform(*config.taller, config.starts)
        nothing = np.zeros(config.starts)
        return water.start_poses(world, (water.cup, nothing, nothing), (target, self.cup.outer + gaps, sunk))

    def observe(self, world: World, observation: Any, first: int) -> Any:
        """Return the launch that writes the thirteen numbers of two cups."""
        cup, target, model = self.cup, self.target, world.model
        return prepare(
            world, observe_two, world.buffers["contents"], cup.row(model), target.row(model), cup.width, target.width,
            world.state.poses, first, observation,
        )  # fmt: skip

    def asked(self, world: World) -> np.ndarray:
        """Return the share that is to be poured in each environment, shape (num_envs,)."""
        return np.ones(world.num_envs)
