"""The batched environment that every task is built on: reset, step, autoreset, save and restore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from pbd_gym.envs.core.base.rendering import Pictures
from pbd_gym.envs.core.base.results import Outputs, Transition
from pbd_gym.envs.core.base.snapshots import Snapshots
from pbd_gym.envs.core.base.stepping import Stepper
from pbd_gym.envs.core.data import randomization
from pbd_gym.envs.core.data.buffers import Buffers, Launches
from pbd_gym.envs.core.data.hands import Actions
from pbd_gym.envs.core.data.modes import (
    OBS_MODES,
    PIXEL_MODES,
    ActionMode,
    Modes,
    ObsMode,
    RewardMode,
    check_action_mode,
    check_obs_mode,
    check_reward_mode,
)
from pbd_gym.envs.core.data.presets import Presets, with_preset
from pbd_gym.envs.core.data.solving import solver_options
from pbd_gym.envs.core.data.start_bank import DELAY
from pbd_gym.envs.core.data.validation import (
    Split,
    check_options,
    check_starts,
    make_config,
    make_options,
    split_range,
    split_seed,
)
from pbd_gym.envs.core.episode.lifecycle import (
    Disturbance,
    Lifecycle,
    add_buffers,
    check_conditions,
    expose_to_wind,
)
from pbd_gym.envs.core.episode.watching import speed_limit
from pbd_gym.envs.core.parts.experts import expert_of
from pbd_gym.envs.core.spaces.observations import make_observations
from pbd_gym.envs.core.spaces.pixels import PixelObservations, Pixels
from pbd_gym.envs.core.task import Task, World
from pbd_gym.registry import set_by
from pbd_gym.rendering.pictures.frame import RenderOptions
from pbd_gym.runtime.checks import switch, whole
from pbd_gym.runtime.compilation import compiling_once
from pbd_gym.runtime.messages import announced
from pbd_gym.runtime.threads import default_threads
from pbd_gym.sim.costs import memory_report
from pbd_gym.sim.memory import MemoryReport
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.substeps import needed_substeps

_SINGLE = {"action_space": "single_action_space", "observation_space": "single_observation_space"}
"""Attributes of a single environment, and their counterparts of the batch."""


LOOKS = 0.1
"""Share by which one sweep may soften bodies of a task that takes as many substeps as they need."""


class TaskVectorEnv(Snapshots, VectorEnv):
    """Batch of environments of one task.

    A task has a subclass, which names its configuration, its modes and its :class:`pbd_gym.envs.Task`, which is built
    from these.

    Args:
        num_envs: environments in the batch.
        max_episode_steps: steps after which an episode is truncated; -1 for no limit, and None for that of the id, or
            no limit where the batch is made of its class.
        device: Warp device, ``"cpu"`` or ``"cuda:0"``.
        preset: name of one of the task's :attr:`presets`, such as ``"softgym"``: default arguments that explicit ones
            override.
        horizon: steps after which the task itself truncates an episode, if that is sooner than ``max_episode_steps``.
        obs_mode: by default the first of :attr:`obs_modes`: ``"keypoints"``, unless there are pictures alone; see
            :class:`pbd_gym.envs.core.spaces.observations.Observations`, for ``"memory"``
            :class:`pbd_gym.envs.core.spaces.observations.MemoryObservations`, and for pictures
            :class:`pbd_gym.envs.core.spaces.pixels.PixelObservations`.
        pixels: settings of pictures, a :class:`pbd_gym.envs.Pixels` or a dict of its fields.
        action_mode: see :class:`pbd_gym.envs.core.data.hands.Actions`.
        reward_mode: ``"dense"`` (sum of named terms), ``"sparse"`` (0 while it is a success, -1 otherwise), ``"delta"``
            (gain of ``performance`` in this step), ``"normalized"`` (``normalized_performance``) or ``"finish"`` (the
            same, but no less than -1; at the goal plus the share of hands that are empty or, where there are none, 1
            and the share of the time for which all has to be at rest; plus 1 while it is a success). With
            ``obs_mode="goal"``, which takes the first two only, sparse is the default and a function of goals alone: 0
            at the goals, held or moving or not.
        render_mode: ``"rgb_array"``, ``"rgb_array_list"``, ``"human"`` or None.
        render_options: how it is drawn, a :class:`pbd_gym.rendering.RenderOptions` or a dict of its fields.
        autoreset_mode: a :class:`gymnasium.vector.AutoresetMode` or its value, for example ``"NextStep"``.
        output: ``"numpy"``, or ``"torch"`` for tensors on the device.
        threads: CPU threads of the physics; see :func:`pbd_gym.runtime.threads.default_threads`.
        hand: whether to add a free grip for a person to use; a single environment with a window has one anyway.
        wrenches: whether to report the force [N] and torque [N m] on each collider in ``info["wrenches"]``, float32,
            shape (num_envs, colliders, 6), or (colliders, 6) for a single environment: the result of
            :meth:`pbd_gym.sim.state.State.get_wrenches`, averaged over the last ``ctrl_dt`` of an action; 0 after a
            reset.
        passages: whether to count particles that pass through cloth of another body, and ropes through ropes, in
            ``info["passages"]``, int32: the sum of :meth:`pbd_gym.sim.state.State.get_passages` over the control steps
            of an action; 0 after a reset. This takes a fifth to a whole control step longer.
        randomize: range of each parameter that is sampled for every episode, as a factor of the task's own number, e.g.
            ``{"stiffness": (0.5, 2.0)}``, or for the pose of the ground; or the name of such ranges, ``"sim2real"``.
            See :class:`pbd_gym.envs.core.data.randomization.Randomization`.
        split: start states to sample from: ``"train"`` (the first four fifths), ``"eval"`` (the rest) or ``"all"``.
        registered: id whose arguments replace None; :func:`gymnasium.make_vec` gives it.
        **overrides: fields of the task's configuration, among them ``method``, ``iterations`` and ``chebyshev``.

    Raises:
        ValueError: for an unknown mode or parameter, a number out of range, or ``wrenches`` without a collider.
        TypeError: for a configuration field that does not exist.
        MemoryError: if the batch would not fit.
    """

    config_type: ClassVar[type]
    """Dataclass of the task's numbers; every batch reads its ``ctrl_dt``, ``substeps`` and ``damping``, and any fields
    of :class:`pbd_gym.envs.core.data.solving.SolverConfig`.
    """
    config: Any
    """The task's numbers, a ``config_type``."""
    task_type: ClassVar[type[Task]]
    """Class of the task, which is built from its numbers and from the modes of actions, observations and rewards, a
    :class:`pbd_gym.envs.Modes`.
    """
    action_modes: ClassVar[tuple[ActionMode, ...]] = ("drag", "picker", "pin", "pick_place")
    """Action modes of the task, the default first."""
    obs_modes: ClassVar[tuple[ObsMode, ...]] = (*OBS_MODES, *PIXEL_MODES)
    """Observation modes of the task; without goals there is no ``"goal"``."""
    grows: ClassVar[bool] = True
    """Whether environments may differ in size."""
    presets: ClassVar[Presets] = {}
    """Arguments by name of the preset; see :mod:`pbd_gym.envs.core.data.presets`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if VectorEnv not in cls.__bases__:  # libraries such as skrl tell an environment by its direct bases
            cls.__bases__ = (*cls.__bases__, VectorEnv)

    metadata: dict[str, Any] = {  # noqa: RUF012  (Gymnasium declares it as an instance attribute)
        "render_modes": ["human", "rgb_array", "rgb_array_list"],
        "render_fps": 30,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        *,
        device: str = "cpu",
        preset: str | None = None,
        horizon: int | None = None,
        obs_mode: ObsMode | None = None,
        pixels: Pixels | Mapping[str, Any] | None = None,
        action_mode: ActionMode | None = None,
        reward_mode: RewardMode | None = None,
        render_mode: str | None = None,
        render_options: RenderOptions | Mapping[str, Any] | None = None,
        autoreset_mode: AutoresetMode | str | None = None,
        output: Literal["numpy", "torch"] | None = None,
        threads: int | None = None,
        hand: bool = False,
        wrenches: bool = False,
        passages: bool = False,
        randomize: Mapping[str, randomization.Range] | str | None = None,
        split: Split = "train",
        registered: str | None = None,
        **overrides: Any,
    ) -> None:
        own, output = set_by(registered), output or "numpy"

        def set_or(name: str, value: Any) -> Any:
            return own.get(name) if value is None else value

        max_episode_steps, preset = set_or("max_episode_steps", max_episode_steps), set_or("preset", preset)
        render_mode, render_options = set_or("render_mode", render_mode), set_or("render_options", render_options)
        pixels, threads, action_mode = (
            set_or("pixels", pixels), set_or("threads", threads), set_or("action_mode", action_mode),
        )  # fmt: skip
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode must be one of {self.metadata['render_modes']}, got {render_mode!r}")
        if output not in ("numpy", "torch"):
            raise ValueError(f"output must be 'numpy' or 'torch', got {output!r}")
        if max_episode_steps is not None:  # gym.make has -1 for no limit
            max_episode_steps = None if max_episode_steps == -1 else whole("max_episode_steps", max_episode_steps, 1)
        num_envs = whole("num_envs", num_envs, 1)
        modes: dict[str, Any] = {"action_mode": action_mode, "obs_mode": obs_mode, "reward_mode": reward_mode}
        modes.update(randomize=randomize, horizon=horizon)
        modes, overrides = ({name: set_or(name, v) for name, v in given.items()} for given in (modes, overrides))
        modes, overrides = with_preset(self.presets, preset, action_mode, modes, overrides)
        self.config = make_config(self.config_type, overrides)
        solver_options(self.config)  # refuses bad ones before any work
        self.ranges = randomization.as_ranges(modes["randomize"], self.grows)
        if modes["horizon"] is not None:
            horizon = whole("horizon", modes["horizon"], 1)
            max_episode_steps = min(horizon, max_episode_steps or horizon)
        hand, wrenches = switch("hand", hand), switch("wrenches", wrenches)
        asked = {"wrenches": wrenches, "passages": switch("passages", passages)}
        threads = default_threads() if threads is None else whole("threads", threads, 1)
        self.num_envs, self.max_episode_steps, self.split = num_envs, max_episode_steps, split
        self.action_mode = check_action_mode(modes["action_mode"], self.action_modes)
        self.obs_mode = check_obs_mode(modes["obs_mode"] or self.obs_modes[0], self.obs_modes, pixels)
        self.reward_mode = check_reward_mode(modes["reward_mode"], self.obs_mode)
        self.pixels, self.render_mode = make_options("pixels", Pixels, pixels), render_mode
        self.render_options = make_options("render_options", RenderOptions, render_options)
        self.autoreset_mode = AutoresetMode(autoreset_mode or AutoresetMode.NEXT_STEP)
        self.modes = Modes(self.action_mode, self.obs_mode, self.reward_mode, self.ranges)
        with compiling_once(type(self), self.config, self.action_mode, self.obs_mode, num_envs, device, wrenches):
            with announced("building the scene, which is large ...", DELAY):
                kind: Any = self.task_type
                self.task: Task = kind(self.config, self.modes)
            self._make_world(device, threads, hand or (render_mode == "human" and num_envs == 1), asked)
            self._prepare(output, threads)

    def _make_world(self, device: str, threads: int, hand: bool, asked: dict[str, bool]) -> None:
        """Build the simulation, and the data kept for each environment.

        Args:
            device: device of the physics.
            threads: CPU threads.
            hand: whether a person gets a grip.
            asked: further sums and counts for the solver.
        """
        config, task, num_envs, ranges = self.config, self.task, self.num_envs, self.ranges
        scene = self.scene = task.scene
        self.goal_particles = task.goal_particles
        self.actions = Actions(self.action_mode, task.hands, self.modes.largest_size)
        fps = max(round(1.0 / self.action_time), 1)  # whole, as others count; our own films take the exact number
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode, "render_fps": fps}
        scene.grip_count = self.actions.grip_count + int(hand)
        if task.ground is not None and "ground_height" in ranges:
            scene.moving_colliders.append(task.ground)
        if any(name in ranges for name in randomization.WINDS):
            expose_to_wind(scene)
        self.model = Model(scene, num_envs, device=device, threads=threads)
        limit = speed_limit(task.hands, config.ctrl_dt, float(np.linalg.norm(scene.gravity)), ranges)
        substeps = config.substeps
        if substeps is None:
            substeps = needed_substeps(scene, config.ctrl_dt, LOOKS, forces=False)
        options = {**solver_options(config), **asked, "passages": asked["passages"] or task.counts_passages}
        self.solver = Solver(self.model, substeps, max_speed=limit, threads=threads, quiet=True, **options)
        self.state, self.control = self.solver.state(), self.solver.control()
        idle = randomization.without_effect(self.model, config.damping)
        self.randomization = randomization.Randomization(
            ranges, self.model.labels, task.ground is not None, self.model.fluid_columns > 0, idle
        )
        """Parameters that differ between environments."""
        self.state.parameters.varied = bool(self.randomization.columns)
        self.buffers = Buffers(num_envs, self.model.device)
        self.world = World(
            task, config, self.modes, num_envs, self.max_episode_steps, self.actions,
            self.actions.grip_count if hand else None, self.model, self.solver, self.state, self.control,
            self.randomization, self.buffers,
        )  # fmt: skip
        """The environments, as the task sees them."""

    def _prepare(self, output: Literal["numpy", "torch"], threads: int) -> None:
        """Make spaces and buffers, find the start states, and prepare every launch of a step once."""
        world, task, actions, buffers = self.world, self.task, self.actions, self.buffers
        self.observations = make_observations(world, self.pixels, type(self).__name__)
        self.single_action_space = spaces.Box(-1.0, 1.0, (actions.size,), np.float32)
        self.single_observation_space = self.observations.space
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        add_buffers(world, self.observations)
        self.disturbance = Disturbance(world)
        self.outputs = Outputs(
            buffers, task.score.term_names, self.observations.names, output,
            self.scene.has_particle_contacts, self.solver.piercings, self.model.has_solids,
            self.scene.fluid is not None, self.solver.options.wrenches, self.solver.passages,
            self.randomization.columns, task.score.condition_names,
        )  # fmt: skip
        self.pictures = Pictures(self, world, self.render_options)
        self._seeded = False
        held = np.full(self.scene.grip_count, -1, dtype=np.int32)
        held[: actions.grip_count] = actions.initially_held
        world.start_positions = self.start_positions = task.starts.positions(world, held)
        """Start configurations of episodes [m], shape (starts, n, 3), float32."""
        hands = np.repeat(self.start_positions[:, :1], self.scene.grip_count, axis=1)  # a person's is at the first one
        hands[:, : actions.grip_count] = actions.start_places(self.start_positions)
        if isinstance(self.observations, PixelObservations):
            shown = self.pictures.view_box(), task.score.goal_radius
            self._observe: Any = self.observations.prepare(
                buffers, self.state, *shown, hand=world.hand_grip, threads=threads
            )
        else:
            self._observe = self.observations.prepare(world)
        self._episodes = Lifecycle(world, self.disturbance, self.autoreset_mode, held, hands)
        self._score = Launches([*task.score.rate(world), *check_conditions(world)])
        self._stepper = Stepper(world, self.autoreset_mode, self._episodes, self._score, self._observe, self.outputs)

    @property
    def action_time(self) -> float:
        """Duration of an action [s]."""
        return float(self.config.ctrl_dt * self.actions.repeat)

    def expert(self) -> np.ndarray:
        """Return the current action of the task's scripted expert, shape (num_envs, size), float32.

        It may plan for a whole episode from its start, so call this before every step.

        Raises:
            ValueError: if the task has no expert.
        """
        return expert_of(self)()

    # --- Gymnasium ----------------------------------------------------------------------------------------------------

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes.

        Args:
            seed: environment ``i`` gets ``seed + i``, or entry ``i`` of a list, array or tensor; None, as a whole or
                as an entry, continues the existing stream, and starts from entropy the first time.
            options: ``"parameters"``, a dict, fixes parameters that were declared with ``randomize``, to a number or
                one per environment, until these environments are reset by this method again; others are sampled.
                ``"reset_mask"`` resets only some environments: bool, shape (num_envs,), an array or a tensor; a tensor
                on the batch's GPU avoids waiting. ``"split"`` samples these starts from ``"train"``, ``"eval"`` or
                ``"all"`` of the start states; ``"variation"`` takes the one with this index in the split, one int or
                one per environment.

        Returns:
            Observation of all environments, and info of those that were reset.

        Raises:
            ValueError: for an unknown option, a bad mask, seed or parameter, or a mask in the first reset. The
            environments are then unchanged.
        """
        out, b = self.outputs, self.buffers
        mask = check_options(options, self.num_envs, None if out.waits else str(b.device))
        fixed = self.randomization.fixed((options or {}).get("parameters") or {}, self.num_envs)
        first, count = check_starts(options, self.split, len(self.start_positions), self.num_envs)
        seeds = split_seed(seed, self.num_envs)
        if not self._seeded and not mask.all():
            raise ValueError("the first reset begins all environments: give no reset_mask")
        super().reset(seed=int(seed) if isinstance(seed, int | np.integer) else None)
        self._begin_streams(mask, seeds)
        b.write_rows("fixed_parameters", mask, fixed)
        b["chosen"].zero_()
        b.write_rows("chosen", mask, 1)
        b.write("start_first", first)
        b.write("start_count", count)
        self._episodes.begin.launch()
        usual = split_range(self.split, len(self.start_positions))
        b.write("start_first", usual[0])  # what autoreset samples from
        b.write("start_count", usual[1])
        self._observe.launch()
        if self.render_mode == "rgb_array_list":
            self.pictures.keep(begun=mask, shown=mask)
        shown, nobody = (mask, np.zeros_like(mask)) if out.waits else (out.flags("chosen"), ~out.everyone)
        return out.observation(), out.info(shown=shown, stepped=nobody)

    def _begin_streams(self, mask: Any, seeds: tuple[np.ndarray, np.ndarray] | None) -> None:
        """Begin the random streams of environments that are given a seed; the first time those of all.

        Args:
            mask: environments that are reset, bool, shape (num_envs,), an array or a tensor.
            seeds: seeds of the environments and a mask of those that have one, from :func:`split_seed`.
        """
        numbers, given = seeds or (np.zeros(self.num_envs, dtype=np.int32), np.zeros(self.num_envs, dtype=bool))
        if not self._seeded and not given.all():
            drawn = self.np_random.integers(-(2**31), 2**31, self.num_envs).astype(np.int32)
            numbers, given = np.where(given, numbers, drawn), np.ones_like(given)
        self._seeded = True
        if given.any():
            begun = mask & (given if isinstance(mask, np.ndarray) else mask.new_tensor(given))
            self.buffers.write_rows("seed", begun, numbers)
            self.buffers.write_rows("episode", begun, 0)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Advance every environment by one control step.

        Args:
            actions: values in [-1, 1] (others are clipped), shape (num_envs, size), floating; NumPy or torch.

        Returns:
            Observation, reward, terminated, truncated and info, as Gymnasium's vector environments give them. Rewards
            and infos are float64, whole numbers int64, as Gymnasium has them; as tensors float32 and int32.

        Raises:
            ValueError: for a wrong shape or a number that is not finite. The environments are then unchanged.
            TypeError: for a dtype that is not floating.
            gymnasium.error.ResetNeeded: before the first reset, or after an episode is over with autoreset disabled;
                the latter goes unnoticed with torch output on CUDA, where nothing waits for the device.
        """
        final = self.advance(actions)
        out = self.outputs
        if self.render_mode == "rgb_array_list":
            self.pictures.keep(begun=out.flags("restart"), shown=out.everyone)
        info = out.info(shown=out.everyone, stepped=~out.flags("restart"))
        ends = out.array("terminated", np.bool_), out.array("truncated", np.bool_)
        reward = out.array("reward", np.float64 if out.torch is None else np.float32)
        return out.observation(), reward, *ends, info | final

    def advance(self, actions: Any) -> dict[str, Any]:
        """Take a step and leave its results in the buffers. Returns ``final_obs`` and ``final_info``, if any."""
        if not self._seeded:
            raise gym.error.ResetNeeded("call reset before step")
        return self._stepper.advance(actions)

    def transition(self, actions: Any) -> Transition:
        """Take a step as :meth:`step` does, and return no more than learning needs, without copies.

        With ``autoreset_mode="SameStep"`` on CUDA, nothing in it depends on the host: it can be recorded as a part of a
        CUDA graph (:class:`pbd_gym.runtime.recording.Recording`).

        Args:
            actions: as for :meth:`step`.

        Returns:
            Tensors of the batch's device.

        Raises:
            ValueError: for a batch that shows dicts, or does not give tensors (``output="torch"``), and as :meth:`step`
                with its other errors.
        """
        out, tensor = self.outputs, self.buffers.tensor
        if out.torch is None or len(out.names) > 1:
            raise ValueError("transition is for output='torch', and observations that are one array")
        if not self._seeded:
            raise gym.error.ResetNeeded("call reset before transition")
        last = self._stepper.advance(actions, brief=True).get("final_obs")
        terminated, truncated = (tensor(name) != 0 for name in ("terminated", "truncated"))
        return Transition(tensor(out.names[0]), tensor("reward"), terminated, truncated, last)

    def compute_reward(self, achieved_goal: np.ndarray, desired_goal: np.ndarray, info: Any = None) -> np.ndarray:
        """Return the reward of ``obs_mode="goal"`` for goals other than the episode's, for hindsight experience replay.

        Args:
            achieved_goal: as in observations, shape (..., goal size).
            desired_goal: likewise.
            info: unused, but part of Gymnasium's convention for goals.

        Returns:
            Shape (...), float32: bit for bit the reward of steps.
        """
        achieved, desired = np.asarray(achieved_goal), np.asarray(desired_goal)
        rows = (-1, achieved.shape[-1])
        rewards = self.task.score.goal_reward(self.world, achieved.reshape(rows), desired.reshape(rows))
        return rewards.reshape(achieved.shape[:-1])

    def render(self) -> Any:
        """Draw the batch.

        Returns:
            With ``"rgb_array"`` a tuple of ``num_envs`` pictures, shape (height, width, 3), uint8; with
            ``"rgb_array_list"`` a tuple of lists of them, of each step since the last call or since the episode began;
            with ``"human"`` None, and a window shows them side by side.
        """
        return self.pictures.render()

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window, if there is one."""
        if hasattr(self, "pictures"):  # Gymnasium 1.2 also closes what was never made, because of a bad argument
            self.pictures.close()

    def memory_report(self) -> MemoryReport:
        """Report the memory of this batch by part, and how many environments would fit; ``print`` shows a table."""
        model = self.model
        options = {"substeps": self.solver.substeps, **solver_options(self.config)}
        options |= {"wrenches": self.solver.options.wrenches, "passages": self.solver.passages}
        physics = memory_report(self.scene, self.num_envs, model.device.alias, lanes=model.lanes, **options)
        buffers = sum(array.capacity for array in self.buffers.arrays.values())
        return replace(physics, group={**physics.group, "buffers": -(-buffers // model.group_count)})

    # --- attributes, as SyncVectorEnv and AsyncVectorEnv have them; environments of a batch share theirs ---

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method once, or read an attribute, and return the answer once per environment.

        ``"render"`` gives each environment its own picture.

        Raises:
            AttributeError: if there is no such attribute.
        """
        found = getattr(self, _SINGLE.get(name, name))
        answer = found(*args, **kwargs) if callable(found) else found
        return answer if name == "render" and answer is not None else (answer,) * self.num_envs

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute once per environment; callables are called.

        Raises:
            AttributeError: if there is no such attribute.
        """
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of the whole batch. Things prepared when the batch was made do not follow it.

        Args:
            name: name of the attribute.
            values: one value, or a list or tuple with the same one for each environment.

        Raises:
            ValueError: for a list of a wrong length, or of values that differ.
        """
        if isinstance(values, list | tuple):
            if len(values) != self.num_envs:
                raise ValueError(f"values must be {self.num_envs}, one for each environment, got {len(values)}")
            if not all(np.array_equal(value, values[0]) for value in values):
                raise ValueError(f"environments of a batch share {name}: give it one value, got {values!r}")
            values = values[0]
        setattr(self, _SINGLE.get(name, name), values)
