"""Constraint kinds. Each module owns one kind: its data, its projection and its sweep.

To add a kind: write a module with ``NAME``, ``Table`` and ``make_sweep`` like :mod:`pbd_gym.constraints.distance`, and
name it in :data:`KINDS`. The kernel of a scene is compiled with the kinds that it uses.
"""

from pbd_gym.constraints import distance

KINDS = (distance,)
"""Modules of the constraint kinds, in the order in which an iteration sweeps them."""
