"""``pbd-gym play``: a window in which an agent acts, and a person drags particles and takes over its hands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from pbd_gym.envs.core.parts.experts import expert_of
from pbd_gym.envs.tools.demonstrations import PIN, DemonstrationRecorder
from pbd_gym.envs.tools.window import EnvViewer
from pbd_gym.rendering.batched.tables import PICKER_RADIUS
from pbd_gym.rendering.window.web import Page

if TYPE_CHECKING:
    from pbd_gym.rendering.window.dials import Dial

SUCCESS_TIME = 0.5
"""Duration of success after which an episode ends [s]."""
VERDICT_TIME = 1.5
"""Time for which its outcome is shown before the next one begins [s]."""
Policy = Callable[[Any], np.ndarray]
"""Function from one observation to one action. Its ``reset``, if it has one, is called when it takes over."""


class Player(EnvViewer):
    """A window on one environment, in which an agent acts and a person may intervene.

    The agent acts until the person takes one of its hands, and resumes after a key; meanwhile its other hands stay in
    place. Dragging a particle that no hand holds disturbs the agent, but does not stop it.

    An episode ends with success, or when the agent alone has used up the steps that the task allows; its outcome is
    then shown for a moment, and another begins. A person has unlimited time.

    Args:
        env_id: environment to play.
        seed: seed of the first episode; the next one takes the next seed.
        size: width and height of the picture [pixels].
        policy: ``"expert"`` (the script of the task), ``"random"``, a function, or None for no agent, until a key
        starts a random one.
        **kwargs: arguments of the environment, plain data.

    Raises:
        ValueError: if the task has no expert.
    """

    def __init__(
        self,
        env_id: str,
        seed: int = 0,
        size: tuple[int, int] = (800, 800),
        policy: Policy | str | None = None,
        **kwargs: Any,
    ) -> None:
        self.demo_recorder = DemonstrationRecorder(env_id, **kwargs)
        self.env, batch = self.demo_recorder.env, self.demo_recorder.interactive.batch
        super().__init__(batch, env_id, size, sliders=True)
        self.interactive = self.demo_recorder.interactive
        self.seed = seed
        self.demo_recorder.reset(seed)
        self.interactive.take_over()  # hands that begin with something keep holding it, others stay open
        self.env.action_space.seed(seed)
        self.policy = self._policy(policy)
        self.manual = policy is None
        """Whether the person acts instead of the agent."""
        self.hand: int | None = None
        """The agent's hand that the person leads."""
        self.steps = 0
        spec = self.env.spec  # of an id without the module that registers it, and here without a limit
        self._limit = (spec and gym.spec(spec.id).max_episode_steps) or np.inf
        self._successes = self._standing = 0
        self.keys["a"] = ("agent acts, or stops", self._toggle_agent)
        self._info: dict[str, Any] = {}

    def _policy(self, policy: Policy | str | None) -> Policy:
        if callable(policy):
            return policy
        if policy == "expert":
            expert = expert_of(self.batch, self.demo_recorder.demonstrations.env_id)
            return lambda observation: expert()[0]
        if policy not in (None, "random"):
            raise ValueError(f"policy must be 'expert', 'random', a function or None, got {policy!r}")
        return lambda observation: self.env.action_space.sample()

    def close(self) -> None:
        """Close the window and the environment. May be called again."""
        super().close()
        self.env.close()

    def positions(self) -> np.ndarray:
        """Return the particles and then the agent's hands [m], shape (n + hands, 3), NaN for those that cannot be
        grabbed.

        Corners that actions pin are included: they cannot be dragged, but a click releases them.
        """
        positions = super().positions()
        if self.batch.actions.mode == "pin":
            held = [particle for particle in self.interactive.agent_holds() if particle >= 0]
            positions[held] = self.batch.state.get_positions()[0, held]
        return np.concatenate([positions, self.interactive.hand_positions])

    def grab(self, pixel: tuple[int, int]) -> None:
        """Grab the particle or hand nearest to a pixel, unless none is near or the agent holds it."""
        if self.pick(pixel) not in self.interactive.agent_holds():
            super().grab(pixel)

    def pick(self, pixel: tuple[int, int]) -> int | None:
        """Return the row of :meth:`positions` that is nearest to a pixel, if one is near.

        An open hand covers the particle that it is about to grasp: the hand is picked, not the particle.
        """
        chosen, count = super().pick(pixel), self.batch.model.particle_count
        if chosen is None or chosen >= count:
            return chosen
        positions = self.positions()
        away = np.linalg.norm(positions[count:] - positions[chosen], axis=1)
        if len(away) and away.min() < PICKER_RADIUS:
            chosen = count + int(away.argmin())
        return chosen

    def hold(self, grabbed: int | None) -> None:
        """Hold a particle in the person's own hand, or lead one of the agent's; None releases both."""
        count = self.batch.model.particle_count
        self.hand = grabbed - count if grabbed is not None and grabbed >= count else None
        super().hold(grabbed if self.hand is None else None)
        if self.hand is not None:
            self._take_over()

    def pin(self, row: int) -> str:
        """Fix a particle or release it; close or open one of the agent's hands. Returns a message."""
        actions, count = self.batch.actions, self.batch.model.particle_count
        hand = row - count if row >= count else None
        if actions.mode == "pin" and row in actions.particles:
            hand = actions.particles.index(row)
        if hand is None:
            self.demo_recorder.turn(PIN, row)
            return "pinned" if self.batch.state.get_pinned()[0, row] else "free"
        if actions.mode in ("drag", "paddle"):
            return "this hand cannot let go"
        self._take_over()
        return "the hand closes" if self.interactive.toggle(hand) else "the hand opens"

    def dials(self) -> list[Dial]:
        """Return the numbers that the sliders change; changes are recorded."""

        def recorded(dial: Dial) -> Dial:
            return replace(dial, turn=lambda value: self.demo_recorder.turn(dial.name, value))

        return [recorded(dial) for dial in self.interactive.dials()]

    def advance(self, pull: np.ndarray) -> None:
        """Act once; the person's hand, or the one that the person leads, moves by ``pull`` [m], shape (3,)."""
        if self.words.verdict is not None:
            self._standing -= 1
            if self._standing <= 0:
                self._restart()
            return
        if self.hand is not None:
            action = self.interactive.action(self.hand, self.offset())
        elif self.manual:
            action = self.interactive.action()
        else:
            action = self.policy(self.demo_recorder.observation)
        particle = self.interactive.particle
        self._info = self.demo_recorder.step(action, particle, pull, by_person=self.manual)
        self.steps += 1
        if self.demo_recorder.demonstrations.episodes[-1].steps[-1].terminated:
            self._restart()
            self.message = "the simulation had run away: another episode"
        else:
            self._judge()

    def _judge(self) -> None:
        """End the episode if it is over: show its outcome for a moment."""
        self._successes = self._successes + 1 if self._info.get("is_success", False) else 0
        if self._successes * self.batch.action_time >= SUCCESS_TIME:
            self.words.verdict = "success", True
        elif not self.manual and self.steps >= self._limit:
            self.words.verdict = "time is up", False
        if self.words.verdict is not None:
            self._standing = max(1, round(VERDICT_TIME * self.fps))
            self.words.outdate()

    def restart(self) -> None:
        """Begin another episode."""
        self.seed += 1
        self.demo_recorder.reset(self.seed)
        self._begin()
        self.interactive.take_over()
        self.steps = self._successes = 0
        self.words.verdict = None
        self._info = {}

    def caption(self) -> str:
        """Return the state of the episode, and the numbers."""
        state = "your hands" if self.manual else "the agent acts"
        performance = self._info.get("normalized_performance", 0.0)
        time = self.steps * self.batch.action_time
        line = f"{time:.2f} s   action {self.steps}   {state}   normalized performance {performance:.2f}"
        return f"{line}\n{self.interactive.live.readout()}"

    def more_help(self) -> str:
        """Return help lines that only this window has."""
        return "take one of the agent's hands to lead it; a right click closes or opens it"

    def _take_over(self) -> None:
        if not self.manual:
            self.message = "yours; a: back to the agent"
            self.manual = True
            self.interactive.take_over()

    def _toggle_agent(self) -> None:
        self.manual = not self.manual
        self.message = ""
        if self.manual:
            self.interactive.take_over()
        self._begin()

    def _begin(self) -> None:
        """Reset the policy, if it can be reset; a script continues with its plan."""
        forget = getattr(self.policy, "reset", None)
        if forget is not None:
            forget()


def play(
    env_id: str,
    seed: int = 0,
    policy: Policy | str | None = None,
    save: Path | None = None,
    web: int | None = None,
    **kwargs: Any,
) -> None:
    """Open a window on an environment and run it until the window is closed.

    Args:
        env_id: environment to play.
        seed: seed of the first episode.
        policy: see :class:`Player`.
        save: file for the demonstrations, written at the end unless nothing was done.
        web: port on which to serve a page for a browser, instead of opening a window.
        **kwargs: arguments of the environment, plain data.

    Raises:
        ImportError: without pygame, or for a page without viser.
        DisplayError: without a display.
        OSError: if the file cannot be written. A missing folder is reported before the window opens.
    """
    if save is not None and not save.absolute().parent.is_dir():
        raise FileNotFoundError(f"there is no folder {save.parent} to save to")
    player = Player(env_id, seed, policy=policy, **kwargs)
    try:
        if web is None:
            print(player.help_text())
            player.run()
        else:
            Page(player, web).run()
    finally:
        done = any(episode.steps for episode in player.demo_recorder.demonstrations.episodes)
        if save is not None and not done:  # without a display, say: do not overwrite an existing file
            print(f"nothing was done: {save} is not written")
        elif save is not None:
            count = player.demo_recorder.demonstrations.save(save)
            print(f"saved {count} episodes to {save}")
