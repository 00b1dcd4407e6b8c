"""Films of what a script has made: a bare scene, or an environment of anybody's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.parts.experts import expert_of
from pbd_gym.rendering.camera import Camera
from pbd_gym.rendering.pictures.frame import Picker, RenderOptions
from pbd_gym.rendering.pictures.images import check_film, save_film, tile
from pbd_gym.rendering.pictures.renderer import Renderer
from pbd_gym.rendering.pictures.scenes import scene_frame
from pbd_gym.rendering.window.scene_viewer import view_box
from pbd_gym.runtime.checks import number
from pbd_gym.runtime.messages import Progress
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.control import Control
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State
from pbd_gym.sim.substeps import needed_substeps

Step = Callable[[State, Control, float], Any]
"""Called before each step of a scene, with its state, its control and the time [s]."""
Act = Callable[[Any, np.ndarray], Any]
"""Maps observations, and whose episodes begin, to actions."""
FPS = 30.0
"""Pictures per second of a film."""
SECONDS = 4.0
"""Length of a film of a scene [s], and of what has no time limit."""


def film(
    scene_or_env: Any,
    path: str | Path,
    *,
    policy: Any = None,
    step: Step | None = None,
    seconds: float | None = None,
    fps: float | None = None,
    size: int | tuple[int, int] = 512,
    camera: Camera | None = None,
    seed: int | None = 0,
    substeps: int | None = None,
    colors: int = 256,
    **solver: Any,
) -> Path:
    """Simulate a scene or an episode of an environment, and write a film of it. No display is needed.

    Args:
        scene_or_env: a :class:`pbd_gym.Scene`; or an environment, single or batched, of this package or another's that
            was made with ``render_mode="rgb_array"``. It is reset, and it is not closed.
        path: the film, .gif or .mp4; its folder is made.
        policy: what acts in an environment: a function from observations to actions; an object with ``predict`` as
            :func:`pbd_gym.load_agent` returns it and Stable-Baselines3 has it; ``"expert"`` or ``"random"``. The
            expert of the task by default.
        step: called before each step of a scene as ``step(state, control, time)``, for example to move grips.
        seconds: length of the film; by default 4 s of a scene, and an episode of an environment.
        fps: pictures per second, at most 50 for a GIF; by default 30 of a scene. Of an environment every step is shown
            that such a film has time for.
        size: width and height of each picture [pixels]; environments of others have their own.
        camera: where it is seen from; all of the scene by default.
        seed: of the episode; None for any.
        substeps: of a step of a scene, whose length is ``1 / fps``; by default as many as the bodies need.
        colors: of a GIF's palette.
        **solver: of a scene: further arguments of :class:`pbd_gym.Solver`, such as ``damping``.

    Returns:
        The path.

    Raises:
        TypeError: for anything but a scene or an environment, and for arguments that belong to the other.
        ValueError: for another suffix, a number out of its range, or an environment that cannot be drawn.
        ImportError: without pygame, or the library that writes the file.
    """
    file, suffix = Path(path), check_film(path)
    seconds = None if seconds is None else number("seconds", seconds, 1e-3, 1e6)
    fps = None if fps is None else number("fps", fps, 1.0, 50.0 if suffix == ".gif" else 1e4)
    if isinstance(scene_or_env, Scene):
        if policy is not None:
            raise TypeError("a scene has no agent: give film a step, which is called before each step")
        rate = fps or FPS
        pictures = _of_scene(scene_or_env, step, seconds or SECONDS, rate, _both(size), camera, substeps, solver)
        save_film(file, pictures, rate, colors)
        return file
    if not isinstance(scene_or_env, gym.Env | gym.vector.VectorEnv):
        raise TypeError(f"film takes a Scene or an environment, got {type(scene_or_env).__name__}")
    if step is not None or substeps is not None or solver:
        raise TypeError("step, substeps and arguments of the solver are for scenes: an environment has a policy")
    draw, rate = _drawing(scene_or_env, size, camera)
    every = 1 if rate <= (fps or 50.0) else int(np.ceil(rate / (fps or FPS) - 1e-9))
    pictures = _of_env(scene_or_env, _acting(scene_or_env, policy, seed), draw, seconds, rate, every, seed)
    save_film(file, pictures, rate / every, colors)
    return file


def _both(size: int | tuple[int, int]) -> tuple[int, int]:
    """Return width and height."""
    found = RenderOptions(size=size).size
    assert isinstance(found, tuple)
    return found


def _of_scene(
    scene: Scene,
    step: Step | None,
    seconds: float,
    fps: float,
    size: tuple[int, int],
    camera: Camera | None,
    substeps: int | None,
    options: dict[str, Any],
) -> Iterator[np.ndarray]:
    """Simulate a scene, and yield pictures of it, the first one of its start."""
    if substeps is None:  # who leaves them to the scene is not told that more would be stiffer still
        substeps, options = needed_substeps(scene, 1.0 / fps), {"quiet": True, **options}
    solver = Solver(Model(scene), substeps, **options)
    state, control = solver.state(), solver.control()
    renderer = Renderer("rgb_array", size)
    lower, upper = view_box(scene)
    renderer.camera = camera or Camera.overview(lower, upper, size)
    radius = 0.012 * float((upper - lower).max())
    count = max(round(seconds * fps), 1)
    progress = Progress("steps filmed", count)
    for k in range(count):
        if k:
            if step is not None:
                step(state, control, (k - 1) / fps)
            solver.step(state, control, 1.0 / fps)
        grips = zip(state.grip_positions.numpy()[0], state.held.numpy()[0], strict=True) if scene.grip_count else ()
        hands = [Picker(np.array(place), radius, True) for place, held in grips if held >= 0]
        places = state.get_positions()[0].astype(np.float64)
        picture = renderer.draw(scene_frame(scene, places, poses=state.get_poses()[0], pickers=hands))
        assert picture is not None
        yield picture
        progress.step()


def _drawing(env: Any, size: Any, camera: Camera | None) -> tuple[Callable[[], np.ndarray], float]:
    """Return what draws an environment, and its steps per second.

    Raises:
        ValueError: for an environment of another package that has no pictures.
    """
    base = env.unwrapped
    batch = base.batch if isinstance(base, TaskEnv) else base
    if isinstance(batch, TaskVectorEnv):  # whatever its render_mode is
        options = {"size": size} if camera is None else {"size": size, "camera": camera}
        return lambda: tile(batch.pictures.draw(**options)), 1.0 / batch.action_time
    if env.render_mode != "rgb_array":
        raise ValueError(f"make the environment with render_mode='rgb_array' to film it, got {env.render_mode!r}")
    fps = float(env.metadata.get("render_fps") or FPS)
    return lambda: _tiled(env.render()), fps


def _tiled(pictures: Any) -> np.ndarray:
    """Return one picture of what an environment has drawn."""
    return tile([pictures] if isinstance(pictures, np.ndarray) and pictures.ndim == 3 else list(pictures))


def _acting(env: Any, policy: Any, seed: int | None) -> Act:
    """Return what acts in an environment.

    Raises:
        TypeError: for a policy that cannot act.
        ValueError: for a task without an expert, where that is to act.
    """
    if policy == "random":
        env.action_space.seed(seed)
        return lambda observation, begins: env.action_space.sample()
    if policy is None or policy == "expert":
        base = env.unwrapped
        batch = base.batch if isinstance(base, TaskEnv) else base
        if not isinstance(batch, TaskVectorEnv) or batch.task.expert is None:
            name = env.spec.id if env.spec else type(base).__name__
            raise ValueError(f"{name} has no expert: give film a policy, such as pbd_gym.load_agent(ID) or 'random'")
        act = expert_of(batch)
        return lambda observation, begins: act() if batch is base else act()[0]
    if hasattr(policy, "predict"):
        return _Predicting(policy)
    if not callable(policy):
        raise TypeError(f"policy must be a function, an object with predict, 'expert' or 'random', got {policy!r}")
    return lambda observation, begins: policy(observation)


class _Predicting:
    """Acts by an object with ``predict``, and keeps its state."""

    def __init__(self, policy: Any) -> None:
        self._policy = policy
        self._state: Any = None

    def __call__(self, observation: Any, begins: np.ndarray) -> Any:
        action, self._state = self._policy.predict(observation, self._state, begins, deterministic=True)
        return action


def _of_env(
    env: Any,
    act: Act,
    draw: Callable[[], np.ndarray],
    seconds: float | None,
    rate: float,
    every: int,
    seed: int | None,
) -> Iterator[np.ndarray]:
    """Run an episode and yield pictures of it.

    Without ``seconds`` it ends where the first episode does, or after :data:`SECONDS` if there is no time limit. With
    ``seconds`` episodes follow one another.
    """
    mode = env.metadata.get("autoreset_mode") if hasattr(env, "num_envs") else AutoresetMode.DISABLED
    limit = getattr(env.unwrapped, "max_episode_steps", None) or (env.spec and env.spec.max_episode_steps)
    count = limit if seconds is None and limit else max(round((seconds or SECONDS) * rate), 1)
    observation, _ = env.reset(seed=seed)
    yield draw()
    progress = Progress("steps filmed", count)
    begins = np.ones(getattr(env, "num_envs", 1), dtype=bool)
    ended = ~begins
    for k in range(count):
        observation, _, terminated, truncated, _ = env.step(act(observation, begins))
        before, ended = ended, np.atleast_1d(_host(terminated) | _host(truncated))
        last = bool(ended.any()) and seconds is None
        if (k + 1) % every == 0 or last:
            yield draw()
        progress.step()
        if last:
            return
        begins = ended if mode is AutoresetMode.SAME_STEP else before
        if mode is AutoresetMode.DISABLED:
            begins = np.full_like(ended, ended.any())
            if ended.any():
                observation, _ = env.reset()


def _host(flags: Any) -> Any:
    """Return flags as an array, of a tensor too."""
    return flags.cpu().numpy() if hasattr(flags, "cpu") else np.asarray(flags)
