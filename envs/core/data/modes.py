"""Modes of actions, observations and rewards: the available ones, valid combinations, and a user's choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from pbd_gym.envs.core.data.randomization import Range, declared_largest

ActionMode = Literal["drag", "picker", "pin", "pick_place", "pick_then_place", "paddle", "cup"]
ACTION_MODES: tuple[ActionMode, ...] = get_args(ActionMode)
PICKER_MODES: tuple[ActionMode, ...] = ("picker", "pick_place")
"""Action modes in which the agent closes and opens hands; a hand that closes grasps any particle in reach."""
GRASPING_MODES: tuple[ActionMode, ...] = (*PICKER_MODES, "pick_then_place")
"""Action modes in which hands close on particles in reach, whoever closes them."""

ObsMode = Literal["keypoints", "particles", "goal", "memory", "reduced", "rgb", "depth", "rgbd", "segmentation"]
OBS_MODES: tuple[ObsMode, ...] = ("keypoints", "particles", "memory", "goal")
"""Observation modes made of a task's particle states. ``"reduced"`` exists only in tasks that name its particles."""
PIXEL_MODES: tuple[ObsMode, ...] = ("rgb", "depth", "rgbd", "segmentation")
"""Modes made of pictures; see :mod:`pbd_gym.envs.core.spaces.pixels`."""
REDUCED_MODES: tuple[ObsMode, ...] = (*OBS_MODES, "reduced", *PIXEL_MODES)
"""Observation modes of tasks with goals and a reduced state."""

RewardMode = Literal["dense", "sparse", "delta", "normalized", "finish"]
REWARD_MODES: tuple[RewardMode, ...] = ("dense", "sparse", "delta", "normalized", "finish")


@dataclass(frozen=True)
class Modes:
    """A user's choices besides the numbers of a task.

    Modes of actions, observations and rewards, and randomised parameters.
    """

    action_mode: ActionMode
    """Mode of the actions."""
    obs_mode: ObsMode = "keypoints"
    """Mode of the observations."""
    reward_mode: RewardMode = "dense"
    """Mode of the rewards."""
    ranges: Mapping[str, Range] = field(default_factory=dict)
    """Parameters that differ between episodes, by name."""

    @property
    def largest_size(self) -> float:
        """Largest possible factor of the size in an episode."""
        return max(1.0, declared_largest(self.ranges, "size"))

    @property
    def only_goals(self) -> bool:
        """Whether rewards must follow from goals alone, for hindsight experience replay."""
        return self.obs_mode == "goal"


def check_reward_mode(reward_mode: RewardMode | None, obs_mode: ObsMode) -> RewardMode:
    """Return the reward mode, by default dense, or sparse with ``obs_mode="goal"``.

    Raises:
        ValueError: for an unknown mode, or one that does not follow from goals alone with ``obs_mode="goal"``.
    """
    chosen: RewardMode = reward_mode or ("sparse" if obs_mode == "goal" else "dense")
    if chosen not in REWARD_MODES:
        raise ValueError(f"reward_mode must be one of {REWARD_MODES}, got {reward_mode!r}")
    if obs_mode == "goal" and chosen not in ("dense", "sparse"):
        raise ValueError(
            "with obs_mode='goal' rewards follow from the goals alone, as compute_reward has them; reward_mode must"
            f" be 'dense' or 'sparse', got {reward_mode!r}"
        )
    return chosen


def check_action_mode(action_mode: ActionMode | None, offered: tuple[ActionMode, ...]) -> ActionMode:
    """Return the action mode, by default the first that the task offers.

    Raises:
        ValueError: for one that the task does not offer.
    """
    if action_mode is not None and action_mode not in offered:
        raise ValueError(f"action_mode must be one of {offered}, got {action_mode!r}")
    return offered[0] if action_mode is None else action_mode


def check_obs_mode(obs_mode: ObsMode, offered: tuple[ObsMode, ...], pixels: Any) -> ObsMode:
    """Return the observation mode.

    Raises:
        ValueError: for one that the task does not offer, or if ``pixels`` are given in a mode without pictures.
    """
    if obs_mode not in offered:
        raise ValueError(f"obs_mode must be one of {offered}, got {obs_mode!r}")
    if pixels is not None and obs_mode not in PIXEL_MODES:
        raise ValueError(f"pixels apply with obs_mode in {PIXEL_MODES} only, got {obs_mode!r}")
    return obs_mode
