"""Two bobs on two rods below a fixed pivot."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from pbd_gym.demos.demo import History
from pbd_gym.demos.options import Options, option
from pbd_gym.demos.scene_demo import SceneDemo
from pbd_gym.rendering import PALETTE
from pbd_gym.scene.scene import Scene

TRACE = 200
"""Number of frames for which the trace is kept."""
BY_ANGLES = "by angles"


def places(text: str) -> np.ndarray | None:
    """Return the places of both bobs [m], shape (2, 2), or None for ``by angles``.

    Raises:
        ValueError: for anything but four numbers with commas in between.
    """
    if text == BY_ANGLES:
        return None
    try:
        numbers = np.array([float(word) for word in text.split(",")])
    except ValueError:
        numbers = np.zeros(0)
    if numbers.shape != (4,) or not (np.abs(numbers) <= 100.0).all():
        raise ValueError(f"start must be {BY_ANGLES!r} or four numbers x1,y1,x2,y2 up to 100 m, got {text!r}")
    return numbers.reshape(2, 2)


@dataclass(frozen=True)
class PendulumOptions(Options):
    """Numbers of a double pendulum."""

    angle1: float = option(120.0, "angle of the upper rod from vertical [degrees]", low=-180.0, high=180.0, step=5.0)
    angle2: float = option(-20.0, "angle of the lower rod from vertical [degrees]", low=-180.0, high=180.0, step=5.0)
    length1: float = option(1.0, "length of the upper rod [m]", low=0.1, high=5.0)
    length2: float = option(1.0, "length of the lower rod [m]", low=0.1, high=5.0)
    start: str = option(
        BY_ANGLES,
        "places x1,y1,x2,y2 of the bobs [m] in place of angles",
        choices=(BY_ANGLES, "0.5,0.5,1,-1"),
        check=places,
    )
    force: float = option(0.0, "sideways force on the lower bob [N]", low=-1e3, high=1e3, step=1.0)
    mass1: float = option(1.0, "mass of the upper bob [kg]", low=1e-3, high=1e3)
    mass2: float = option(1.0, "mass of the lower bob [kg]", low=1e-3, high=1e3)
    gravity: float = option(-9.81, "vertical acceleration [m/s^2]", low=-100.0, high=100.0, step=1.0)
    time_step: float = option(0.0005, "time step of the solver [s]", low=2e-5, high=0.04)
    iterations: int = option(1, "sweeps over both rods per step", low=1, high=200)


class DoublePendulumDemo(SceneDemo[PendulumOptions]):
    """A double pendulum of two rigid rods, with its energy and the trace of the lower bob.

    The motion is chaotic: change an angle by one degree and the traces part after a few seconds. The rods are distance
    constraints without compliance. Position-based dynamics loses energy in proportion to the time step, as implicit
    Euler does: halve the step (down, left arrow) and the energy falls half as fast. Drag a bob and release it, or start
    from any places (`--start 0.5,0.5,1,-1`): rods that are too long or too short there snap to their lengths, which
    costs energy.

    Mueller, Heidelberger, Hennix, Ratcliff 2007: Position based dynamics, doi:10.1016/j.jvcir.2007.01.005; small steps:
    Macklin et al. 2019, doi:10.1145/3309486.3340247.
    """

    flat = True
    rebuilt = ("angle1", "angle2", "length1", "length2", "start")

    def build(self) -> Scene:
        """Return the scene, with one grip for the hand."""
        options = self.options
        scene = Scene(gravity=(0.0, options.gravity, 0.0), grip_count=1)
        ways = [
            length * np.array([np.sin(angle), -np.cos(angle), 0.0])
            for length, angle in (
                (options.length1, np.radians(options.angle1)),
                (options.length2, np.radians(options.angle2)),
            )
        ]
        joints = np.cumsum([np.zeros(3), *ways], axis=0)
        typed = places(options.start)
        if typed is not None:
            joints[1:, :2] = typed
        scene.add_particles(joints, [1.0, options.mass1, options.mass2])
        scene.add_distance_constraints([[0, 1], [1, 2]], rest_length=[options.length1, options.length2])
        scene.pin([0])
        scene.lines = np.array([[0, 1], [1, 2]], dtype=np.int32)
        return scene

    def _load(self, scene: Scene) -> None:
        super()._load(scene)
        if self.options.force != 0.0:
            self.control.set_forces([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [self.options.force, 0.0, 0.0]])

    def reset(self) -> None:
        """Restart with the current options."""
        super().reset()
        self.trace: deque[np.ndarray] = deque(maxlen=TRACE)
        self.history = History("total", "kinetic", "potential")
        self._measure()

    def step(self) -> None:
        """Advance by one frame."""
        super().step()
        self._measure()

    def _measure(self) -> None:
        self.trace.append(self.positions()[2])
        kinetic, potential = self.energies()
        self.history.add(self.time, kinetic + potential, kinetic, potential)

    def energies(self) -> tuple[float, float]:
        """Return kinetic and potential energy [J]; the potential is 0 at the height of the pivot."""
        mass = np.array([self.options.mass1, self.options.mass2])
        kinetic = 0.5 * float(mass @ (self.velocities()[1:] ** 2).sum(axis=1))
        return kinetic, -self.options.gravity * float(mass @ self.positions()[1:, 1])

    def drawn(self) -> dict[str, Any]:
        """Return further fields of the frame: bobs, the trace and the energy."""
        heaviest = max(self.options.mass1, self.options.mass2)
        masses = ((1, self.options.mass1), (2, self.options.mass2))
        here = self.positions()
        return super().drawn() | {
            "spheres": [(here[i], 0.09 * max(mass / heaviest, 0.05) ** (1 / 3)) for i, mass in masses],
            "polylines": [(np.array(self.trace), PALETTE[3])],
            "panels": [self.history.panel("energy [J]")],
            "line_radius": 0.02,
        }

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the initial view [m], shape (3,) each: everything that the rods can reach."""
        reach = self.options.length1 + self.options.length2
        return np.array([-reach, -2.0 * reach, -0.1]), np.array([reach, 1.1 * reach, 0.1])

    def readout(self) -> str:
        """Return the time and the energy."""
        kinetic, potential = self.energies()
        return f"{super().readout()}   energy {kinetic + potential:.4f} J"
