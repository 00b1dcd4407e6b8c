"""``pbd-gym play``: a window in which a person drags the particles of an environment with the mouse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.render import Camera, Frame
from pbd_gym.render.viewer import MOUSE_HELP, Viewer

if TYPE_CHECKING:
    from pbd_gym.envs.core import TaskVectorEnv

HELP = f"{MOUSE_HELP}\nspace: pause    s: one step    a: random agent    r: reset\nh: hide this help    q: quit"


class Player(Viewer):
    """One environment, its window, and what a person does in it.

    Args:
        env_id: environment to play.
        seed: of the first episode.
        size: width and height of the window [pixels].
        **kwargs: arguments of the environment.
    """

    def __init__(self, env_id: str, seed: int = 0, size: tuple[int, int] = (800, 800), **kwargs: Any) -> None:
        self.env: gym.Env[Any, Any] = gym.make(env_id, max_episode_steps=-1, device="cpu", hand=True, **kwargs)
        self.batch: TaskVectorEnv = self.env.unwrapped.batch  # type: ignore[attr-defined]
        self.env.reset(seed=seed)
        lower, upper = self.batch.view_box
        camera = Camera.overview(lower, upper, size)
        super().__init__(env_id, size, self.batch.metadata["render_fps"], camera)
        self.random = False
        self.steps = 0
        self.keys |= {"s": self.step_once, "a": self._toggle_random}
        self._info: dict[str, Any] = {}

    def run(self) -> None:
        """Play until the window is closed.

        Raises:
            DisplayError: without a display.
        """
        try:
            super().run()
        finally:
            self.env.close()

    def frame(self, caption: str) -> Frame:
        """Return what is to be drawn."""
        frame: Frame = self.batch.pictures.frame(0, caption=caption)
        return frame

    def positions(self) -> np.ndarray:
        """Return the particles [m], shape (n, 3); those that a picker holds cannot be taken and are NaN."""
        positions: np.ndarray = self.batch.state.get_positions()[0]
        taken = [p for p in self.batch.state.held.numpy()[0] if p >= 0 and p != self.grabbed]
        positions[taken] = np.nan
        return positions

    def hold(self, particle: int | None) -> None:
        """Put a particle into the person's hand; None opens the hand."""
        held = self.batch.state.held.numpy()[:1].copy()
        held[0, self.batch.hand_grip] = -1 if particle is None else particle
        self.batch.state.hold(held)

    def advance(self, pull: np.ndarray) -> None:
        """Simulate one control step, in which the person's hand moves by ``pull`` [m], shape (3,)."""
        if self.grabbed is not None:
            hand = self.batch.hand_grip
            self.batch.state.grip_positions.numpy()[0, hand] = self.batch.state.get_positions()[0, self.grabbed]
            self.batch.control.motion.numpy()[0, hand] = pull
        action = self.env.action_space.sample() if self.random else self._idle()
        _, _, terminated, _, self._info = self.env.step(action)
        self.steps += 1
        if terminated:
            self.release()
            self.restart()

    def restart(self) -> None:
        """Begin another episode."""
        self.env.reset()
        self.steps = 0
        self._info = {}

    def caption(self) -> str:
        """Return how the episode stands."""
        state = "paused" if self.paused else "random agent" if self.random else "hands still"
        performance = self._info.get("normalized_performance", 0.0)
        return f"step {self.steps}   {state}   normalized performance {performance:.2f}"

    def help_text(self) -> str:
        """Return what the mouse and the keys do."""
        return HELP

    def _toggle_random(self) -> None:
        self.random = not self.random

    def _idle(self) -> np.ndarray:
        """Action that moves nothing and lets go of nothing."""
        action = np.zeros(self.env.action_space.shape or (), dtype=np.float32)
        held = self.batch.state.held.numpy()[0, : self.batch.actions.grip_count] >= 0
        if self.batch.action_mode in ("picker", "pick_place"):
            action[3::4] = np.where(held, 1.0, -1.0)
        elif self.batch.action_mode == "pin":
            action[:] = np.where(held, 1.0, -1.0)
        return action


def play(env_id: str, seed: int = 0, **kwargs: Any) -> None:
    """Open a window on an environment and run it until the window is closed.

    Raises:
        ImportError: without pygame.
        DisplayError: without a display.
    """
    print(HELP)
    Player(env_id, seed, **kwargs).run()
