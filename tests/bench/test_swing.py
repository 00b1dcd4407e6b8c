"""The swung towel: lines and tethers hold it, distance constraints alone do not."""

from __future__ import annotations

from pbd_gym.bench.swing import swing


def test_a_swung_towel_hardly_stretches() -> None:
    """Guards the strain that is asked for at 16 x 16: 2 %; plain constraints leave ten times as much."""
    held = swing(16, lines=True, tethers=True, num_envs=4)
    assert held.strain < 0.02
    assert swing(16, lines=False, tethers=False, num_envs=4).strain > 10 * held.strain
