"""Tuned numbers of imitation by id; docs/planning.md says what they reach."""

from __future__ import annotations

from typing import Any

_SURE: dict[str, Any] = {"steps": 0}
"""Of clones that are as good as PPO could make them, or that it cannot go on from."""
_BRIEF: dict[str, Any] = {"steps": 200_000, "starts": 400}
"""Of clones that are nearly right."""
_WIDE: dict[str, Any] = {"hidden": (512, 512), "noise": (0.0, 0.05, 0.1, 0.2), "jitter": 0.1, "steady": True}
"""Of tasks with many goals, or much to do."""

IMITATED: dict[str, dict[str, Any]] = {
    "PBDClothFold-v0": {"steady": True, "release": 10, "demonstrations": 2000, "refinement": {"steps": 500_000}},
    "PBDClothFoldDiagonal-v0": {"steady": True, "release": 10, "refinement": _BRIEF},
    "PBDClothFoldDrop-v0": {"steady": True, "release": 8, "refinement": _BRIEF},
    "PBDClothHang-v0": {"refinement": _BRIEF},
    # A whole move ends where it was aimed at on the towel that it was learned on.
    "PBDClothFoldPickPlace-v0": {
        "env_kwargs": {"resolution": "32"},
        "demonstrations": 500,
        "noise": (0.0, 0.01),
        "corrections": 8,
        "refinement": _SURE,
    },
    "PBDClothUnfold-v0": {
        "abreast": 500,
        "canonical": True,
        "point": True,
        "steady": True,
        "release": 6,
        "idle": 0.03,
        "demonstrations": 12_000,
        "noise": (0.0, 0.05, 0.1),
        "hidden": (512, 512),
        "epochs": 12,
        "refinement": {**_SURE, "starts": 1500},
    },
    "PBDManipulation-v0": {
        "abreast": 500,
        **_WIDE,
        "canonical": True,
        "demonstrations": 2500,
        "corrections": 3,
        "epochs": 6,
        "refinement": {"steps": 600_000, "starts": 2000},
    },
    "PBDTShirtFold-v0": {
        "abreast": 300,
        **_WIDE,
        "demonstrations": 1500,
        "corrections": 1,
        "epochs": 8,
        "refinement": {**_SURE, "starts": 800},
    },
    "PBDRopeShape-v0": {
        "abreast": 500,
        "near": True,
        "point": True,
        "full_speed": True,
        "obs_mode": "keypoints",
        "activation": "relu",
        "demonstrations": 2000,
        "noise": (0.0, 0.05),
        "corrections": 12,
        "corrected": 0.5,
        "handed": 0.25,
        "epochs": 5,
        "last_epochs": 20,
        "jitter": 0.0,
        "refinement": {**_SURE, "starts": 4000},
    },
    "PBDRopePush-v0": {
        "abreast": 600,
        "demonstrations": 3000,
        "noise": (0.0, 0.05, 0.1),
        "corrections": 14,
        "hidden": (384, 384),
        "epochs": 6,
        "refinement": {**_SURE, "starts": 4000, "images": True},
    },
    "PBDRopeWhip-v0": {"demonstrations": 1500, "refinement": {**_SURE, "starts": 1500}},
    "PBDSoftLift-v0": {"steady": True},
    "PBDSoftShape-v0": {
        "abreast": 500,
        "demonstrations": 20_000,
        "noise": (0.0, 0.1, 0.2),
        "epochs": 14,
        "refinement": {**_SURE, "starts": 4000},
    },
    "PBDPassWater-v0": {"demonstrations": 300},
    "PBDPourWater-v0": {"demonstrations": 200},
    "PBDPourWaterAmount-v0": {"abreast": 200, "demonstrations": 1000, "corrections": 8, "refinement": _SURE},
    "PBDPourSoup-v0": {"demonstrations": 150},
}
"""Fields of :class:`pbd_gym.training.settings.imitation.ImitateArgs` by id, those of its refinement in a dict."""
