"""The list of bundled agents that a change of physics has broken, until they are trained anew.

An id stands here with the reason if its agent succeeds in less than 90 % of its episodes. Tests that let agents act
leave it out; whoever trains it again takes it out.
"""

OUTDATED: dict[str, str] = {}
"""Reason by id."""
