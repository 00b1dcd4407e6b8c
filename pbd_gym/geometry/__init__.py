"""Meshes in NumPy: grids, triangles, tetrahedra, garments, files, regions, intersections, neighbours."""
