"""Ids in files: those that are registered, of this package or another, with arguments that a file may choose."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.rope.straighten import RopeStraightenVectorEnv
from pbd_gym.envs.tools.named_env import check_named_env
from pbd_gym.registry import ENTRIES


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_every_id_is_known_with_its_own_arguments(entry: Any) -> None:
    check_named_env(entry.id, {**entry.kwargs, "max_episode_steps": 3, "obs_mode": "goal", "substeps": 2})


def test_ids_of_other_packages_are_known_once_they_are_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(RopeStraightenVectorEnv):
        pass

    assert issubclass(Other, TaskVectorEnv)
    with pytest.raises(ValueError, match="no environment 'OtherRope-v0'"):
        check_named_env("OtherRope-v0", {})
    gym.register("OtherRope-v0", entry_point="none:None", vector_entry_point=Other)
    try:
        check_named_env("OtherRope-v0", {"particles": 9})
        with pytest.raises(ValueError, match="no argument 'colour'"):
            check_named_env("OtherRope-v0", {"colour": 9})
    finally:
        del gym.registry["OtherRope-v0"]


@pytest.mark.parametrize(
    ("env_id", "kwargs"),
    [
        ("os:PBDRope-v0", {}), ("CartPole-v1", {}), ("FrozenLake-v1", {}), ("", {}), (None, {}), (["PBDRope-v0"], {}),
        ("PBDRope-v0", None), ("PBDRope-v0", []), ("PBDRope-v0", {"num_envs": 3}), ("PBDRope-v0", {"self": 3}),
        ("PBDRope-v0", {"overrides": {}}), ("PBDRope-v0", {"vectorization_mode": "async"}),
    ],
)  # fmt: skip
def test_all_else_is_refused(env_id: Any, kwargs: Any) -> None:
    with pytest.raises(ValueError):
        check_named_env(env_id, kwargs)
