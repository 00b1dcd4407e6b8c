"""Bodies that start deep inside colliders, of which a model warns."""

import warnings
from typing import Any

import numpy as np
import pytest

from pbd_gym import Box, Capsule, MeshCollider, Model, Plane, Scene, SoftMaterial, Sphere, geometry
from pbd_gym.scene.overlaps import warn_of_overlaps

BLOCK = geometry.box((2, 2, 2), (0.06, 0.06, 0.06))
LYING = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]
SOLID = MeshCollider(BLOCK.positions, BLOCK.triangles, margin=0.02)
WALL = Box((0.0, 0.0, 0.0), (0.01, 0.5, 0.5))


def put(scene: Scene, kind: str, at: Any) -> None:
    """Add a body of 6 cm, or a particle, somewhere."""
    if kind == "cloth":
        scene.add_cloth(4, 4, (0.06, 0.06), position=at, rotation=LYING)
    elif kind == "rope":
        scene.add_rope(np.add(at, [(0.01 * i - 0.05, 0.0, 0.0) for i in range(11)]))
    elif kind == "soft":
        scene.add_soft_body(BLOCK, SoftMaterial(1000.0, 1e5, 0.3), position=at)
    elif kind == "rigid":
        scene.add_rigid_body(BLOCK, 1000.0, 0.02, position=at)
    else:
        scene.add_particles([at], mass=0.1)


@pytest.mark.parametrize(
    ("kind", "at", "collider", "depth", "owner"),
    [
        ("cloth", (0.0, -0.05, 0.0), Plane(), 0.05, "a body with constraints .*'stretch'"),
        ("soft", (0.0, -0.1, 0.0), Plane(), 0.13, "a body with constraints 'elastic'"),
        ("rigid", (0.0, -0.1, 0.0), Plane(), 0.13, "rigid body 0"),
        ("particle", (0.0, 0.07, 0.0), Sphere((0.0, 0.0, 0.0), 0.1), 0.03, "no body"),
        ("rope", (0.0, 0.0, 0.0), WALL, 0.01, "a body with constraints .*'stretch'"),
        ("soft", (0.0, 0.0, 0.0), Capsule((0.0, -1.0, 0.0), (0.0, 1.0, 0.0), 0.05), 0.05, "a body with constraints"),
        ("soft", (0.02, 0.02, 0.02), SOLID, 0.02, "a body with constraints 'elastic'"),
    ],
)
def test_what_starts_too_deep_is_named(kind: str, at: Any, collider: Any, depth: float, owner: str) -> None:
    scene = Scene(contact_radius=0.005)
    put(scene, "particle", (0.5, 1.0, 0.0))
    scene.add_collider(Box((0.0, 1.3, 0.0), (0.1, 0.1, 0.1)))
    scene.add_collider(collider)
    put(scene, kind, at)
    kind_of = type(collider).__name__
    message = rf"particle [1-9]\d* of {owner}.* starts {depth:.3g} m inside collider 1, a {kind_of}"
    with pytest.warns(RuntimeWarning, match=message) as told:
        Model(scene)
    assert len(told) == 1
    assert told[0].filename == __file__


@pytest.mark.parametrize(
    ("kind", "at", "collider", "moving"),
    [
        ("cloth", (0.0, 0.0, 0.0), Plane(), False),
        ("soft", (0.0, -0.01, 0.0), Plane(), False),  # stands in the floor by half
        ("rigid", (0.0, 0.03, 0.0), Plane(), False),
        ("cloth", (0.0, 0.01, 0.0), WALL, True),  # that may yet be put elsewhere
        ("rope", (0.06, 0.0, 0.0), WALL, False),
        ("particle", (0.0, 0.0, 0.2), Sphere((0.0, 0.0, 0.0), 0.1), False),
    ],
)
@pytest.mark.parametrize("radius", [0.0, 0.005])
def test_nothing_is_said_of_what_a_scene_can_mean(
    kind: str, at: Any, collider: Any, moving: bool, radius: float
) -> None:
    scene = Scene(contact_radius=radius)
    scene.add_collider(collider, moving=moving)
    put(scene, kind, at)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_overlaps(scene, stacklevel=1)


def test_pinned_particles_and_bodies_of_many_calls() -> None:
    """Guards that what is pinned does not count, and that a body is what constraints join."""
    scene = Scene(contact_radius=0.005)
    scene.add_collider(Plane())
    pinned = scene.add_particles([(0.0, -0.3, 0.0)], mass=0.1)
    scene.pin(pinned)
    column = scene.add_particles([(0.0, height, 0.0) for height in np.linspace(-0.2, 0.2, 30)], mass=0.1)
    scene.add_distance_constraints(np.stack([column[:-1], column[1:]], axis=1)[::-1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_overlaps(scene, stacklevel=1)
    scene.add_particles([(0.0, -0.05, 0.0)], mass=0.1)
    with pytest.warns(RuntimeWarning, match="particle 31 of no body starts 0.05 m inside collider 0, a Plane"):
        warn_of_overlaps(scene, stacklevel=1)
