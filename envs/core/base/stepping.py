"""Step of a batch: act, advance the physics, rate the result, begin new episodes, observe."""

from __future__ import annotations

from typing import Any

import warp as wp
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from pbd_gym.envs.core.base.results import Outputs
from pbd_gym.envs.core.data.buffers import Launches
from pbd_gym.envs.core.data.validation import check_actions, write_actions
from pbd_gym.envs.core.episode.lifecycle import Lifecycle
from pbd_gym.envs.core.episode.watching import RestWatch
from pbd_gym.envs.core.spaces.actions import Moves
from pbd_gym.envs.core.task import World


class Stepper:
    """Replays the launches of a step.

    Args:
        world: the environments. autoreset: when environments reset automatically. episodes: launches that begin,
        restart and end episodes. score: launches that rate every environment. observe: launches that fill the buffers
        of observations. outputs: reader of the results.
    """

    def __init__(
        self,
        world: World,
        autoreset: AutoresetMode,
        episodes: Lifecycle,
        score: Launches,
        observe: Any,
        outputs: Outputs,
    ) -> None:
        self.world, self.autoreset, self.episodes = world, autoreset, episodes
        self.score, self.observe, self.outputs = score, observe, outputs
        self.moves, self.rest = Moves(world), RestWatch(world)
        self._graphs: list[Any] = []

    def advance(self, actions: Any) -> dict[str, Any]:
        """Take a step and leave its results in the buffers. Returns ``final_obs`` and ``final_info``, if any."""
        if not self.outputs.waits:
            return self._advance_on_device(actions)
        world, b = self.world, self.world.buffers
        checked = check_actions(actions, (world.num_envs, world.actions.size))
        if self.autoreset is AutoresetMode.DISABLED and b.peek("finished").any():
            raise ResetNeeded("an episode is over: reset it with options={'reset_mask': ...} before stepping")
        b.write("actions", checked)
        self._simulate()
        final: dict[str, Any] = {}
        restarted = b.peek("restart")
        if restarted.any():
            if self.autoreset is AutoresetMode.SAME_STEP:
                self.observe.launch()
                final = self.outputs.final(restarted.astype(bool))
            self.episodes.restart.launch()
        self.observe.launch()
        return final

    def _advance_on_device(self, actions: Any) -> dict[str, Any]:
        """Advance without waiting for the device, which is told to restart whatever has ended, if anything has.

        The two halves are captured as CUDA graphs the first time. NaN actions are not detected here: a displacement of
        NaN counts as one of -1.
        """
        write_actions(self.world.buffers["actions"], actions)
        if not self._graphs:  # once directly, so that every kernel is loaded, and once more to be captured
            self._first_half()
            final = self._final_on_device()
            self._second_half()
            for half in (self._first_half, self._second_half):
                with wp.ScopedCapture(self.world.model.device) as capture:
                    half()
                self._graphs.append(capture.graph)
            return final
        wp.capture_launch(self._graphs[0])
        final = self._final_on_device()
        wp.capture_launch(self._graphs[1])
        return final

    def _first_half(self) -> None:
        self._simulate()
        if self.autoreset is AutoresetMode.SAME_STEP:
            self.observe.launch()

    def _second_half(self) -> None:
        if self.autoreset is not AutoresetMode.DISABLED:
            self.episodes.restart.launch()
        self.observe.launch()

    def _final_on_device(self) -> dict[str, Any]:
        if self.autoreset is not AutoresetMode.SAME_STEP:
            return {}
        return self.outputs.final(self.outputs.flags("restart"))

    def _simulate(self) -> None:
        """Act, advance the physics, and rate the result."""
        world = self.world
        for step in range(world.actions.repeat):
            self.rest.before_step()
            self.moves.launch(step)
            world.solver.step(world.state, world.control, world.config.ctrl_dt)
            self.rest.after_step()
            if self.episodes.passing is not None:
                self.episodes.passing.after_step(step)
        self.episodes.inspect.launch()
        # NaNs are useless: show and rate the start instead. The launch visits every particle, so the CPU first checks
        # whether it is needed; on CUDA checking would cost more than launching.
        if world.model.device.is_cuda or world.state.diverged.numpy()[: world.num_envs].any():
            self.episodes.reset_diverged.launch()
        self.score.launch()
        self.episodes.conclude.launch()
