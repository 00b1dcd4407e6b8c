"""Two cups, from one of which water is poured into the other: the basis of the pouring tasks, and their expert."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pbd_gym.envs.core.data.buffers import prepare
from pbd_gym.envs.core.data.hands import Hands
from pbd_gym.envs.core.data.modes import Modes
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.task import Corners, Features, Task, World
from pbd_gym.envs.water.body import Water, WaterTaskConfig
from pbd_gym.envs.water.contents import FIRST, POURED, Contents, CupScore, observe_two
from pbd_gym.envs.water.cup import Cup
from pbd_gym.envs.water.moves import CupMover

CLEARANCE = 0.03
"""Clearance between the rims of both cups while water flows [m]."""
INTO = 0.2
"""Largest distance of the rim beyond the wall of the other cup, as a share of that cup's width."""
RATE = 0.05
"""Rotation per action while water flows [rad]."""
CLOSE = 0.02
"""Share of the water that is not worth another pour."""
LAG = 4.5
"""Number of actions that it takes to stop the flow."""
REST = 20
"""Number of final actions of an episode in which a cup that must not be emptied stays upright."""
SLOWER = 4.0
"""Slow-down of the tilt when little is left to pour: this factor times that share of the water."""
SHARE = 0.4
"""Share of the largest moves that is used, since these would make the water slosh."""
LAST = -2.4
"""Angle at which a cup is empty [rad]."""


class Pourer:
    """Expert that pours a share of the water from one cup into another, to the right of it.

    The rim rises beside the other cup first. Then the cup tilts, and its rim goes over that of the other as far as the
    tilted wall leaves room below. It tilts back before enough has left the cup, since more follows meanwhile.

    Args:
        cup: cup to tilt.
        target: standing cup.
        shares: function that returns the share to leave the cup, shape (num_envs,).
    """

    def __init__(self, cup: Cup, target: Cup, shares: Callable[[World], np.ndarray]) -> None:
        self.cup, self.target, self.shares = cup, target, shares

    def __call__(self, world: World) -> np.ndarray:
        """Return the next action of every environment, shape (num_envs, 3), float32.

        Args:
            world: the environments, in action mode ``"cup"`` with x, y and angle.
        """
        cup, target, config, model = self.cup, self.target, world.config, world.model
        poses = world.state.get_poses().astype(np.float64)
        floor, side = (poses[:, model.pose_index(number)] for number in (cup.colliders[0], target.colliders[1]))
        x, y, angle = floor[:, 0], floor[:, 1], 2.0 * np.arctan2(floor[:, 5], floor[:, 6])
        edge = side[:, 0] - 0.5 * target.wall  # of the other cup, on this side
        top = side[:, 1] + 0.5 * (target.height + target.wall + target.skirt)
        # About its lip it tilts away from the ground: for that alone the taller cup must be lifted.
        length = cup.rim + 0.5 * cup.wall
        high = np.maximum(top, length * np.cos(angle))
        raised = lip(cup, x, y, angle)[1] > high + 0.5 * CLEARANCE
        turn = np.where(raised, self._turn(world), 0.0)
        turn = np.clip(angle + turn, LAST, 0.0) - angle
        # Where the rim should be after the turn, and where it would be.
        slope = np.tan(np.minimum(-(angle + turn), 1.2))
        inside = np.minimum(0.8 * CLEARANCE * slope - 0.01, target.wall + INTO * target.width)
        next_x, next_y = lip(cup, x, y, angle + turn)
        pivot = cup.rim if config.pivot == "top" else 0.0
        next_x += pivot * (np.sin(angle + turn) - np.sin(angle))
        next_y -= pivot * (np.cos(angle + turn) - np.cos(angle))
        high = np.maximum(top, length * np.cos(angle + turn))
        moves = np.stack([edge + inside - next_x, high + CLEARANCE - next_y], axis=1) / config.max_step
        moves = np.clip(moves, -SHARE, SHARE)
        moves[:, 0] = np.where(raised, moves[:, 0], np.minimum(moves[:, 0], 0.0))
        return np.concatenate([moves, turn[:, None] / config.max_turn], axis=1).astype(np.float32)

    def _turn(self, world: World) -> np.ndarray:
        """Return the rotation for the current action, while the rim is high enough [rad], shape (num_envs,)."""
        b, shares = world.buffers, self.shares(world)
        now = b.peek("contents")[:, FIRST].astype(np.float64)
        before = b.peek("expert_memory").astype(np.float64)  # contents of the cup at its last action
        flow = np.where(b.peek("elapsed") == 0, 0.0, before - now)
        b.write("expert_memory", now)
        left = now - (1.0 - shares) - np.where(shares < 1.0, CLOSE, 0.0)
        ahead = np.where(shares < 1.0, left - LAG * np.maximum(flow, 0.0), left)
        slower = np.where(shares < 1.0, np.clip(SLOWER * ahead, 0.3, 1.0), 1.0)
        late = (shares < 1.0) & ((world.max_episode_steps or 10**9) - b.peek("elapsed") < REST)
        return np.where((ahead > 0.0) & ~late, -RATE * slower, world.config.max_turn)


def lip(cup: Cup, x: np.ndarray, y: np.ndarray, angle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the outer edge of the rim on the right, x and y [m], shape (k,) each."""
    cos, sin, half = np.cos(angle), np.sin(angle), 0.5 * cup.outer
    return x + cos * half - sin * cup.rim, y + sin * half + cos * cup.rim


ROOM = 0.5
"""Room for the cup beyond its start and beyond the other cup, and above the other cup [m]."""


@dataclass(frozen=True)
class PouringConfig(WaterTaskConfig):
    """Numbers of the pouring tasks; each can be passed to ``gym.make``."""

    max_step: float = 0.08
    """Largest move of the cup along an axis per action [m]."""
    max_turn: float = 0.12
    """Largest rotation of the cup per action [rad]."""
    pivot: Literal["bottom", "top"] = "bottom"
    """Fixed point of a rotation: the middle of the cup's floor, or that of its opening."""
    fill: float = 0.7
    """Depth of the largest amount of water, as a share of the height of the cup."""
    gap: tuple[float, float] = (0.05, 0.09)
    """Smallest and largest gap between the cups at the start [m]."""
    taller: tuple[float, float] = (0.0, 0.1)
    """Smallest and largest excess of the other cup's height over the depth of the largest amount of water in it [m], in
    addition to a quarter of that depth.
    """

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
                raise ValueError(f"{name} must be the smallest and the largest, got {getattr(self, name)}")


class TwoCups(Task):
    """A cup of water, and another beside it, into which all the water must be poured.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    wider = 1.0
    """Inner width of the other cup, in those of the cup of water."""

    def __init__(self, config: PouringConfig, modes: Modes) -> None:
        self.config = config
        width = config.breadth * config.spacing + 0.055
        other = self.wider * width
        self.water = water = Water(config, width, config.depth(width) / config.fill)
        self.cup = water.cup
        """Cup that the agent moves."""
        tallest = 1.25 * config.depth(other) + config.taller[1]
        self.between = 0.5 * (width + other) + 2.0 * self.cup.wall
        """Distance between the middles of cups that touch [m]."""
        self.target = water.add_cup(other, tallest, self.farthest, standing=True)
        """Cup to be filled."""
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
        """Return the agent's control of the cup."""
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
        """Largest distance between the middles of the cups [m]."""
        return self.between + self.config.gap[1]

    def shown(self) -> Corners:
        """Return the region that pictures show: both cups, and as much room above them."""
        half = 0.5 * max(self.cup.outer, self.target.outer)
        lower = np.array([-1.5 * half, 0.0, -half])
        return lower, np.array([self.farthest + half, 1.1 * (self.target.rim + self.cup.rim), half])

    def poses(self, world: World) -> np.ndarray:
        """Return the poses of both cups for each start state."""
        config, water, target = self.config, self.water, self.target
        stream = water.variations(2)
        gaps = stream.uniform(*config.gap, config.starts)
        sunk = config.taller[1] - stream.uniform(*config.taller, config.starts)
        nothing = np.zeros(config.starts)
        return water.start_poses(world, (water.cup, nothing, nothing), (target, self.between + gaps, sunk))

    def observe(self, world: World, observation: Any, first: int) -> Any:
        """Return the launch that writes the thirteen numbers of two cups."""
        cup, target, model = self.cup, self.target, world.model
        return prepare(
            world, observe_two, world.buffers["contents"], cup.row(model), target.row(model), cup.width, target.width,
            world.state.poses, first, observation,
        )  # fmt: skip

    def asked(self, world: World) -> np.ndarray:
        """Return the share to be poured in each environment, shape (num_envs,)."""
        return np.ones(world.num_envs)
