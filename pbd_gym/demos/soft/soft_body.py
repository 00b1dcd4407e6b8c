"""One soft body above a floor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from pbd_gym.colliders import Plane
from pbd_gym.demos.options import Options, option, switch
from pbd_gym.demos.scene_demo import SceneDemo
from pbd_gym.geometry import tetmeshes
from pbd_gym.geometry.embedding import cage
from pbd_gym.geometry.mesh_files import SOLIDS, read_tetmesh, read_trimesh
from pbd_gym.geometry.tetmeshes import TetMesh, from_tets
from pbd_gym.geometry.trimeshes import TriMesh
from pbd_gym.materials.materials import SoftMaterial
from pbd_gym.scene.scene import Scene

NO_SLIP = 100.0
"""Friction coefficient at which nothing slides."""
FOOT = 0.08
"""Radius within which a kick acts [m]."""
SIZE = 0.5
"""Longest side of a body loaded from a file [m]."""
CUBES = 12
"""Number of cubes of tetrahedra along it, if the file holds only a surface."""
HARE = Path(__file__).parent / "hare.npz"
"""Surface of a hare, our own: ``docs/figures/hare.py`` makes it."""


SHAPES = ("hare", "ball", "box", "torus")
"""Shapes that need no file."""


def _check_mesh(name: str) -> None:
    """Raise the errors of :func:`solid`."""
    solid(name)


@dataclass(frozen=True)
class Shape:
    """Tetrahedra of a body, and its surface if they carry one."""

    mesh: TetMesh
    """Tetrahedra."""
    skin: TriMesh | None = None
    """Finer surface that they carry."""


@dataclass(frozen=True)
class SoftBodyOptions(Options):
    """Numbers of a soft body."""

    mesh: str = option("hare", "hare, ball, box, torus, or a mesh file", choices=SHAPES, check=_check_mesh)
    density: float = option(1000.0, "mass per volume [kg/m^3]", low=1.0, high=1e5)
    young_modulus: float = option(1e5, "stiffness of the edges [Pa]", low=1e2, high=1e9)
    compliance: float = option(
        0.0, "compliance of every edge [m/N], in place of both moduli; 0 takes those", low=0.0, high=1.0, step=1e-5
    )
    poisson_ratio: float = option(0.45, "0.25 for edges alone, more with volumes", low=0.25, high=0.49, step=0.04)
    kick: float = option(15.0, "speed that a kick gives a particle [m/s]", low=0.0, high=100.0, step=2.0)
    slip: str = switch(True, "whether it slides over the floor, or stays where it touches")
    restitution: float = option(0.4, "restitution of the floor", low=0.0, high=1.0, step=0.1)
    gravity: float = option(-9.81, "vertical acceleration [m/s^2]", low=-100.0, high=100.0, step=1.0)
    time_step: float = option(0.002, "time step of the solver [s]", low=1e-4, high=0.04)
    iterations: int = option(1, "sweeps over all constraints per step", low=1, high=100)
    damping: float = option(0.5, "rate at which velocities fade [1/s]", low=0.0, high=50.0, step=0.5)


def solid(name: str) -> Shape:
    """Return a shape, or that of a file, scaled to about half a metre."""
    if name == "hare":
        return _hare()
    if name == "ball":
        return Shape(tetmeshes.ball(0.25, 3))
    if name == "box":
        return Shape(tetmeshes.box((4, 4, 4), (0.4, 0.4, 0.4)))
    if name == "torus":
        return Shape(tetmeshes.torus(0.25, 0.1, 20, 2))
    return _from_file(name)


@cache
def _from_file(name: str) -> Shape:
    """Return the tetrahedra of a file, or its surface with coarse ones inside that carry it, scaled and centred.

    Raises:
        ValueError: for an unsupported file, or a mesh that is not a closed solid.
        FileNotFoundError: for a missing file.
        ImportError: if its reader is not installed.
    """
    if Path(name).suffix.lower() in SOLIDS:
        solid = read_tetmesh(name, scale=1.0)
        middle, extent = _box(solid.positions)
        return Shape(from_tets((solid.positions - middle) * SIZE / extent, solid.tets))
    surface = read_trimesh(name, scale=1.0)  # of any size: it is scaled below
    return _filled(surface.positions, surface.triangles)


@cache
def _hare() -> Shape:
    with np.load(HARE) as file:
        return _filled(file["vertices"].astype(float), file["triangles"].astype(np.int32))


def _filled(positions: np.ndarray, triangles: np.ndarray) -> Shape:
    """Return a closed surface, scaled and centred, with coarse tetrahedra inside that carry it."""
    middle, extent = _box(positions)
    skin = TriMesh((positions - middle) * SIZE / extent, triangles)
    return Shape(cage(skin, SIZE / CUBES), skin)


def _box(positions: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the middle and the longest side of the box around positions (n, 3)."""
    lower, upper = positions.min(axis=0), positions.max(axis=0)
    return 0.5 * (lower + upper), float((upper - lower).max())


class SoftBodyDemo(SceneDemo[SoftBodyOptions]):
    """A soft body of edge and volume constraints that falls on the floor; it can be kicked, pulled and dragged.

    Each edge of the tetrahedra is a distance constraint, each tetrahedron a constraint on its volume. Together they
    make a body that deforms and returns to its shape. Less stiffness gives jelly; with a Poisson's ratio of 1/4 only
    the edges act, and the body can be squeezed. `--compliance 1e-4` gives all edges the same compliance and leaves
    volumes rigid, as tutorials do: then a finer mesh is a softer body. The key `k` kicks a random particle up, `l`
    pulls one towards the origin. The hare is a closed surface, filled with coarse tetrahedra that carry it as a skin:
    it is what is drawn and what touches; `--mesh bunny.obj` does the same with a surface of your own. A .msh
    or .vtk file has its tetrahedra.

    Macklin, Mueller, Chentanez 2016: XPBD, doi:10.1145/2994258.2994272; the demonstration follows the tetrahedral one
    of the tiPBD project, with lumped masses that are added before they are inverted.
    """

    box = ((-0.5, 0.0, -0.5), (0.5, 0.9, 0.5))
    deeds = (
        ("k", "kick a particle up", "kick_up"),
        ("l", "pull one to the origin", "pull_to_origin"),
    )
    rebuilt = ("mesh",)

    def build(self) -> Scene:
        """Return the scene, with one grip for the hand."""
        options = self.options
        shape = solid(options.mesh)
        mesh = shape.mesh
        # Tilted, so that it lands on an edge and rolls over.
        tilt = np.array([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
        outer = mesh if shape.skin is None else shape.skin
        lowest = float((outer.positions @ tilt.T)[:, 1].min())
        scene = Scene(gravity=(0.0, options.gravity, 0.0), grip_count=1)
        scene.add_collider(Plane(friction=0.3 if options.slip == "on" else NO_SLIP, restitution=options.restitution))
        place = np.array([-0.3, 0.4 - lowest, 0.2])  # it rolls on to the right, and back
        if options.compliance > 0.0:
            particles = scene.add_particles(mesh.positions @ tilt.T + place, options.density * mesh.vertex_volumes())
            scene.add_distance_constraints(particles[mesh.edges], options.compliance)
            scene.add_constraints("tet_volume", particles[mesh.tets], compliance=0.0)
            scene.triangles = particles[mesh.triangles]  # without a skin: all edges alike are of the tetrahedra alone
        else:
            material = SoftMaterial(options.density, options.young_modulus, options.poisson_ratio, "edges_and_volumes")
            scene.add_soft_body(mesh, material, place, tilt, skin=shape.skin)
        self.mesh = mesh
        return scene

    def reset(self) -> None:
        """Restart with the current options."""
        super().reset()
        self.random = np.random.default_rng(2)
        self._kicks = [(1.2, self.kick_up), (2.4, self.pull_to_origin)]

    def kick_up(self) -> None:
        """Kick a random particle up."""
        self._kick(self._any(), np.array([0.0, self.options.kick, 0.0]))

    def pull_to_origin(self) -> None:
        """Kick a random particle towards the origin."""
        particle = self._any()
        way = -self.positions()[particle]
        self._kick(particle, self.options.kick * way / max(float(np.linalg.norm(way)), 1e-9))

    def _kick(self, particle: int, velocity: np.ndarray) -> None:
        """Give a particle a velocity, and nearby ones less with distance: a foot has a size."""
        distance = np.linalg.norm(self.positions() - self.positions()[particle], axis=1)
        share = np.exp(-0.5 * (distance / FOOT) ** 2)[:, None] * (self.state.inv_mass_scalar.numpy()[0] > 0)
        self.state.set_velocities(self.velocities() + share * velocity)

    def _any(self) -> int:
        return int(self.random.integers(self.scene.particle_count))

    def perform(self) -> None:
        """Kick and pull if nobody else does."""
        while self._kicks and self.time >= self._kicks[0][0]:
            self._kicks.pop(0)[1]()

    def volume_ratio(self) -> float:
        """Return the volume relative to that at rest."""
        mesh, now = self.mesh, self.positions()[: len(self.mesh.positions)]
        return TetMesh(now, mesh.tets, mesh.triangles, mesh.edges).volume() / mesh.volume()

    def readout(self) -> str:
        """Return the time and the volume."""
        return f"{super().readout()}   volume {100 * self.volume_ratio():.1f} %"
