"""Long runs with contacts: a towel on itself, a tight knot, a ball in a closing box. Prints what docs/accuracy.md says.

Run ``python -m docs.figures.stability [towel] [knot] [ball]``: 10,000 substeps each, minutes on one core.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from pbd_gym.colliders import Box, Plane
from pbd_gym.geometry.surfaces import crossings
from pbd_gym.geometry.tetmeshes import ball as ball_mesh
from pbd_gym.materials.materials import ClothMaterial, RopeMaterial, SoftMaterial
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State

SUBSTEPS = 20
CTRL_DT = 1 / 60
FRAMES = 500
ENVS = 16


def strand_distance(x: np.ndarray, gap: int) -> float:
    """Smallest distance of parts of a rope that are more than ``gap`` particles apart [m], 6 points a segment."""
    along = np.linspace(0.0, 1.0, 6)[:, None]
    points = (x[:-1, None] + along * (x[1:] - x[:-1])[:, None]).reshape(-1, 3)
    owner = np.repeat(np.arange(len(x) - 1), len(along))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    return float(distances[np.abs(owner[:, None] - owner[None]) > gap].min())


def report(name: str, frame: int, state: State, extra: str) -> None:
    """Print a line about all environments."""
    speed = np.linalg.norm(state.get_velocities(), axis=2)
    print(
        f"{name}, substep {(frame + 1) * SUBSTEPS:6d}: fastest {speed.max():.3f} m/s, "
        f"diverged {int(state.diverged.numpy().sum())}, crowding {state.get_contact_overflow().max()}, {extra}",
        flush=True,
    )


def towel(n: int = 32) -> None:
    """A towel of 1 m stands on its edge, ruffled differently in each environment, and falls on itself."""
    radius = 0.45 / (n - 1)
    scene = Scene(contact_radius=radius)
    cloth = scene.add_cloth(n, n, (1.0, 1.0), ClothMaterial(0.2, 1e-5, 1e-5, None), (0.0, 1.05, 0.0), lines=False)
    scene.add_collider(Plane(friction=0.5))
    scene.add_particle_contacts(cloth.indices.ravel(), radius, 0.3)
    threads = scene.constraints["distance"].indices[0]
    model = Model(scene, ENVS)
    solver = Solver(model, SUBSTEPS, damping=0.5)
    state, control = solver.state(), solver.control()
    noise = np.random.default_rng(0).normal(size=(ENVS, *scene.positions.shape))
    state.set_positions(scene.positions + 0.005 * noise)
    for frame in range(FRAMES):
        solver.step(state, control, CTRL_DT)
        if (frame + 1) % 100 == 0:
            x = state.get_positions()
            pierced = sum(crossings(row, scene.triangles, threads) for row in x)
            report("towel", frame, state, f"lowest {x[..., 1].min():.4f} m, threads through cloth {pierced}")


def knot() -> None:
    """A loose overhand knot is pulled tight by its ends, to where it has no more rope to give, and held there."""
    radius, scale = 0.012, 0.07
    t = np.linspace(np.pi, 3.0 * np.pi, 4000)[60:-60]
    trefoil = scale * np.stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)], axis=1)
    # Cut open where it is farthest out, with ends that lead straight away from the middle.
    ends = [tip + np.linspace(0.0, 0.4, 400)[1:, None] * tip / np.linalg.norm(tip) for tip in trefoil[[0, -1]]]
    path = np.concatenate([ends[0][::-1], trefoil, ends[1]])
    arc = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1)))
    count = int(arc[-1] / (2 * radius))
    points = np.stack([np.interp(np.linspace(0, arc[-1], count), arc, path[:, axis]) for axis in range(3)], axis=1)
    scene = Scene(gravity=(0.0, 0.0, 0.0), grip_count=2)
    rope = scene.add_rope(points, RopeMaterial(0.05, 1e-6, 1e-1), lines=False)
    scene.add_particle_contacts(rope, radius, 0.3)
    model = Model(scene, ENVS)
    solver = Solver(model, SUBSTEPS, damping=2.0)
    state, control = solver.state(), solver.control()
    state.hold(np.broadcast_to([rope[0], rope[-1]], (ENVS, 2)))
    direction = (points[0] - points[-1]) / np.linalg.norm(points[0] - points[-1])
    slack = arc[-1] - np.linalg.norm(points[0] - points[-1]) - 2 * radius * np.linspace(17.0, 24.0, ENVS)
    frames = 360
    for frame in range(FRAMES):
        pull = slack[:, None] / (2 * frames) * direction if frame < frames else np.zeros((ENVS, 3))
        control.move(np.stack([pull, -pull], axis=1))
        solver.step(state, control, CTRL_DT)
        if (frame + 1) % 50 == 0:
            x = state.get_positions()
            nearest = min(strand_distance(row, 5) for row in x)
            stretch = np.linalg.norm(np.diff(x, axis=1), axis=2).max() * (count - 1) / arc[-1]
            report("knot", frame, state, f"strands {nearest / (2 * radius):.2f} diameters apart, stretch {stretch:.3f}")


def ball() -> None:
    """A soft ball is squeezed between two walls that close to a third of its diameter, and open again."""
    radius, thick = 0.1, 0.02
    scene = Scene(contact_radius=0.004)
    body = scene.add_soft_body(ball_mesh(radius, 4), SoftMaterial(200.0, 5e4, 0.45), (0.0, radius + 0.004, 0.0))
    scene.add_collider(Plane(friction=0.5))
    walls = [
        scene.add_collider(Box((side * (radius + 0.004 + thick), 0.15, 0.0), (thick, 0.15, 0.3), friction=0.3), True)
        for side in (-1.0, 1.0)
    ]
    surface = np.unique(body.triangles)
    scene.add_particle_contacts(surface, 0.01, 0.3)
    model = Model(scene, ENVS)
    solver = Solver(model, SUBSTEPS, damping=0.2)
    state, control = solver.state(), solver.control()
    rest = scene.positions[body.tets]
    way = np.linspace(0.3, 2 / 3, ENVS)[:, None] * radius * np.array([1.0, 0.0, 0.0])

    def volumes(x: np.ndarray) -> np.ndarray:
        sides = x[..., 1:, :] - x[..., :1, :]
        return np.linalg.det(sides) / 6.0

    for frame in range(FRAMES):
        phase = frame // 125  # close, hold, open, rest
        share = {0: 1 / 125, 1: 0.0, 2: -1 / 125, 3: 0.0}[phase]
        for wall, sign in zip(walls, (1.0, -1.0), strict=True):
            control.move_collider(wall, sign * share * way)
        solver.step(state, control, CTRL_DT)
        if (frame + 1) % 25 == 0:
            x = state.get_positions()
            share_kept = volumes(x[:, body.tets]) / volumes(rest)
            faces = np.stack([state.get_poses()[:, k, 0] for k in range(2)], axis=1) + np.array([thick, -thick])
            inside = np.maximum(faces[:, :1] - x[..., 0], x[..., 0] - faces[:, 1:]).max() + 0.004
            total = volumes(x[:, body.tets]).sum(axis=1) / volumes(rest).sum()
            report(
                "ball", frame, state,
                f"volume {total.min():.3f} to {total.max():.3f}, smallest tetrahedron {share_kept.min():.3f}, "
                f"deepest in a wall {1e3 * inside:.2f} mm",
            )  # fmt: skip


RUNS: dict[str, Callable[[], None]] = {"towel": towel, "knot": knot, "ball": ball}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or RUNS:
        RUNS[chosen]()
