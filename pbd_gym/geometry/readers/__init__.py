"""Readers of the text formats of meshes, and of PLY and STL, in NumPy: errors say what is wrong and in which line.

They stand here because what the readers of trimesh and meshio make of such files is wrong now and then: polygons are
cut as fans, byte-order marks and numbers that cannot be read are passed over, cells with nodes at their edges refused.
"""
