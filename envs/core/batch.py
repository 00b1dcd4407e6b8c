"""The batched environment that every task is built on: reset, step, autoreset, save and restore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import gymnasium as gym
import numpy as np
import warp as wp
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from pbd_gym.envs.core import randomization
from pbd_gym.envs.core.actions import ActionMode, Actions
from pbd_gym.envs.core.buffers import Buffers
from pbd_gym.envs.core.episode_launches import EpisodeLaunches
from pbd_gym.envs.core.observations import Observations, ObsMode
from pbd_gym.envs.core.paddles import slots_of
from pbd_gym.envs.core.pixels import PIXEL_MODES, PixelObservations, Pixels
from pbd_gym.envs.core.rendering import Pictures
from pbd_gym.envs.core.results import Outputs
from pbd_gym.envs.core.snapshots import Snapshots
from pbd_gym.envs.core.task import Task
from pbd_gym.envs.core.validation import (
    Split,
    check_actions,
    check_options,
    check_starts,
    make_config,
    split_range,
    split_seed,
    write_actions,
)
from pbd_gym.rendering.pictures.options import RenderOptions
from pbd_gym.runtime.checks import whole
from pbd_gym.runtime.compile_messages import compiling
from pbd_gym.runtime.threads import default_threads
from pbd_gym.sim.memory_report import memory_report
from pbd_gym.sim.memory_usage import MemoryReport
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver

RewardMode = Literal["dense", "sparse", "delta", "normalized"]
REWARD_MODES: tuple[RewardMode, ...] = ("dense", "sparse", "delta", "normalized")


class TaskVectorEnv(Task, Snapshots, VectorEnv):
    """Batch of environments of one task. A task subclasses it, and fills in :class:`pbd_gym.envs.core.task.Task`.

    Args:
        num_envs: environments in the batch.
        max_episode_steps: steps after which an episode is truncated; None or -1 for no limit.
        device: Warp device, ``"cpu"`` or ``"cuda:0"``.
        obs_mode: see :class:`pbd_gym.envs.core.observations.Observations`, and for pictures
            :class:`pbd_gym.envs.core.pixels.PixelObservations`.
        pixels: how pictures are taken, a :class:`pbd_gym.envs.core.pixels.Pixels` or a dict of its fields.
        action_mode: see :class:`pbd_gym.envs.core.actions.Actions`.
        reward_mode: ``"dense"`` (sum of named terms), ``"sparse"`` (0 at the goal, -1 elsewhere), ``"delta"`` (gain of
            ``performance`` in this step) or ``"normalized"`` (``normalized_performance``); sparse by default with
            ``obs_mode="goal"``, which takes the first two only, dense otherwise.
        render_mode: ``"rgb_array"``, ``"human"`` or None.
        render_options: how it is drawn, a :class:`pbd_gym.rendering.RenderOptions` or a dict of its fields.
        autoreset_mode: a :class:`gymnasium.vector.AutoresetMode` or its value, for example ``"NextStep"``.
        output: ``"numpy"``, or ``"torch"`` for tensors on the device.
        threads: CPU threads of the physics; see :func:`pbd_gym.runtime.threads.default_threads`.
        hand: adds a free grip for a person to use; a single environment with a window has one anyway.
        randomize: range of each parameter that is drawn anew for every episode, as a factor of the task's own number:
            ``{"stiffness": (0.5, 2.0)}``, or where the ground is; see
            :class:`pbd_gym.envs.core.randomization.Randomization`.
        split: start states to draw from: ``"train"`` (the first four fifths), ``"eval"`` (the rest) or ``"all"``.
        **overrides: fields of the task's configuration.

    Raises:
        ValueError: for an unknown mode or parameter, or a number out of range.
        TypeError: for a configuration field that does not exist.
        MemoryError: if the batch would not fit.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (Gymnasium declares it as an instance attribute)
        "render_modes": ["human", "rgb_array"],
        "render_fps": 30,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        *,
        device: str = "cpu",
        obs_mode: ObsMode = "keypoints",
        pixels: Pixels | Mapping[str, Any] | None = None,
        action_mode: ActionMode | None = None,
        reward_mode: RewardMode | None = None,
        render_mode: str | None = None,
        render_options: RenderOptions | Mapping[str, Any] | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        output: Literal["numpy", "torch"] = "numpy",
        threads: int | None = None,
        hand: bool = False,
        randomize: Mapping[str, randomization.Range] | None = None,
        split: Split = "all",
        **overrides: Any,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode must be one of {self.metadata['render_modes']}, got {render_mode!r}")
        if output not in ("numpy", "torch"):
            raise ValueError(f"output must be 'numpy' or 'torch', got {output!r}")
        reward_mode = reward_mode or ("sparse" if obs_mode == "goal" else "dense")
        if reward_mode not in REWARD_MODES:
            raise ValueError(f"reward_mode must be one of {REWARD_MODES}, got {reward_mode!r}")
        if max_episode_steps == -1:  # as gym.make has it
            max_episode_steps = None
        if max_episode_steps is not None:
            max_episode_steps = whole("max_episode_steps", max_episode_steps, 1)
        num_envs = whole("num_envs", num_envs, 1)
        self.config = make_config(self.config_type, overrides)
        self._ranges = dict(randomize or {})
        self.num_envs = num_envs
        self.max_episode_steps = max_episode_steps
        self.obs_mode, self.reward_mode, self.split = obs_mode, reward_mode, split
        self.action_mode = self.action_modes[0] if action_mode is None else action_mode
        if self.action_mode not in self.action_modes:
            raise ValueError(f"action_mode must be one of {self.action_modes}, got {action_mode!r}")
        if obs_mode not in self.obs_modes:
            raise ValueError(f"obs_mode must be one of {self.obs_modes}, got {obs_mode!r}")
        if obs_mode == "goal" and reward_mode not in ("dense", "sparse"):
            raise ValueError(
                "with obs_mode='goal' rewards follow from the goals alone, as compute_reward has them; reward_mode must"
                f" be 'dense' or 'sparse', got {reward_mode!r}"
            )
        if pixels is not None and obs_mode not in PIXEL_MODES:
            raise ValueError(f"pixels are of use with obs_mode in {PIXEL_MODES} only, got {obs_mode!r}")
        self.pixels = pixels if isinstance(pixels, Pixels) else make_config(Pixels, dict(pixels or {}))
        self.render_mode = render_mode
        given = render_options if isinstance(render_options, RenderOptions) else dict(render_options or {})
        self.render_options = given if isinstance(given, RenderOptions) else make_config(RenderOptions, given)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        with compiling():
            self._build(device, output, threads, hand or (render_mode == "human" and num_envs == 1))

    def _build(self, device: str, output: Literal["numpy", "torch"], threads: int | None, hand: bool) -> None:
        """Make everything that has to do with Warp."""
        config, num_envs = self.config, self.num_envs
        self._threads = threads = default_threads() if threads is None else whole("threads", threads, 1)
        self.scene, hands, keypoints, self.goal_particles = self.build(config)
        self.actions = Actions(self.action_mode, hands, self.largest_size)
        fps = round(1.0 / self.action_time, 2)  # a film lasts as long as what it shows
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode, "render_fps": fps}
        self.hand_grip = self.actions.grip_count if hand else None
        """Grip that a person may use, if asked for."""
        self.scene.grip_count = self.actions.grip_count + int(hand)
        if self.ground_collider is not None and "ground_height" in self._ranges:
            self.scene.moving_colliders.append(self.ground_collider)
        self.model = Model(self.scene, num_envs, device=device, threads=threads)
        self.solver = Solver(self.model, config.substeps, damping=config.damping, threads=threads)
        self.state, self.control = self.solver.state(), self.solver.control()
        self.randomization = randomization.Randomization(
            self._ranges, self.model.labels, self.ground_collider is not None
        )
        """Which parameters differ from environment to environment."""
        self.state.parameters.varied = bool(self.randomization.columns)
        shown_grips = 0 if self.action_mode == "drag" else self.actions.grip_count
        self.observations: Observations | PixelObservations
        if self.obs_mode in PIXEL_MODES:
            self.observations = PixelObservations(self.obs_mode, self.pixels, hands.axes, self.goal_particles)
        else:
            self.observations = Observations(
                self.obs_mode, keypoints, self.goal_particles, self.scene.particle_count, shown_grips, hands.axes,
                slots_of(self.actions.paddles, self.model), self.actions.turns,
            )  # fmt: skip
        self.single_action_space = spaces.Box(-1.0, 1.0, (self.actions.size,), np.float32)
        self.single_observation_space = self.observations.space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)

        self.buffers = self._make_buffers()
        self.outputs = Outputs(
            self.buffers, self.term_names, self.observations.names, output, self.scene.has_particle_contacts,
            self.randomization.columns,
        )  # fmt: skip
        self.pictures = Pictures(self, self.render_options)
        self._seeded = False
        self._graphs: list[Any] = []
        self._record()

    @property
    def action_time(self) -> float:
        """Time that an action takes [s]."""
        return float(self.config.ctrl_dt * self.actions.repeat)

    # --- set-up -------------------------------------------------------------------------------------------------------

    def _make_buffers(self) -> Buffers:
        buffers = Buffers(self.num_envs, self.model.device)
        for name in ("seed", "episode", "start", "elapsed", "streak", "finished", "chosen", "restart"):
            buffers.add(name, dtype=wp.int32)
        buffers.add("start_first", dtype=wp.int32)
        buffers.add("start_count", dtype=wp.int32)
        for name in ("is_success", "contact_overflow", "diverged", "terminated", "truncated"):
            buffers.add(name, dtype=wp.int32)
        for name in ("reward", "performance", "normalized_performance", "start_performance", "last_performance"):
            buffers.add(name)
        buffers.add("terms", (len(self.term_names),))
        for name, value in (("parameters", self.randomization.nominal), ("fixed_parameters", np.nan)):
            buffers.add(name, (len(self.randomization.names),))
            buffers.write(name, value)
        buffers.add("actions", (self.actions.size,))
        buffers.add("goals", (len(self.goal_particles), 3))
        buffers.add("observation", (self.observations.size,))
        buffers.add("achieved_goal", (self.observations.goal_size,))
        buffers.add("desired_goal", (self.observations.goal_size,))
        return buffers

    def _record(self) -> None:
        """Prepare every launch of a step once: replaying one costs a microsecond or two."""
        b, state = self.buffers, self.state
        grips = np.full((2, self.scene.grip_count), -1, dtype=np.int32)
        grips[:, : self.actions.grip_count] = self.actions.initially_held, self.actions.particles
        self.start_positions = self.make_starts(grips[0])
        """Configurations that episodes start from [m], shape (starts, n, 3), float32."""
        self.actions.record(
            b["actions"], state, self.control, self.scene.positions, self.config.ctrl_dt, b["parameters"], self.anchor
        )
        self._observe: Any
        if isinstance(self.observations, PixelObservations):
            self._observe = self.observations.record(
                b, state, self.pictures.view_box(), self.goal_radius, hand=self.hand_grip, threads=self._threads
            )
        else:
            self._observe = self.observations.record(b, state)
        self._episodes = EpisodeLaunches(self, grips[0], np.maximum(grips[1], 0))
        self._score = self.record_score()

    # --- Gymnasium ----------------------------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes.

        Args:
            seed: environment ``i`` gets ``seed + i``, or entry ``i`` of a list; None goes on with the streams there
                are, and starts from entropy the first time.
            options: ``"parameters"``, a dict, fixes parameters that were declared with ``randomize``, to a number or
                one per environment, until these environments are reset by this method again; others are drawn.
                ``"reset_mask"`` resets only some environments: bool, shape (num_envs,). ``"split"`` draws these starts
                from ``"train"``, ``"eval"`` or ``"all"`` of the start states; ``"variation"`` takes the one with
                this number in the split, one int or one per environment.

        Returns:
            Observation of all environments, and info of those that were reset.

        Raises:
            ValueError: for an unknown option, a bad mask, seed or parameter, or a mask in the first reset. The
                environments are then as they were.
        """
        mask = check_options(options, self.num_envs)
        fixed = self.randomization.fixed((options or {}).get("parameters") or {}, self.num_envs)
        first, count = check_starts(options, self.split, len(self.start_positions), self.num_envs)
        seeds = split_seed(seed, self.num_envs)
        if not self._seeded and not mask.all():
            raise ValueError("the first reset begins all environments: give no reset_mask")
        super().reset(seed=int(seed) if isinstance(seed, int | np.integer) else None)
        if seeds is None and not self._seeded:
            seeds = self.np_random.integers(-(2**31), 2**31, self.num_envs).astype(np.int32)
        b = self.buffers
        if seeds is not None:
            b.write("seed", np.where(mask, seeds, b.peek("seed")))
            b.write("episode", np.where(mask, 0, b.peek("episode")))
            self._seeded = True
        b.write("fixed_parameters", np.where(mask[:, None], fixed, b.peek("fixed_parameters")))
        b.write("chosen", mask)
        b.write("start_first", first)
        b.write("start_count", count)
        for launch in self._episodes.begin:
            launch.launch()
        usual = split_range(self.split, len(self.start_positions))
        b.write("start_first", usual[0])  # what autoreset draws from
        b.write("start_count", usual[1])
        self._observe.launch()
        out = self.outputs
        shown, nobody = (mask, np.zeros_like(mask)) if out.waits else (out.flags("chosen"), ~out.everyone)
        return out.observation(), out.info(shown=shown, stepped=nobody)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Advance every environment by one control step.

        Args:
            actions: in [-1, 1] (what is beyond is clipped), shape (num_envs, size), floating; NumPy or torch.

        Returns:
            Observation, reward, terminated, truncated and info, as Gymnasium's vector environments give them.

        Raises:
            ValueError: for a wrong shape or a number that is not finite. The environments are then as they were.
            TypeError: for a dtype that is not floating.
            gymnasium.error.ResetNeeded: before the first reset, or after an episode is over with autoreset disabled;
                the latter goes unnoticed with torch output on CUDA, where nothing waits for the device.
        """
        final = self.advance(actions)
        out = self.outputs
        info = out.info(shown=out.everyone, stepped=~out.flags("restart"))
        ends = out.array("terminated", np.bool_), out.array("truncated", np.bool_)
        return out.observation(), out.array("reward", np.float64), *ends, info | final

    def advance(self, actions: Any) -> dict[str, Any]:
        """Do a step and leave its results in the buffers. Returns what has to be kept of episodes that ended."""
        if not self._seeded:
            raise gym.error.ResetNeeded("call reset before step")
        b = self.buffers
        if not self.outputs.waits:
            return self._advance_on_device(actions)
        checked = check_actions(actions, (self.num_envs, self.actions.size))
        if self.autoreset_mode is AutoresetMode.DISABLED and b.peek("finished").any():
            raise gym.error.ResetNeeded("an episode is over: reset it with options={'reset_mask': ...} before stepping")
        b.write("actions", checked)
        self._simulate()
        final: dict[str, Any] = {}
        restarted = b.peek("restart")
        if restarted.any():
            if self.autoreset_mode is AutoresetMode.SAME_STEP:
                self._observe.launch()
                final = self.outputs.final(restarted.astype(bool))
            for launch in self._episodes.restart:
                launch.launch()
        self._observe.launch()
        return final

    def _advance_on_device(self, actions: Any) -> dict[str, Any]:
        """Do the same without waiting for the device: it is told to restart whatever has ended, if anything has.

        The two halves are recorded as CUDA graphs the first time. Actions that are no numbers are not noticed here: a
        displacement of NaN counts as one of -1.
        """
        write_actions(self.buffers["actions"], actions)
        same_step = self.autoreset_mode is AutoresetMode.SAME_STEP

        def first() -> None:
            self._simulate()
            if same_step:
                self._observe.launch()

        def second() -> None:
            if self.autoreset_mode is not AutoresetMode.DISABLED:
                for launch in self._episodes.restart:
                    launch.launch()
            self._observe.launch()

        if not self._graphs:  # once as it is, so that every kernel is loaded, and once more to be recorded
            first()
            final = self.outputs.final(self.outputs.flags("restart")) if same_step else {}
            second()
            for half in (first, second):
                with wp.ScopedCapture(self.model.device) as capture:
                    half()
                self._graphs.append(capture.graph)
            return final
        wp.capture_launch(self._graphs[0])
        final = self.outputs.final(self.outputs.flags("restart")) if same_step else {}
        wp.capture_launch(self._graphs[1])
        return final

    def _simulate(self) -> None:
        """Act, advance the physics, and rate what came of it."""
        for _ in range(self.actions.repeat):
            self.actions.launch()
            self.solver.step(self.state, self.control, self.config.ctrl_dt)
        # NaNs are of no use to anyone: show and rate the start instead. The launch visits every particle, so the CPU
        # looks first whether there is any need; on CUDA looking would cost more than launching.
        if self.model.device.is_cuda or self.state.diverged.numpy()[: self.num_envs].any():
            self._episodes.place_diverged.launch()
        self._score.launch()
        self._episodes.conclude.launch()

    def render(self) -> Any:
        """Draw the batch.

        Returns:
            With ``"rgb_array"`` a tuple of ``num_envs`` pictures, shape (height, width, 3), uint8; with ``"human"``
            None, and a window shows them side by side.
        """
        return self.pictures.render()

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window, if there is one."""
        self.pictures.close()

    def memory_report(self) -> MemoryReport:
        """Say what this batch takes, part by part, and how many environments would fit. ``print`` shows a table."""
        model = self.model
        physics = memory_report(
            self.scene, self.num_envs, model.device.alias, lanes=model.lanes, substeps=self.config.substeps
        )
        buffers = sum(array.capacity for array in self.buffers.arrays.values())
        return replace(physics, group={**physics.group, "buffers": -(-buffers // model.group_count)})
