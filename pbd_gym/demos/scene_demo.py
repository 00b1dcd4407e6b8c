"""Demonstrations run by the engine: a scene, a solver, and a hand that drags particles."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import fields, replace
from typing import Any, ClassVar

import numpy as np

from pbd_gym.demos.demo import Demo
from pbd_gym.demos.options import AnyOptions
from pbd_gym.rendering import Frame, Picker
from pbd_gym.rendering.pictures.scenes import scene_frame
from pbd_gym.rendering.window.dials import Dial
from pbd_gym.rendering.window.interactive import InteractiveSimulation
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model, Order
from pbd_gym.sim.solver import Method, Solver

_COVERED = {
    "time_step": ("time step", "substeps"), "iterations": ("iterations",), "gravity": ("gravity",),
    "stiffness": ("stiffness",), "young_modulus": ("stiffness",), "friction": ("friction",),
    "mass": ("mass",), "mass1": ("mass",), "density": ("mass",),
}  # fmt: skip
"""Sliders of the engine that an option of the demonstration replaces."""


class SceneDemo(Demo[AnyOptions]):
    """A scene under XPBD. Its options may have ``time_step`` (of a substep [s]), ``damping`` [1/s] and, as
    arguments of the solver, ``iterations``, ``method`` and ``chebyshev``.
    """

    order: ClassVar[Order] = "colored"
    method: ClassVar[Method] = "gauss-seidel"
    rebuilt: ClassVar[tuple[str, ...]] = ()
    """Options that change the set of particles: changing them restarts the demonstration."""

    @abstractmethod
    def build(self) -> Scene:
        """Return the scene, with one grip for the hand."""

    live: InteractiveSimulation
    """User's changes to it: pins, and numbers that are not options."""

    def reset(self) -> None:
        """Restart with the current options."""
        super().reset()
        self._load(self.build())

    def _load(self, scene: Scene) -> None:
        self.scene = scene
        self.time_step = float(getattr(self.options, "time_step", 0.002))
        self.substeps = max(1, round(1.0 / self.fps / self.time_step))
        """Solver steps per frame, chosen so that simulated and shown time agree as nearly as possible."""
        self.solver = self._solver(scene)
        self.state, self.control = self.solver.state(), self.solver.control()
        if not hasattr(self, "live"):
            self.live = InteractiveSimulation(self.solver, self.state, self.control, self.substeps * self.time_step, 0)
        else:
            self.live.ctrl_dt = self.substeps * self.time_step
            self.live.attach(self.solver, self.state, self.control, 0)

    def _solver(self, scene: Scene) -> Solver:
        numbers: Any = self.options
        return Solver(
            Model(scene, order=self.order),
            substeps=self.substeps,
            iterations=getattr(numbers, "iterations", 1),
            damping=getattr(numbers, "damping", 0.0),
            method=getattr(numbers, "method", self.method),
            chebyshev=getattr(numbers, "chebyshev", 0.0),
            threads=1,
            compensate=False,
            quiet=True,
        )

    @property
    def exploded(self) -> bool:
        """Return whether any number is not finite."""
        return not (np.isfinite(self.positions()).all() and np.isfinite(self.velocities()).all())

    def adapt(self) -> None:
        """Apply changed options without moving the particles, or restart if they make others of them."""
        saved, pinned, count = self.state.save(), self.state.get_pinned(), self.scene.particle_count
        self._load(self.build())
        if self.scene.particle_count != count:
            return self.reset()
        self.state.load(saved | {"parameters": self.state.parameters.read()})  # an option may be one of them
        self.state.set_pinned(pinned)

    def ready(self, name: str, value: Any) -> bool:
        """Return whether the kernel for another value of an option is compiled; if not, compilation has started."""
        before = getattr(self.options, name)
        if isinstance(value, float) and (before > 0.0) == (value > 0.0):
            return True  # a slightly different number needs no other kernel
        trial = copy.copy(self)
        try:
            trial.options = replace(self.options, **{name: value})
            solver = trial._solver(trial.build())
        except ValueError:
            return True  # it will be refused immediately
        numbers: Any = trial.options
        wind, forces = getattr(numbers, "wind", 0.0) > 0.0, getattr(numbers, "force", 0.0) != 0.0
        return solver.ready(self.state.parameters.varied, wind=wind, forces=forces)

    def step(self) -> None:
        """Advance by one frame."""
        self.solver.step(self.state, self.control, self.live.ctrl_dt)
        self.control.motion.zero_()
        self.time += self.live.ctrl_dt

    @property
    def diverged(self) -> bool:
        """Return whether the last step produced a number that is not finite, or an absurd speed."""
        return bool(self.state.diverged.numpy()[0])

    def positions(self) -> np.ndarray:
        """Return the particles [m], shape (n, 3)."""
        found: np.ndarray = self.state.get_positions()[0].astype(np.float64)
        return found

    def velocities(self) -> np.ndarray:
        """Return their velocities [m/s], shape (n, 3)."""
        found: np.ndarray = self.state.get_velocities()[0].astype(np.float64)
        return found

    def hold(self, particle: int | None) -> None:
        """Hold a particle in the hand; None releases it."""
        self.held = particle
        self.state.hold([[-1 if particle is None else particle]])

    def move(self, pull: np.ndarray) -> None:
        """Move the hand by ``pull`` [m], shape (3,), during the next step."""
        if np.isfinite(pull).all():  # a diverged simulation cannot be continued
            self.control.move(pull)

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw."""
        return scene_frame(self.scene, self.positions(), caption=caption, **self.drawn())

    def drawn(self) -> dict[str, Any]:
        """Return further fields of the frame: the hand, and what subclasses add."""
        hand = [] if self.held is None else [Picker(self.positions()[self.held], self.hand_radius, True)]
        sound = all(np.isfinite(p.position).all() for p in hand)
        return {"pickers": hand if sound else [], "pinned": self.live.pinned()}

    def dials(self) -> list[Dial]:
        """Return the sliders that work while it runs: its options, and the engine's other changeable numbers."""
        names = {f.name for f in fields(self.options)}
        covered = tuple(word for option, words in _COVERED.items() if option in names for word in words)
        return [*super().dials(), *(d for d in self.live.dials() if not d.name.startswith(covered))]

    def measures(self) -> str:
        """Return further lines of measured numbers, for a window."""
        return "" if self.diverged else self.live.readout()

    def pin(self, particle: int) -> str:
        """Fix a particle, or release it. Returns a message."""
        return "pinned" if self.live.toggle_pin(particle) else "free"

    @property
    def hand_radius(self) -> float:
        """Drawn radius of the hand [m]."""
        lower, upper = self.view_box
        return 0.012 * float(np.max(upper - lower))

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the initial view [m], shape (3,) each."""
        if self.box is not None:
            return super().view_box
        lower, upper = self.scene.positions.min(axis=0), self.scene.positions.max(axis=0)
        margin = 0.2 * float((upper - lower).max())
        return lower - margin, upper + margin

    def readout(self) -> str:
        """Return a line of measured numbers."""
        return f"{self.time:.2f} s" + "   diverged: press r to start again" * self.diverged
