"""Scenes to look at, put where a test wants them, and what rays through the pixels of a picture meet."""

import os

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

from typing import Any

import numpy as np
import warp as wp

from pbd_gym import Model, Scene, Solver
from pbd_gym.colliders import Box, Capsule, Plane, Sphere
from pbd_gym.colliders.solid import matrix_of
from pbd_gym.rendering import Camera
from pbd_gym.rendering.batched import Rasterizer
from pbd_gym.rendering.batched.rasterizer import IMAGES
from pbd_gym.sim.state import State

GROUND, BOX, CAPSULE, BALL = range(4)


def busy_scene() -> Scene:
    """Return a scene with two cloths, a rope, solids of three shapes, one of them moving, and the ground."""
    scene = Scene(grip_count=1)
    scene.add_collider(Plane())
    scene.add_collider(Box((0.6, 0.2, 0.3), (0.2, 0.2, 0.2)), moving=True)
    scene.add_collider(Capsule((-0.8, 0.3, 0.2), (-0.5, 0.6, 0.4), 0.12))
    scene.add_collider(Sphere((0.0, 0.25, 0.7), 0.2))
    scene.add_cloth(9, 9, (0.8, 0.8), position=(-0.3, 1.4, 0.0), lines=False)
    scene.add_cloth(5, 5, (0.5, 0.5), position=(0.5, 1.3, -0.3), lines=False)
    scene.add_rope([[x, 1.0 + 0.2 * x, 0.5] for x in np.linspace(-0.6, 0.6, 9)], lines=False)
    return scene


def random_state(model: Model, seed: int) -> State:
    """Return a state of which every environment has its own bent cloths and a turned box."""
    rng = np.random.default_rng(seed)
    state = Solver(model, substeps=10).state()
    x = model.scene.positions
    waves = rng.normal(size=(model.num_envs, 3, 3, 3)) * 2.0
    phase = rng.uniform(0, 6, (model.num_envs, 3, 3, 1))
    bend = np.sin(np.einsum("ekab,nb->ekan", waves, x) + phase).sum(axis=1)
    state.set_positions(x + 0.08 * bend.transpose(0, 2, 1))
    turn = rng.normal(size=(model.num_envs, 4))
    state.set_pose(BOX, origin=[0.6, 0.4, 0.3] + 0.1 * rng.normal(size=(model.num_envs, 3)), orientation=turn)
    return state


def random_cameras(rng: np.random.Generator, count: int) -> list[Camera]:
    """Return cameras round the scene that look down on it."""
    return [
        Camera(
            np.array([0.0, 0.8, 0.0]) + 0.2 * rng.normal(size=3),
            rng.uniform(2.5, 4.0), rng.uniform(-3.0, 3.0), rng.uniform(0.1, 0.9), rng.uniform(0.5, 0.8),
        )
        for _ in range(count)
    ]  # fmt: skip


def pictures(model: Model, state: State, cameras: list[Camera], size: Any, **kwargs: Any) -> dict[str, np.ndarray]:
    """Draw everything there is to draw; return it by name."""
    rasterizer = Rasterizer(model, cameras, size, IMAGES, **kwargs)
    rasterizer.draw(state)
    return {name: rasterizer.image(name).numpy().copy() for name in IMAGES}


@wp.kernel(enable_backward=False)
def cast(mesh: wp.uint64, eye: wp.vec3, rays: wp.array1d[wp.vec3], depth: wp.array1d[float], face: wp.array1d[int]):
    i = wp.tid()
    query = wp.mesh_query_ray(mesh, eye, rays[i], 1.0e3)
    if query.result:
        depth[i] = query.t
        face[i] = query.face


def ray_cast(
    state: State, env: int, camera: Camera, size: tuple[int, int], labels: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return depth [m] and label of every pixel, shape (height, width), by casting rays at triangles and the ground.

    Balls and ropes are not looked at.
    """
    scene = state.model.scene
    points = [state.get_positions()[env].astype(np.float64)]
    faces, found = [scene.triangles], [np.repeat([labels.index("body 0"), labels.index("body 1")], [128, 32])]
    pose = state.get_poses()[env]
    for number, collider in enumerate(scene.colliders):
        if isinstance(collider, Plane | Sphere):
            continue
        moved = collider.moved(pose[0, :3], matrix_of(pose[0, 3:])) if number == BOX else collider
        vertices, triangles = moved.mesh()
        faces.append(triangles + sum(map(len, points)))
        points.append(vertices)
        label = labels.index(f"{type(collider).__name__.lower()} {number}")
        found.append(np.full(len(triangles), label))
    mesh = wp.Mesh(
        wp.array(np.concatenate(points).astype(np.float32), dtype=wp.vec3),
        wp.array(np.concatenate(faces).astype(np.int32).ravel(), dtype=wp.int32),
    )
    i, j = np.meshgrid(np.arange(size[0]) + 0.5, np.arange(size[1]) + 0.5)
    right, up, forward = camera.axes()
    focal = camera.focal(size)
    # Rays of depth one: their length to a hit is its depth.
    rays = forward + (i[..., None] - size[0] / 2) / focal * right - (j[..., None] - size[1] / 2) / focal * up
    lengths = np.linalg.norm(rays, axis=2)
    depth, face = wp.full(rays.size // 3, 1e9, dtype=float), wp.full(rays.size // 3, -1, dtype=int)
    unit = (rays / lengths[..., None]).reshape(-1, 3).astype(np.float32)
    wp.launch(cast, len(unit), [mesh.id, wp.vec3(*camera.eye()), wp.array(unit, dtype=wp.vec3), depth, face])
    result = depth.numpy().reshape(lengths.shape) / lengths
    label = np.concatenate(found)[face.numpy().reshape(lengths.shape)]
    with np.errstate(divide="ignore"):
        ground = np.where(rays[..., 1] < 0, -camera.eye()[1] / rays[..., 1], np.inf)
    label[(face.numpy().reshape(lengths.shape) < 0)] = 0
    label[ground < result] = labels.index("plane 0")
    return np.minimum(result, ground), label
