"""Tuned numbers of the planner, by id."""

from __future__ import annotations

from pbd_gym.envs.tools.planning import CEMSettings

_CARRY = CEMSettings(horizon=15, knot_every=3, replan_every=3)
_FOLD = CEMSettings(iterations=4, horizon=30, knot_every=6, replan_every=6)
_CUPS = CEMSettings(candidates=64, horizon=24, knot_every=6, replan_every=6)  # water is slow, and so are cups
CEM: dict[str, CEMSettings] = {
    "PBDCloth-v0": _CARRY,
    "PBDRope-v0": _CARRY,
    "PBDSoftBody-v0": _CARRY,
    "PBDClothDrop-v0": CEMSettings(iterations=4, horizon=30, knot_every=3, replan_every=3),
    "PBDClothFold-v0": _FOLD,
    "PBDClothFoldDiagonal-v0": _FOLD,
    "PBDClothFoldDrop-v0": _FOLD,
    "PBDPendulum-v0": CEMSettings(horizon=60, knot_every=6, replan_every=6, start_spread=1.0),
    "PBDClothFlattenPickPlace-v0": CEMSettings(horizon=4, knot_every=1, replan_every=1),
    "PBDClothFoldPickPlace-v0": CEMSettings(horizon=4, knot_every=1, replan_every=1),
    **{f"PBD{name}-v0": _CUPS for name in ("PassWater", "PourWater", "PourWaterAmount", "PourSoup")},
}
"""Settings by id; other ids use the defaults of :class:`pbd_gym.envs.tools.planning.CEMSettings`."""


def settings_of(env_id: str) -> CEMSettings:
    """Return the settings for an id."""
    return CEM.get(env_id, CEMSettings())
