"""The list of bundled agents that a change of physics or of success has broken, until they are trained anew.

An id stands here with the reason if its agent succeeds in less than 90 % of its episodes. Tests that let agents act
leave it out; whoever trains it again takes it out.
"""

OUTDATED: dict[str, str] = {
    "PBDClothFlatten-v0": "hands that wait: 88 % of the benchmark's 100 states, 90 % before",
    "PBDRopePush-v0": "90 steps in place of 60, and strict success: 23 % of the benchmark's 100 states",
    "PBDTShirtFold-v0": "success that asks for nine tenths of the particles: 86 % of the benchmark's 100 states",
    "PBDSoftShape-v0": "trained again: 75 % of the benchmark's 100 states, of which the former agent solved 38",
}
"""Reason by id."""
