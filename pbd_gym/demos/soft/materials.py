"""Three beams side by side, each fixed at its left end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pbd_gym.demos.demo import History
from pbd_gym.demos.options import Options, option
from pbd_gym.demos.scene_demo import SceneDemo
from pbd_gym.geometry import tetmeshes
from pbd_gym.scene.scene import Scene

MATERIALS: dict[str, tuple[str, ...]] = {
    "StVK": ("tet_stvk",),
    "corotated": ("tet_corotated",),
    "neo-Hookean": ("tet_neo_hookean_shape", "tet_neo_hookean_volume"),
}
"""Constraint kinds of each beam."""
SIZE = (1.0, 0.2, 0.2)
"""Length, height and depth of a beam [m]."""
APART = 0.55
"""Distance between the beams [m]."""


@dataclass(frozen=True)
class MaterialsOptions(Options):
    """Numbers that the beams share."""

    young_modulus: float = option(5e5, "stiffness E [Pa]", low=1e3, high=1e9)
    poisson_ratio: float = option(0.4, "Poisson's ratio: widening when squeezed", low=0.0, high=0.49, step=0.05)
    density: float = option(1000.0, "mass per volume [kg/m^3]", low=1.0, high=1e5)
    gravity: float = option(-9.81, "vertical acceleration, the load [m/s^2]", low=-100.0, high=100.0, step=1.0)
    time_step: float = option(0.001, "time step of the solver [s]", low=1e-4, high=0.04)
    iterations: int = option(1, "sweeps over all constraints per step", low=1, high=100)
    damping: float = option(2.0, "rate at which velocities fade [1/s]", low=0.0, high=50.0, step=0.5)


class MaterialsDemo(SceneDemo[MaterialsOptions]):
    """Three beams of three elastic materials under the same load: St. Venant-Kirchhoff, corotated, stable neo-Hookean.

    For small strains all three are the same material, and the beams sag alike; the more they bend and stretch, the more
    they differ. Press `c` to crush the beams flat: the St. Venant-Kirchhoff energy has no slope where an element is
    flat, and the stable neo-Hookean energy too little, so both borrow a corotated term below a fifth of their volume,
    and all three recover. Drag a tip to pull at it.

    Sifakis, Barbic 2012: FEM simulation of 3D deformable solids, doi:10.1145/2343483.2343501; Smith, de Goes, Kim 2018:
    Stable neo-Hookean flesh simulation, doi:10.1145/3180491; as XPBD: Macklin, Mueller 2021,
    doi:10.1145/3487983.3488289.
    """

    box = ((-0.6, -1.2, -0.7), (0.6, 0.3, 0.7))
    deeds = (("c", "crush the beams flat", "crush"),)

    def build(self) -> Scene:
        """Return the scene, with one grip for the hand."""
        options = self.options
        scene = Scene(gravity=(0.0, options.gravity, 0.0), grip_count=1)
        mesh = tetmeshes.box((10, 2, 2), SIZE)
        mass = options.density * mesh.vertex_volumes()
        left = np.flatnonzero(mesh.positions[:, 0] < -0.5 * SIZE[0] + 1e-9)
        tip = int(np.argmax(mesh.positions @ np.array([1.0, 1e-3, 1e-3])))
        self.tips, self.tets = [], []
        for i, kinds in enumerate(MATERIALS.values()):
            positions = mesh.positions + np.array([0.0, 0.0, (i - 1) * APART])
            particles = scene.add_particles(positions, mass)
            self.tets.append(particles[mesh.tets])
            for kind in kinds:
                scene.add_constraints(
                    kind, particles[mesh.tets],
                    young_modulus=options.young_modulus, poisson_ratio=options.poisson_ratio,
                )  # fmt: skip
            scene.pin(particles[left])
            scene.triangles = np.concatenate([scene.triangles, particles[mesh.triangles]])
            self.tips.append(int(particles[tip]))
        return scene

    def reset(self) -> None:
        """Restart with the current options."""
        super().reset()
        self.history = History(*MATERIALS)
        self.history.add(0.0, *self.sag())
        self._crushed = False

    def step(self) -> None:
        """Advance by one frame."""
        super().step()
        self.history.add(self.time, *self.sag())

    def sag(self) -> np.ndarray:
        """Return the upward displacement of each tip, negative for sag [m], shape (3,)."""
        moved: np.ndarray = self.positions()[self.tips, 1] - self.scene.positions[self.tips, 1]
        return moved

    def inverted(self) -> np.ndarray:
        """Return the number of inverted elements of each beam, shape (3,)."""
        corners = self.positions()[np.array(self.tets)]
        volumes = np.linalg.det(corners[..., 1:, :] - corners[..., :1, :])
        return (volumes < 0.0).sum(axis=1)

    def crush(self) -> None:
        """Flatten all free particles into a plane, at rest: zero volumes from which a material must recover."""
        positions = self.positions()
        free = (self.scene.inv_mass > 0) & (np.arange(len(positions)) != (-1 if self.held is None else self.held))
        positions[free, 1] = 0.0
        self._crushed = True
        self.state.set_positions(positions)
        self.state.set_velocities(np.where(free[:, None], 0.0, self.velocities()))

    def perform(self) -> None:
        """Crush the beams if nobody else does."""
        if self.time >= 2.4 and not self._crushed:
            self.crush()

    def drawn(self) -> dict[str, Any]:
        """Return further fields of the frame: names, and the tips' sag over time."""
        above = [-0.5 * SIZE[0], 0.5 * SIZE[1] + 0.08]
        names = [(np.array([*above, (i - 1) * APART]), name) for i, name in enumerate(MATERIALS)]
        return super().drawn() | {"labels": names, "panels": [self.history.panel("height of the tips [m]")]}

    def readout(self) -> str:
        """Return the time and the sag of each tip or, after a crush, the number of elements not yet recovered."""
        if self._crushed:
            lost = ", ".join(f"{name} {count}" for name, count in zip(MATERIALS, self.inverted(), strict=True))
            words = f"crushed; of {len(self.tets[0])} elements inside out:   {lost}"
        else:
            words = "   ".join(f"{name} {sag:.3f} m" for name, sag in zip(MATERIALS, self.sag(), strict=True))
        return f"{super().readout()}   {words}"
