"""Comparisons and studies of a clone of the repository: peers, hand-written C, fabrics, a swung towel.

What measures this package alone is in it: ``pbd-gym bench``.
"""
