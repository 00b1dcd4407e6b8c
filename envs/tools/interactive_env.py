"""Environment in which a person drags particles, leads the agent's hands, pins particles and turns dials."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pbd_gym.envs.core.data.hands import slots_of
from pbd_gym.envs.core.data.modes import PICKER_MODES
from pbd_gym.envs.core.parts.experts import box_share
from pbd_gym.rendering.window.interactive import InteractiveSimulation

if TYPE_CHECKING:
    from pbd_gym.rendering.window.dials import Dial


class InteractiveEnv:
    """The only environment of a batch, with a person's interactions.

    The person has their own hand, which can grab any particle that the agent does not hold. Leading one of the agent's
    hands is an action like the agent's own.

    Args:
        batch: one environment on a CPU with a ``hand``, a :class:`pbd_gym.envs.TaskVectorEnv`.
    """

    def __init__(self, batch: Any) -> None:
        if batch.world.hand_grip is None or batch.num_envs != 1:
            raise ValueError("only a single environment with hand=True has a hand for a person")
        self.batch = batch
        self.live = InteractiveSimulation(
            batch.solver, batch.state, batch.control, batch.config.ctrl_dt, batch.world.hand_grip
        )
        self.particle = -1
        """Particle in the person's own hand, -1 for none."""
        self.commands = np.zeros(batch.actions.grip_count, dtype=np.float32)
        """Commands to the agent's hands, 1 to hold on and -1 to release."""

    @property
    def hand_positions(self) -> np.ndarray:
        """Return the places of the agent's hands or paddles [m], shape (hands, 3).

        There are none if actions pin particles or are whole transfers, since these cannot be led.
        """
        batch, actions = self.batch, self.batch.actions
        if actions.paddles:
            positions: np.ndarray = batch.state.poses.numpy()[0, slots_of(actions.paddles, batch.model), :3]
        else:
            positions = batch.state.grip_positions.numpy()[0, : actions.grip_count]
        return positions[: 0 if actions.mode in ("pin", "pick_then_place") else None].astype(np.float64)

    def free_positions(self) -> np.ndarray:
        """Return the particles [m], shape (n, 3); NaN for those that the agent holds, which cannot be grabbed."""
        positions = self.batch.state.get_positions()[0].astype(np.float64)
        positions[[p for p in self.agent_holds() if p >= 0]] = np.nan
        return positions

    def agent_holds(self) -> list[int]:
        """Return the particle in each of the agent's hands, -1 for none."""
        held: list[int] = self.batch.state.held.numpy()[0, : self.batch.actions.grip_count].tolist()
        return held

    def hold(self, particle: int) -> None:
        """Hold a particle in the person's own hand; -1 releases it."""
        if particle != self.particle:
            self.live.hold(None if particle < 0 else particle)
            self.particle = particle

    def move(self, pull: np.ndarray) -> None:
        """Move the person's hand by ``pull`` [m], shape (3,), during the next action."""
        self.live.move(pull / self.batch.actions.repeat)

    def begin(self) -> None:
        """Begin an episode: open the person's hand and undo pins."""
        self.hold(-1)
        state = self.batch.state
        if (state.get_pinned()[0] != (self.batch.scene.inv_mass == 0.0)).any():
            state.set_pinned(None)

    # --- acting for the agent -----------------------------------------------------------------------------------

    def take_over(self) -> None:
        """Keep the agent's hands as they are: those that hold something keep holding it."""
        self.commands = np.where(np.array(self.agent_holds()) >= 0, 1.0, -1.0).astype(np.float32)

    def action(self, hand: int | None = None, way: np.ndarray | None = None) -> np.ndarray:
        """Return the action that moves one of the agent's hands and keeps the others in place.

        Args:
            hand: index of the hand, or None for all to stay.
            way: displacement [m], shape (3,), of which the hand covers as much as one action can.
        """
        batch, actions = self.batch, self.batch.actions
        action = np.zeros(actions.size, dtype=np.float32)
        rows = action.reshape(-1, actions.stride)
        if actions.mode == "pin":
            rows[:, 0] = self.commands
            return action
        if actions.mode == "pick_then_place":  # at a corner of the box, where nothing is
            return np.ones_like(action)
        axes, hands = min(actions.hands.axes, 3), actions.hands
        positions = self.hand_positions
        if actions.mode == "pick_place":
            if hand is not None and way is not None:
                positions[hand] += way
            rows[:, :axes] = box_share(batch.world, 0, positions)[:, :axes]
        elif hand is not None and way is not None:
            step, full = way, hands.max_step
            if hands.max_change > 0.0 and self.agent_holds()[hand] >= 0:  # an action says how the move changes
                held = self.agent_holds()[hand]
                step = way - batch.state.get_velocities()[0, held] * batch.config.ctrl_dt
                full = hands.max_change
            rows[hand, :axes] = step[:axes] / full
        if actions.mode in PICKER_MODES:
            rows[:, -1] = self.commands
        return np.clip(action, -1.0, 1.0)

    def toggle(self, hand: int) -> bool:
        """Close or open one of the agent's hands. Returns whether it is closed now."""
        self.commands[hand] = -self.commands[hand]
        return bool(self.commands[hand] > 0)

    # --- numbers ------------------------------------------------------------------------------------------------------

    def dials(self) -> list[Dial]:
        """Return the numbers that can be changed while it runs."""
        found = []
        for dial in self.live.dials():
            if not dial.name.startswith("time step"):
                found.append(dial)
            elif not self.batch.actions.hands.max_change:  # which was worked out for the usual step
                found.append(replace(dial, turn=self._set_time_step))
        return found

    def turn(self, name: str, value: float) -> None:
        """Turn the dial with the given name.

        Raises:
            ValueError: for an unknown dial, or a value that it refuses.
        """
        for dial in self.dials():
            if dial.name == name:
                dial.turn(round(value) if dial.whole else value)
                return
        raise ValueError(f"there is no dial {name!r}")

    def toggle_pin(self, particle: int) -> bool:
        """Fix a particle, or release it. Returns whether it is fixed now.

        Raises:
            ValueError: if there is no such particle.
        """
        count = self.batch.model.particle_count
        if not 0 <= particle < count:
            raise ValueError(f"there is no particle {particle}, but 0 to {count - 1}")
        return self.live.toggle_pin(particle)

    def _set_time_step(self, milliseconds: float) -> None:
        config = replace(self.batch.config, ctrl_dt=1e-3 * milliseconds)
        self.batch.config = self.batch.world.config = config
        self.live.ctrl_dt = self.batch.config.ctrl_dt
