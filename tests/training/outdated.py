"""The list of bundled agents that a change of physics has broken, until they are trained anew.

An id stands here with the reason if its agent succeeds in less than 90 % of its episodes. Tests that let agents act
leave it out; whoever trains it again takes it out.
"""

OUTDATED: dict[str, str] = {
    "PBDRopePush-v0": "friction of what two solids touch: 81 % of 48 episodes",
    "PBDRopeShape-v0": "how ropes rest and lie across each other: 88 % of 128 episodes, 96 % before",
    "PBDRopeStraighten-v0": "how ropes rest and lie across each other: 21 % of 48 episodes, 98 % before",
    "PBDRopeWhip-v0": "damping that moves nothing at rest: none of 48 episodes",
    "PBDSoftShape-v0": "friction of what two solids touch and how overlaps leave: 50 % of 48 episodes, 94 % before",
}
"""Reason by id."""
