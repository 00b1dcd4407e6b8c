"""Modes of reward, action and observation: which there are, and which go together."""

from __future__ import annotations

from typing import Any, Literal

from pbd_gym.envs.core.spaces.actions import ActionMode
from pbd_gym.envs.core.spaces.observations import ObsMode
from pbd_gym.envs.core.spaces.pixels import PIXEL_MODES

RewardMode = Literal["dense", "sparse", "delta", "normalized", "finish"]
REWARD_MODES: tuple[RewardMode, ...] = ("dense", "sparse", "delta", "normalized", "finish")


def check_reward_mode(reward_mode: RewardMode | None, obs_mode: ObsMode) -> RewardMode:
    """Return the reward mode, by default dense, or sparse with ``obs_mode="goal"``.

    Raises:
        ValueError: for an unknown one, or one that does not follow from goals alone with ``obs_mode="goal"``.
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
        raise ValueError(f"pixels are of use with obs_mode in {PIXEL_MODES} only, got {obs_mode!r}")
    return obs_mode
