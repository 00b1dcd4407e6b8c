"""Benchmark scenes, W1 to W6, and measures of their final states."""

from __future__ import annotations

import numpy as np

from pbd_gym.colliders import Plane
from pbd_gym.geometry.grids import LYING
from pbd_gym.geometry.tetmeshes import box
from pbd_gym.materials.fluids import bell
from pbd_gym.materials.materials import ClothMaterial, RopeMaterial, SoftMaterial
from pbd_gym.scene.scene import Scene

CTRL_DT = 1 / 30
"""Control step of every workload [s]."""
SUBSTEPS = 10
SPACING = 0.02
"""Spacing of the particles of water [m]."""


def hanging_cloth(particles: int = 32) -> Scene:
    """W1 and W5: a square cloth of structural and shear constraints, hung by two corners (3,906 at 32 x 32)."""
    scene = Scene()
    cloth = scene.add_cloth(
        particles, particles, (1.0, 1.0), ClothMaterial(0.2, 1e-5, 1e-5, None), (0.0, 1.5, 0.0), None, False
    )
    scene.pin(cloth.corners[:2])
    return scene


def hanging_block() -> Scene:
    """W2: a block of 750 stable neo-Hookean tetrahedra, hung by its upper face."""
    scene = Scene()
    mesh = box((5, 6, 5), (0.25, 0.3, 0.25))
    block = scene.add_soft_body(mesh, SoftMaterial(1000.0, 1e5, 0.45), (0.0, 1.0, 0.0))
    scene.pin(block.indices[mesh.positions[:, 1] > 0.149])
    return scene


def hanging_rope() -> Scene:
    """W3: a rope of 40 particles, laid out level and hung by one end."""
    scene = Scene()
    rope = scene.add_rope([(0.02 * i, 1.0, 0.0) for i in range(40)], RopeMaterial(), lines=False)
    scene.pin(rope[:1])
    return scene


def towel(particles: int = 32) -> Scene:
    """W4: a towel over a floor, with self-collision and friction. :func:`folded` is its start."""
    scene = Scene(contact_radius=0.01)
    cloth = scene.add_cloth(
        particles, particles, (1.0, 1.0), ClothMaterial(0.2, 1e-5, 1e-4, 1e-2), (0.0, 0.02, 0.0), LYING, lines=False
    )
    scene.add_collider(Plane(friction=0.5))
    scene.add_particle_contacts(cloth.indices.ravel(), 0.45 / (particles - 1), friction=0.3)
    return scene


def folded(scene: Scene) -> np.ndarray:
    """Return the positions of the towel folded in half onto itself [m], shape (n, 3)."""
    (group,) = scene.particle_contacts
    gap = 2.2 * group.radius
    x, y, z = scene.positions.T
    along = z - z.min()
    # Flat up to the bend, half a circle, and back on top.
    bend = 0.5 * np.pi * gap
    flat = 0.5 * (along.max() - bend)
    turn = np.clip((along - flat) / bend, 0.0, 1.0) * np.pi
    back = np.minimum(along, flat) - np.maximum(along - flat - bend, 0.0)
    return np.stack([x, y + 0.5 * gap * (1.0 - np.cos(turn)), z.min() + back + 0.5 * gap * np.sin(turn)], axis=1)


def tank(block: tuple[int, int, int]) -> Scene:
    """W6: a column of water with a given number of particles per side, in a frictionless tank twice as long."""
    scene = Scene()
    length, height, depth = (SPACING * count for count in block)
    for normal, offset in (
        ((0, 1, 0), 0.0), ((1, 0, 0), 0.0), ((-1, 0, 0), -2.0 * length), ((0, 0, 1), 0.0), ((0, 0, -1), -depth)
    ):  # fmt: skip
        scene.add_collider(Plane(normal, offset, friction=0.0))
    scene.add_fluid_block((0.0, 0.0, 0.0), (length, height, depth), spacing=SPACING)
    return scene


def strain(scene: Scene, positions: np.ndarray) -> float:
    """Return the mean relative change of length of the springs of a scene, or of the edges of its tetrahedra.

    Args:
        scene: with the rest lengths.
        positions: positions of one environment [m], shape (n, 3).
    """
    if "distance" in scene.constraints:
        batch = scene.constraints["distance"]
        pairs, rest = np.concatenate(batch.indices), np.concatenate(batch.values["rest_length"])
    else:
        (tets, *_) = (np.concatenate(batch.indices) for batch in scene.constraints.values())
        corners = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
        pairs = np.unique(np.sort(tets[:, corners].reshape(-1, 2), axis=1), axis=0)
        rest = np.linalg.norm(scene.positions[pairs[:, 0]] - scene.positions[pairs[:, 1]], axis=1)
    lengths = np.linalg.norm(positions[pairs[:, 0]] - positions[pairs[:, 1]], axis=1)
    return float(np.abs(lengths / rest - 1.0).mean())


def level(positions: np.ndarray) -> float:
    """Return twice the mean height of particles over y = 0 [m]: the level of water lying evenly on a floor there.

    Args:
        positions: positions of one environment [m], shape (n, 3).
    """
    return 2.0 * float(positions[:, 1].mean(dtype=np.float64))


def compression(scene: Scene, positions: np.ndarray) -> float:
    """Return the mean excess of densities over the rest density, as a share of the rest density.

    Densities are those of this engine's kernel and walls, whichever engine moved the particles.

    Args:
        scene: with the fluid, and planes around it.
        positions: positions of the fluid in one environment [m], shape (n, 3).
    """
    assert scene.fluid is not None
    smoothing, x = scene.fluid.smoothing, np.asarray(positions, dtype=np.float64)
    near = np.linalg.norm(x[:, None] - x[None], axis=2) / smoothing.support
    open_share = np.ones(len(x))
    for plane in scene.colliders:
        assert isinstance(plane, Plane)
        open_share *= 1.0 - smoothing.wall_share(x @ np.array(plane.normal) - plane.offset)
    density = smoothing.amplitude * bell(near).sum(axis=1) + 1.0 - open_share
    return float(np.maximum(density - 1.0, 0.0).mean())
