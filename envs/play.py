"""``pbd-gym play``: a window in which a person drags the particles of an environment with the mouse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.render import Camera, Renderer

if TYPE_CHECKING:
    from pbd_gym.envs.core import TaskVectorEnv

HELP = (
    "left mouse: drag    right: turn    middle: move    wheel: zoom\n"
    "space: pause    s: one step    a: random agent    r: reset\n"
    "h: hide this help    q: quit"
)
GRAB_PIXELS = 24.0
"""Distance from the mouse within which a particle is taken."""
LAYER = 0.1
"""Particles under the mouse that are farther behind the first than this are hidden by it [m]."""
MAX_PULL = 0.08
"""Largest move of the person's hand per step [m], so that a jerk of the mouse does not tear the cloth."""


class Player:
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
        self.renderer = Renderer("human", size, env_id, self.batch.metadata["render_fps"])
        lower, upper = self.batch.view_box
        self.camera = Camera.overview(lower, upper, size)
        self.size = size
        self.paused = False
        self.random = False
        self.help = True
        self.steps = 0
        self.grabbed: int | None = None
        """Particle in the person's hand."""
        self._depth = 0.0
        self._mouse = (0, 0)
        self._single = False
        self._info: dict[str, Any] = {}

    def run(self) -> None:
        """Play until the window is closed."""
        while not self.renderer.closed:
            self.tick()
        self.env.close()

    def tick(self) -> None:
        """Draw, react to what the person did, and simulate one control step unless paused."""
        frame = self.batch.pictures.frame(0, caption=self._caption())
        self.renderer.draw(frame, self.camera)
        if self.renderer.closed:
            return
        for event in self.renderer.events:
            self._react(event)
        if not self.paused or self._single:
            self._single = False
            self._simulate()

    def grab(self, pixel: tuple[int, int]) -> None:
        """Take the free particle nearest to a pixel, if one is near."""
        positions = self.batch.state.get_positions()[0]
        pixels, depth = self.camera.project(positions, self.size)
        distance = np.linalg.norm(pixels - np.array(pixel), axis=1)
        # Particles that pickers hold, or that lie behind the eye, cannot be taken.
        taken = [p for p in self.batch.state.held.numpy()[0] if p >= 0]
        distance[taken] = np.inf
        distance = np.nan_to_num(distance, nan=np.inf)
        near = np.flatnonzero(distance < GRAB_PIXELS)
        if len(near) == 0:
            return
        near = near[depth[near] < depth[near].min() + LAYER]  # what is behind another layer cannot be seen
        chosen = int(near[np.argmin(distance[near])])
        self.grabbed, self._depth = chosen, float(depth[chosen])
        self._hold(chosen)

    def release(self) -> None:
        """Let go of what the person holds; it flies on."""
        if self.grabbed is not None:
            self._hold(-1)
            self.grabbed = None

    def _hold(self, particle: int) -> None:
        held = self.batch.state.held.numpy()[:1].copy()
        held[0, self.batch.hand_grip] = particle
        self.batch.state.hold(held)

    def _simulate(self) -> None:
        if self.grabbed is not None:
            target = self.camera.unproject(self._mouse, self._depth, self.size)
            here = self.batch.state.get_positions()[0, self.grabbed]
            pull = np.asarray(target) - here
            pull *= min(1.0, MAX_PULL / max(float(np.linalg.norm(pull)), 1e-9))
            self.batch.state.grip_positions.numpy()[0, self.batch.hand_grip] = here
            self.batch.control.motion.numpy()[0, self.batch.hand_grip] = pull
        action = self.env.action_space.sample() if self.random else self._idle()
        _, _, terminated, _, self._info = self.env.step(action)
        self.steps += 1
        if terminated:
            self._reset()

    def _idle(self) -> np.ndarray:
        """Action that moves nothing and lets go of nothing."""
        action = np.zeros(self.env.action_space.shape or (), dtype=np.float32)
        held = self.batch.state.held.numpy()[0, : self.batch.actions.grip_count] >= 0
        if self.batch.action_mode == "picker":
            action[3::4] = np.where(held, 1.0, -1.0)
        elif self.batch.action_mode == "pin":
            action[:] = np.where(held, 1.0, -1.0)
        return action

    def _reset(self) -> None:
        self.release()
        self.env.reset()
        self.steps = 0
        self._info = {}

    def _react(self, event: Any) -> None:
        import pygame

        if event.type == pygame.MOUSEMOTION:
            self._mouse = event.pos
            if event.buttons[2]:
                self.camera.orbit(*event.rel)
            elif event.buttons[1]:
                self.camera.pan(event.rel[0], event.rel[1], self.size)
        elif event.type == pygame.MOUSEWHEEL:
            self.camera.zoom(1.1**event.y)
        elif event.type == pygame.MOUSEBUTTONDOWN and event.button == 1:
            self._mouse = event.pos
            self.grab(event.pos)
        elif event.type == pygame.MOUSEBUTTONUP and event.button == 1:
            self.release()
        elif event.type == pygame.KEYDOWN:
            self._press(event.key)

    def _press(self, key: int) -> None:
        import pygame

        if key == pygame.K_SPACE:
            self.paused = not self.paused
        elif key == pygame.K_s:
            self.paused = self._single = True
        elif key == pygame.K_a:
            self.random = not self.random
        elif key == pygame.K_h:
            self.help = not self.help
        elif key == pygame.K_r:
            self._reset()
        elif key in (pygame.K_q, pygame.K_ESCAPE):
            self.renderer.close()

    def _caption(self) -> str:
        state = "paused" if self.paused else "random agent" if self.random else "hands still"
        performance = self._info.get("normalized_performance", 0.0)
        return f"step {self.steps}   {state}   normalized performance {performance:.2f}" + f"\n{HELP}" * self.help


def play(env_id: str, seed: int = 0, **kwargs: Any) -> None:
    """Open a window on an environment and run it until the window is closed.

    Raises:
        ImportError: without pygame.
        RuntimeError: without a display.
    """
    print(HELP)
    Player(env_id, seed, **kwargs).run()
