"""Tuned numbers for observations made of pictures, and the cameras that take them."""

from __future__ import annotations

from typing import Any

from pbd_gym.training.settings.algorithms import PPOSettings


def _camera(height: float, distance: float, yaw: float, pitch: float, x: float = 0.0) -> dict[str, Any]:
    """Return a camera: height and x of its target [m], distance from it [m], yaw and pitch [rad]."""
    return {"target": (x, height, 0.0), "distance": distance, "yaw": yaw, "pitch": pitch}


def _seen(*cameras: dict[str, Any]) -> PPOSettings:
    """Return settings for pictures of 48 x 48 that some cameras take."""
    return PPOSettings(
        800_000,
        n_epochs=4,
        batch_size=256,
        learning_rate=7e-4,
        frame_stack=2,
        predict_state=True,
        env={"pixels": {"size": 48, "cameras": cameras}},
    )


_ABOVE, _BEFORE = _camera(0.0, 1.0, 0.0, 1.35), _camera(0.12, 1.0, 0.0, 0.3)
PIXELS: dict[str, PPOSettings] = {
    # Two cameras to the left and the right, from above: one alone hardly tells how far away a goal is.
    "PBDCloth-v0": _seen(*(_camera(1.0, 2.9, yaw, 0.4) for yaw in (-0.75, 0.75))),
    "PBDClothDrop-v0": _seen(*(_camera(0.28, 1.3, yaw, 0.4) for yaw in (-0.7, 0.7))),
    "PBDClothFold-v0": _seen(_ABOVE, _BEFORE),
    "PBDClothFlatten-v0": _seen(_ABOVE, _BEFORE),
    "PBDRopeStraighten-v0": _seen(_ABOVE, _BEFORE),
    "PBDSoftLift-v0": _seen(_camera(0.17, 0.75, 0.0, 0.15), _camera(0.17, 0.75, 1.2, 0.15)),
    "PBDSoftPush-v0": _seen(_camera(0.0, 1.1, 0.0, 1.35, x=0.1)),
    "PBDPourWater-v0": _seen(_camera(0.17, 0.85, 0.0, 0.15, x=0.1), _camera(0.17, 0.85, 0.9, 0.3, x=0.1)),
}
"""Settings by id."""

FALLBACK = PPOSettings(1_000_000, n_epochs=4, learning_rate=5e-4, frame_stack=3)
"""For an id without an entry of its own."""
