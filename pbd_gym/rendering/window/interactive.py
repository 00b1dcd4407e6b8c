"""Interactive simulation: a hand, pins, dials and read-outs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pbd_gym.rendering.window.dials import Dial
from pbd_gym.sim.control import Control
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State
from pbd_gym.sim.traced import elastic_energy


class InteractiveSimulation:
    """Interaction with the first environment of a batch, which should be its only one.

    Args:
        solver: solver that advances it. state: state to advance. control: control that moves it. ctrl_dt: duration of a
        step [s]. grip: index of the hand among the scene's grips.
    """

    def __init__(self, solver: Solver, state: State, control: Control, ctrl_dt: float, grip: int) -> None:
        self.ctrl_dt = self._usual_dt = ctrl_dt
        """Duration of a step [s]; the stepping code reads it here."""
        self._turned: dict[str, Any] = {}
        self.attach(solver, state, control, grip)

    def attach(self, solver: Solver, state: State, control: Control, grip: int) -> None:
        """Continue with another solver and state of the same particles; dials keep their values."""
        self.solver, self.state, self.control, self.grip = solver, state, control, grip
        self._usual_steps = (solver.substeps, solver.iterations)
        turned, self._turned = self._turned, {}
        for dial in self.dials():
            if dial.name in turned:
                dial.turn(turned[dial.name])

    # --- the hand -----------------------------------------------------------------------------------------------------

    def hold(self, particle: int | None) -> None:
        """Hold a particle in the hand; None releases it."""
        held = self.state.held.numpy()[: self.state.model.num_envs].copy()
        held[0, self.grip] = -1 if particle is None else particle
        self.state.hold(held)

    def move(self, pull: np.ndarray) -> None:
        """Move the hand, with its particle, by ``pull`` [m], shape (3,), in every step from now on."""
        held = int(self.state.held.numpy()[0, self.grip])
        if held >= 0:
            positions = self.state.grip_positions.numpy()
            positions[0, self.grip] = self.state.get_positions()[0, held]
            self.state.grip_positions.assign(positions)
        motion = self.control.motion.numpy()
        motion[0, self.grip] = pull
        self.control.motion.assign(motion)

    def toggle_pin(self, particle: int) -> bool:
        """Fix a particle where it is, or release it. Returns whether it is fixed now."""
        pinned = self.state.get_pinned()
        pinned[0, particle] = not pinned[0, particle]
        self.state.set_pinned(pinned)
        return bool(pinned[0, particle])

    def pinned(self) -> np.ndarray:
        """Return the indices of the fixed particles, int."""
        return np.flatnonzero(self.state.get_pinned()[0])

    # --- numbers ------------------------------------------------------------------------------------------------------

    def dials(self) -> list[Dial]:
        """Return the dials; factors multiply the numbers of the scene."""
        scene, soft = self.state.model.scene, self._soft_labels()
        found = [
            self._factor(f"stiffness factor, {label}" if len(soft) > 1 else "stiffness factor", "stiffness", label)
            for label in soft
        ]
        found.append(
            self._dial("time step [ms]", lambda: 1e3 * self.ctrl_dt, self._set_time_step,
                       250.0 * self._usual_dt, 2e3 * self._usual_dt)
        )  # fmt: skip
        for name, usual in zip(("substeps", "iterations"), self._usual_steps, strict=True):
            found.append(self._steps(name, max(20, 4 * usual)))
        found += [
            self._dial(
                "gravity [m/s²]",
                lambda: float(self._parameter("gravity")[1]),
                self._set_gravity,
                -30.0,
                10.0,
                ready=self._varied_ready,
            ),
            self._factor("mass factor", "density"),
        ]
        rubs = any(max(c.friction, c.static_friction or 0.0) > 0.0 for c in scene.colliders)
        if rubs or any(group.friction > 0.0 for group in scene.particle_contacts):
            read = partial(self._parameter, "friction")

            def rub(factor: float) -> None:
                self.state.set_parameters(friction=factor)

            found.append(self._dial("friction factor", read, rub, 0.0, 4.0, ready=self._varied_ready))
        return found

    def _dial(
        self, name: str, read: Callable[[], Any], write: Callable[[Any], object], low: float, high: float,
        logarithmic: bool = False, whole: bool = False, ready: Callable[[Any], bool] = lambda value: True,
    ) -> Dial:  # fmt: skip
        def turn(value: Any) -> None:
            write(value)
            self._turned[name] = value

        return Dial(name, read, turn, low, high, logarithmic, whole, ready=ready)

    def _varied_ready(self, value: Any) -> bool:
        """Return whether the kernel that reads parameters is compiled."""
        return self.solver.ready(varied=True)

    def _iterations_ready(self, iterations: int) -> bool:
        return self.solver.ready(self.state.parameters.varied, iterations)

    def _factor(self, name: str, parameter: str, label: str | None = None) -> Dial:
        def write(value: float) -> None:
            given: Any = value if label is None else {label: value}
            self.state.set_parameters(**{parameter: given})

        read = partial(self._parameter, parameter, label)
        return self._dial(name, read, write, 0.01, 100.0, logarithmic=True, ready=self._varied_ready)

    def _steps(self, name: str, high: int) -> Dial:
        def write(value: int) -> None:
            self.solver.set_steps(**{name: value})

        def read() -> Any:
            return getattr(self.solver, name)

        if name == "iterations":
            return self._dial(name, read, write, 1, high, whole=True, ready=self._iterations_ready)
        return self._dial(name, read, write, 1, high, whole=True)

    def _set_time_step(self, milliseconds: float) -> None:
        self.ctrl_dt = 1e-3 * milliseconds

    def _set_gravity(self, upwards: float) -> None:
        pull = self._parameter("gravity").copy()
        pull[1] = upwards
        self.state.set_parameters(gravity=pull)

    def _parameter(self, name: str, label: str | None = None) -> Any:
        found = self.state.get_parameters()[name]
        return (found if label is None else found[label])[0]

    def _soft_labels(self) -> list[str]:
        """Return the labels of constraints that are not rigid: a factor would have no effect on rigid ones."""
        scene, soft = self.state.model.scene, set()
        for batch in scene.constraints.values():
            labels = np.concatenate(batch.labels)
            if "compliance" in batch.values:
                labels = labels[np.concatenate(batch.values["compliance"]).reshape(len(labels), -1).max(axis=1) > 0.0]
            soft.update(labels.tolist())
        return [scene.labels[i] for i in sorted(soft)]

    # --- read-outs ----------------------------------------------------------------------------------------------------

    def kinetic_energy(self) -> float:
        """Return the kinetic energy of all free particles [J]."""
        mass, velocities = self._mass(), self.state.get_velocities()[0]
        return float(0.5 * (mass * (velocities.astype(np.float64) ** 2).sum(axis=1)).sum())

    def gravitational_energy(self) -> float:
        """Return the gravitational energy of all free particles [J]; it is 0 at the origin."""
        positions = self.state.get_positions()[0].astype(np.float64)
        return float(-(self._mass() * (positions @ self._parameter("gravity"))).sum())

    def elastic_energy(self) -> float:
        """Return the energy that the constraints store [J]; see :func:`pbd_gym.sim.traced.elastic_energy`."""
        return elastic_energy(self.state)

    def stretch(self) -> np.ndarray | None:
        """Return length over rest length, minus one, of every distance constraint, shape (m,); None without any."""
        scene = self.state.model.scene
        batches = [scene.constraints[kind] for kind in ("distance", "plastic_distance") if kind in scene.constraints]
        if not batches:
            return None
        pairs = np.concatenate([np.concatenate(batch.indices) for batch in batches])
        rest = np.concatenate([np.concatenate(batch.values["rest_length"]) for batch in batches])
        first, second = self.state.get_positions()[0].astype(np.float64)[pairs].swapaxes(0, 1)
        strain: np.ndarray = np.linalg.norm(first - second, axis=1) / (rest * self._parameter("size")) - 1.0
        return strain

    def readout(self, stretch: bool = True) -> str:
        """Return two lines: the size of the simulation and, if requested, its stretch; then its energies."""
        model, strain = self.state.model, self.stretch() if stretch else None
        first = f"{model.particle_count:,} particles   {model.constraint_count:,} constraints"
        if strain is not None:
            first += f"   stretch: mean {100 * np.abs(strain).mean():.2f} %, largest {100 * np.abs(strain).max():.1f} %"
        energies = {
            "kinetic": self.kinetic_energy(), "elastic": self.elastic_energy(),
            "gravitational": self.gravitational_energy(),
        }  # fmt: skip
        return f"{first}\n" + "   ".join(f"{name} {value:.3g} J" for name, value in energies.items())

    def _mass(self) -> np.ndarray:
        inverse = self.state.free_inv_mass_scalar.numpy()[0, :, 0].astype(np.float64)
        return np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0.0)
