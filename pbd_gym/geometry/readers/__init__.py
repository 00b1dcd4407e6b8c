"""Readers of text mesh formats, and of PLY and STL, in NumPy: errors name the fault and its line.

They exist because the readers of trimesh and meshio sometimes misread such files: polygons are cut as fans, byte-order
marks and unreadable numbers ignored, and higher-order cells refused.
"""
