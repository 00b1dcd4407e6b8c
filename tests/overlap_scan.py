"""Energy that random overlaps give: ``python -m tests.overlap_scan [SCENE ...] [--count 200]``.

Bodies of every kind are put into colliders of every shape, between two of them, or into each other, without gravity.
Nothing moves at first, so that all kinetic energy later is a gain. It is given as a share of m g r, what lifts the
bodies by the contact radius. A line per substep and kind says how many overlaps there were, the worst one, and the
share of those above a hundredth.
"""

from __future__ import annotations

import argparse
import itertools
import time
from typing import Any

import numpy as np

from pbd_gym import Box, Capsule, Cylinder, MeshCollider, Model, Plane, Scene, SoftMaterial, Solver, Sphere, geometry
from pbd_gym.colliders.solid import matrix_of
from tests.colliders.helpers import rotation

GRAVITY = 9.81
STEPS = (0.0002, 0.0005, 0.001, 0.002, 0.004)
"""Substeps [s]."""
LASTS = 0.2
"""How long each overlap is looked at [s]."""
SUBSTEPS = 20
DEEP, DEEPER = 0.008, 0.03
"""Largest depth of an overlap: of most, and of every fourth with a collider [m]."""


class Bodies:
    """Bodies of many kinds, 0.4 m apart.

    Args:
        kinds: of each body; see :meth:`add`.
        contacts: whether particles collide.
        surfaces: whether cloth collides as a surface, rather than as balls.
    """

    def __init__(self, kinds: tuple[str, ...], contacts: bool, surfaces: bool = True) -> None:
        self.kinds, self.surfaces = kinds, surfaces
        self.scene = Scene(gravity=(0.0, 0.0, 0.0))
        self.balls: list[np.ndarray] = []
        """Radius of each particle of a body, of cloth half of its thickness [m]."""
        self.rigid: list[Any] = []
        """The body where it is rigid, else None."""
        self.indices: list[np.ndarray] = []
        for kind, x in zip(kinds, 0.4 * (np.arange(len(kinds)) - (len(kinds) - 1) / 2), strict=True):
            self.add(kind, float(x), contacts)

    def add(self, kind: str, x: float, contacts: bool) -> None:
        """Add a body of a kind with its middle at x."""
        scene, rigid, radius = self.scene, None, 0.005
        if kind.startswith("cloth"):
            cloth = scene.add_cloth(9, 9, (0.12, 0.12), position=(x, 0.06, 0.0), lines=kind == "cloth")
            found, radius = cloth.indices.ravel(), 0.0025 if self.surfaces else 0.0065
            if contacts and self.surfaces:
                scene.add_surface_contacts(cloth.triangles, 2.0 * radius, 0.3)
            elif contacts:
                scene.add_particle_contacts(found, radius, 0.3)
        elif kind == "rope":
            found, radius = scene.add_rope(np.linspace((x, 0, -0.1), (x, 0, 0.1), 15)), 0.008
        elif kind == "soft":
            block = geometry.box((2, 2, 2), (0.1, 0.1, 0.1))
            found, radius = scene.add_soft_body(block, SoftMaterial(1000.0, 1e5, 0.3), position=(x, 0, 0)).indices, 0.02
        elif kind == "rigid":
            rigid = scene.add_rigid_body(
                geometry.box((1, 1, 1), (0.08, 0.06, 0.1)), 500.0, 0.02, position=(x, 0, 0), contacts=contacts
            )
            found, radius = rigid.samples, rigid.radius
        else:
            places = np.random.default_rng(7).uniform(-0.05, 0.05, (12, 3)) + np.array([x, 0.0, 0.0])
            found = scene.add_particles(places, 0.01)
        if contacts and kind in ("rope", "soft", "particles"):
            scene.add_particle_contacts(found, radius, 0.3)
        self.rigid.append(rigid)
        self.indices.append(np.asarray(found if rigid is None else rigid.indices))
        balls = np.full(len(self.indices[-1]), radius)
        self.balls.append(balls if rigid is None else np.where(np.isin(rigid.indices, found), radius, -1.0))

    def energies(self, state: Any) -> np.ndarray:
        """Return the kinetic energy of each body, shape (num_envs, bodies) [J]."""
        velocity, found = state.get_velocities().astype(float), []
        rigid = state.get_rigid_velocities().astype(float) if any(self.rigid) else np.zeros((len(velocity), 0, 6))
        for body, indices in zip(self.rigid, self.indices, strict=True):
            if body is None:
                found.append(0.5 * np.square(velocity[:, indices]).sum(axis=2) @ self.scene.mass[indices])
            else:
                most = np.linalg.eigvalsh(body.inertia)[-1]
                push, spin = (np.square(part).sum(axis=1) for part in np.split(rigid[:, body.index], 2, axis=1))
                found.append(0.5 * (body.mass * push + most * spin))
        return np.stack(found, axis=1)

    def masses(self) -> np.ndarray:
        """Return the mass of each body [kg]."""
        pairs = zip(self.rigid, self.indices, strict=True)
        return np.array([self.scene.mass[i].sum() if body is None else body.mass for body, i in pairs])


def bisected(gap: Any, wanted: float, high: float) -> float:
    """Return how far away something is that is to be at a signed distance, which grows with how far away it is."""
    low = 0.0
    for _ in range(30):
        half = (low + high) / 2
        low, high = (half, high) if gap(half) < wanted else (low, half)
    return low


def beside_solid(solid: Any, turn: np.ndarray, points: np.ndarray, own: Any, way: np.ndarray, wanted: float) -> float:
    """Return how far from the middle of points a collider is to be, to be that far from their balls of radius own."""
    middle = points.mean(axis=0)

    def gap(far: float) -> float:
        return float((solid.moved(middle + far * way, turn).signed_distance(points)[0] - own).min())

    return bisected(gap, wanted, 0.5)


def beside_body(one: np.ndarray, other: np.ndarray, reach: np.ndarray, way: np.ndarray, wanted: float) -> float:
    """Return how far along a way another body is to be, so that its balls are that far from those of the first."""

    def gap(far: float) -> float:
        return float((np.linalg.norm(one[:, None] - (other + far * way)[None], axis=2) - reach).min())

    return bisected(gap, wanted, 0.5)


def unit(rng: np.random.Generator) -> np.ndarray:
    """Return a random direction."""
    way = rng.normal(size=3)
    return way / np.linalg.norm(way)


class Colliders:
    """Bodies of every kind over a plane, and a collider of every shape for each of them."""

    def __init__(self, count: int) -> None:
        kinds = ("cloth", "cloth, springs", "rope", "soft", "rigid", "particles")
        self.bodies = bodies = Bodies(kinds, contacts=False)
        bodies.scene.add_collider(Plane(friction=0.5))
        solid = geometry.box((2, 2, 2), (0.08, 0.08, 0.08))
        shapes = [
            Box((0, 0, 0), (0.05, 0.03, 0.05)),
            Capsule((0, 0, -0.05), (0, 0, 0.05), 0.03),
            Cylinder((0, -0.03, 0), (0, 0.03, 0), 0.04),
            Sphere((0, 0, 0), 0.05),
            Box((0, 0, 0), (0.06, 0.004, 0.06)),
            MeshCollider(solid.positions, solid.triangles, cell=0.01),
        ]
        self.shapes = [bodies.scene.add_collider(shape, moving=True) for shape in shapes]
        self.num_envs = -(-count // len(kinds))
        self.model = Model(bodies.scene, num_envs=self.num_envs, device="cpu")

    def place(self, state: Any, rng: np.random.Generator) -> list[tuple[str, int, tuple[int, ...]]]:
        """Put each body into the plane, a collider or both; returns what overlaps: a name, environment and bodies."""
        scene, bodies, envs = self.bodies.scene, self.bodies, self.num_envs
        positions = np.repeat(scene.positions[None], envs, axis=0)
        origins = np.tile([0.0, 5.0, 0.0], (len(self.shapes), envs, 1))
        turns = rng.normal(size=(len(self.shapes), envs, 4))
        found: list[tuple[str, int, tuple[int, ...]]] = []
        for env in range(envs):
            order = rng.permutation(len(self.shapes))
            for b, (indices, radius) in enumerate(zip(bodies.indices, bodies.balls, strict=True)):
                own = np.zeros(len(indices)) if bodies.rigid[b] is None else radius - scene.contact_radius
                at, which, shape = 0.4 * (b - (len(bodies.indices) - 1) / 2), (env + b) % 3, order[b]
                deep = DEEPER if rng.integers(4) == 0 and which == 1 else DEEP
                points = (scene.positions[indices] - [at, 0, 0]) @ rotation(rng).T + [at, 0.0, 0.0]
                points[:, 1] -= (points[:, 1] - own).min() - scene.contact_radius
                points[:, 1] += 0.02 if which == 1 else -rng.uniform(0.0, DEEP)
                if which:
                    way, turn = unit(rng) * [1.0, 0.3, 1.0] + [0.0, 0.5, 0.0], matrix_of(turns[shape, env])
                    way, wanted = way / np.linalg.norm(way), scene.contact_radius - rng.uniform(0.0, deep)
                    far = beside_solid(scene.colliders[self.shapes[shape]], turn, points, own, way, wanted)
                    origins[shape, env] = points.mean(axis=0) + far * way
                positions[env, indices] = points
                name = ("plane", type(scene.colliders[self.shapes[shape]]).__name__, "two colliders")[which]
                found.append((f"{bodies.kinds[b]} in {name}", env, (b,)))
        for shape in range(len(self.shapes)):
            state.set_pose(self.shapes[shape], origins[shape], turns[shape])
        state.set_positions(positions)
        return found


class Pairs:
    """Bodies of many kinds, each of which overlaps another."""

    def __init__(self, kinds: tuple[str, ...], count: int, surfaces: bool = True) -> None:
        self.bodies = Bodies(kinds, contacts=True, surfaces=surfaces)
        self.num_envs = -(-count // (len(kinds) // 2))
        self.model = Model(self.bodies.scene, num_envs=self.num_envs, device="cpu")

    def place(self, state: Any, rng: np.random.Generator) -> list[tuple[str, int, tuple[int, ...]]]:
        """Put bodies into each other; returns what overlaps: a name, environment and bodies."""
        scene, bodies = self.bodies.scene, self.bodies
        found: list[tuple[str, int, tuple[int, ...]]] = []
        positions = np.repeat(scene.positions[None], self.num_envs, axis=0)
        pairs = list(itertools.combinations(range(len(bodies.kinds)), 2))
        for env in range(self.num_envs):
            free = list(rng.permutation(len(bodies.kinds)))
            first = pairs[env % len(pairs)]  # so that none lacks
            order = [*first, *(b for b in free if b not in first)]
            for n in range(len(order) // 2):
                a, b = sorted(int(each) for each in order[2 * n : 2 * n + 2])
                middle, way = np.array([0.5 * (n - 1.5), 0.0, 0.0]), unit(rng)
                one, other = (
                    (scene.positions[i] - scene.positions[i].mean(axis=0)) @ rotation(rng).T
                    for i in (bodies.indices[a], bodies.indices[b])
                )
                reach = np.add.outer(bodies.balls[a], bodies.balls[b])
                far = beside_body(one, other, reach, way, -rng.uniform(0.0, DEEP))
                positions[env, bodies.indices[a]] = one + middle
                positions[env, bodies.indices[b]] = other + middle + far * way
                found.append((f"{bodies.kinds[a]} in {bodies.kinds[b]}", env, (a, b)))
        state.set_positions(positions)
        return found


SCENES = {
    "colliders": Colliders,
    "balls": lambda count: Pairs(("rope", "rope", "soft", "soft", "particles", "particles", "cloth", "cloth, springs"),
                                 count, False),
    "rigid": lambda count: Pairs(("rope", "soft", "particles", "rigid", "rigid", "rigid"), count),
    "surfaces": lambda count: Pairs(("cloth", "cloth", "cloth, springs", "rope", "soft", "rigid"), count),
}  # fmt: skip
"""Scenes by name, each of so many overlaps."""


def gains(scene: Any, h: float, seed: int = 0, lasts: float = LASTS) -> list[tuple[str, float]]:
    """Return the name of each overlap and the largest kinetic energy that came of it, as a share of m g r."""
    solver = Solver(scene.model, substeps=SUBSTEPS, quiet=True)
    state, control = solver.state(), solver.control()
    found = scene.place(state, np.random.default_rng(seed))
    masses, radius = scene.bodies.masses(), scene.bodies.scene.contact_radius
    most = np.zeros(len(found))
    for _ in range(round(lasts / (h * SUBSTEPS))):
        solver.step(state, control, h * SUBSTEPS)
        energies = scene.bodies.energies(state)
        for n, (_, env, own) in enumerate(found):
            share = energies[env, list(own)].sum() / (masses[list(own)].sum() * GRAVITY * radius)
            most[n] = max(most[n], share if np.isfinite(share) else np.inf)
    return [(name, float(share)) for (name, _, _), share in zip(found, most, strict=True)]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help=f"of {', '.join(SCENES)} (default: all)")
    parser.add_argument("--count", type=int, default=200, help="overlaps of each scene (default: 200)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=float, nargs="+", default=STEPS, help="substeps [s]")
    args = parser.parse_args()
    for name in args.scenes or SCENES:
        scene = SCENES[name](args.count)
        for h in args.steps:
            begin = time.perf_counter()
            kinds: dict[str, list[float]] = {}
            for kind, share in gains(scene, h, args.seed):
                kinds.setdefault(kind, []).append(share)
            everything = np.concatenate(list(kinds.values()))
            print(f"{name}, h = {1e3 * h:g} ms: worst {everything.max():.4f} ({time.perf_counter() - begin:.0f} s)")
            for kind, shares in sorted(kinds.items(), key=lambda item: -max(item[1])):
                text = f"worst {max(shares):.4f}, {np.mean(np.array(shares) > 0.01):.0%} above 0.01"
                print(f"    {kind}: {len(shares)} overlaps, {text}", flush=True)


if __name__ == "__main__":
    main()
