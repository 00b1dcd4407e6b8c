"""Meshes in NumPy: grids, triangles, tetrahedra, garments, surfaces of revolution, moments, files, regions, neighbours.

The names below are public, as ``from pbd_gym import geometry`` and ``geometry.torus(0.3, 0.1)``.
"""

from pbd_gym.geometry.embedding import cage
from pbd_gym.geometry.garments import tshirt
from pbd_gym.geometry.mesh_files import read_tetmesh, read_trimesh, write_mesh
from pbd_gym.geometry.regions import graph_regions, lattice_regions
from pbd_gym.geometry.tetmeshes import TetMesh, ball, box, lattice, tetmesh, torus
from pbd_gym.geometry.trimeshes import TriMesh, revolution, trimesh

__all__ = [
    "TetMesh",
    "TriMesh",
    "ball",
    "box",
    "cage",
    "graph_regions",
    "lattice",
    "lattice_regions",
    "read_tetmesh",
    "read_trimesh",
    "revolution",
    "tetmesh",
    "torus",
    "trimesh",
    "tshirt",
    "write_mesh",
]
