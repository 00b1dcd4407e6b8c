"""One sample of every constraint kind: elements that share no particle, at rest where they are added.

A new kind adds its line to :data:`SAMPLES`; test_every_kind.py then holds it to what every projection must keep.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pbd_gym import Scene

COUNT = 20
"""Elements of a sample."""
SEGMENT = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
HINGE = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.4, 0.8, 0.0], [0.5, -0.7, 0.0]])
TET = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
CLUSTER = np.array([*TET, [1.0, 1.0, 1.0], [0.5, 0.2, 1.2]])
HINGE_FRAME = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3))
"""Without it a triangle of a moving hinge loses its area sooner or later, and there its angle jumps."""
TET_FRAME = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
CORNER = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
TRIANGLE = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.3, 0.9, 0.0]])
TRIANGLE_FRAME = ((0, 1), (0, 2), (1, 2))
POINT_OVER_EDGE = np.array([[0.4, 0.5, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
CROSSING = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.4, 0.6, -0.5], [0.5, 0.7, 0.6]])
POINT_OVER_TRIANGLE = np.array([[0.4, 0.3, 0.6], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.3, 0.9, 0.0]])
POINT_IN_TET = np.array([[0.2, 0.3, 0.2], *TET])
ELASTIC = {"young_modulus": 50.0, "poisson_ratio": 0.3}


@dataclass(frozen=True)
class Sample:
    """What test_every_kind.py needs to know of a kind."""

    shape: np.ndarray
    """An element at rest [m], shape (k, 3)."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """What ``Scene.add_constraints`` takes; the compliance must not be negligible beside 1/mass = 1/kg, h = 0.05 s."""
    planar: bool = False
    """Whether the rest shape has to stay in the plane z = 0."""
    frame: tuple[tuple[int, int], ...] = ()
    """Pairs to hold together by distance constraints where an element may run for long and must not come apart."""

    def rest(self, rng: np.random.Generator) -> np.ndarray:
        """Return ``COUNT`` elements at rest, each a little different, shape (COUNT, k, 3)."""
        noise = rng.uniform(-0.1, 0.1, (COUNT, *self.shape.shape))
        if self.planar:
            noise[..., 2] = 0.0
        return self.shape + noise


def _cycle(*names: str) -> list[str]:
    """Return one name for each element, in turn."""
    return [names[k % len(names)] for k in range(COUNT)]


SAMPLES: dict[str, Sample] = {
    "distance": Sample(SEGMENT, {"compliance": 1e-2}),
    "slack_distance": Sample(SEGMENT, {"compliance": 1e-2}),  # with slack it has no force at rest; see test_distance.py
    # Elastic up to any strain of these tests, for what flows is no function of positions; see test_plastic.py.
    "plastic_distance": Sample(SEGMENT, {"compliance": 1e-2, "yield_strain": 5.0}),
    "tet_volume": Sample(TET, {"compliance": 1e-2}),
    "dihedral": Sample(HINGE, {"compliance": 1e-1}, frame=HINGE_FRAME),
    "isometric_bending": Sample(HINGE, {"compliance": 1e-1}, planar=True, frame=HINGE_FRAME),  # it wants the hinge flat
    "tet_stvk": Sample(TET, ELASTIC),
    "tet_corotated": Sample(TET, ELASTIC),
    "tet_neo_hookean_shape": Sample(TET, ELASTIC),
    "tet_neo_hookean_volume": Sample(TET, ELASTIC),
    "shape_matching": Sample(CLUSTER, {"compliance": 2e-3}),
    "triangle_fem": Sample(TRIANGLE, {"young_modulus": (60.0, 40.0), "poisson_ratio": 0.3, "shear_modulus": 10.0}),
    "strain_triangle": Sample(
        TRIANGLE, {"component": _cycle("warp", "shear", "weft"), "compliance": 1e-1}, frame=TRIANGLE_FRAME
    ),
    "strain_tet": Sample(
        TET, {"component": _cycle("x", "xy", "y", "xz", "yz", "z"), "compliance": 1e-1}, frame=TET_FRAME
    ),
    "edge_point": Sample(POINT_OVER_EDGE, {"compliance": 1e-2}, frame=((1, 2),)),
    "edge_edge": Sample(CROSSING, {"compliance": 1e-2}, frame=((0, 1), (2, 3))),
    "triangle_point": Sample(POINT_OVER_TRIANGLE, {"compliance": 1e-2}, frame=((1, 2), (1, 3), (2, 3))),
    "triangle_side": Sample(
        POINT_OVER_TRIANGLE, {"compliance": 1e-2, "unilateral": False}, frame=((1, 2), (1, 3), (2, 3))
    ),
    "embedded_point": Sample(POINT_IN_TET, {"compliance": 1e-2}, frame=tuple((a + 1, b + 1) for a, b in TET_FRAME)),
    # A line of one segment is a distance constraint; test_line.py has longer ones.
    "line": Sample(SEGMENT, {"compliance": 1e-2}),
    "thread_bending": Sample(CORNER, {"compliance": 1e-1}, frame=((0, 1), (1, 2))),
    "tether": Sample(0.1 * SEGMENT, {"compliance": 1e-2}),  # so short that most are taut once they are deformed
}
"""By name of the kind."""


def every_sample(
    rng: np.random.Generator, held_together: bool = False, **parameters: Any
) -> tuple[Scene, dict[str, np.ndarray]]:
    """Build one scene of the samples of every kind, without gravity; masses from 0.1 to 10 kg.

    No two elements share a particle, so that each kind is by itself, and one kernel serves them all.

    Args:
        rng: draws shapes and masses.
        held_together: whether elements get their frames.
        **parameters: more parameters for every kind.

    Returns:
        The scene, and for each kind its particles, shape (COUNT, k).
    """
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    members = {}
    for kind, sample in SAMPLES.items():
        rest = sample.rest(rng)
        mass = 10.0 ** rng.uniform(-1.0, 1.0, rest.shape[:2])
        particles = scene.add_particles(rest.reshape(-1, 3), mass.ravel()).reshape(mass.shape)
        scene.add_constraints(kind, particles, **sample.parameters, **parameters)
        members[kind] = particles
        for pair in sample.frame if held_together else ():
            scene.add_distance_constraints(particles[:, pair], 1e-2)
    return scene, members


def deformed(scene: Scene, rng: np.random.Generator, size: float = 0.3) -> np.ndarray:
    """Return the positions of a scene with noise [m], shape (n, 3)."""
    return scene.positions + rng.uniform(-size, size, scene.positions.shape)
