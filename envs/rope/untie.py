"""PBDRopeUntie-v0: untie an overhand knot, and pull the rope straight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.buffers import Launches
from pbd_gym.envs.core.data.modes import PICKER_MODES, PIXEL_MODES, Modes
from pbd_gym.envs.core.parts.experts import Script, Waypoint
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import Condition, Part, World
from pbd_gym.envs.rope.body import RopeTaskConfig
from pbd_gym.envs.rope.knots import KnotWatch, find_crossings, v2
from pbd_gym.envs.rope.straighten import RopeStraighten
from pbd_gym.envs.rope.strands import Strands
from pbd_gym.envs.rope.untangling import take_apart

UNTIED = 0
"""Value of v2 that counts as untied."""
TAIL = 60
"""Number of points of each straight end of a curve from which a rope is made."""
FEWEST = 33
"""Number of particles below which a rope is too thick for a loose knot."""
TRIES = 20
"""Number of rounds in which knots are made before the numbers of a task count as impossible."""
GENTLE = 0.4
"""Share of the largest step by which ends are pulled: loops that are jerked go through themselves."""
SETTLES = 30
"""Steps in which knots come to rest before an episode."""


@dataclass(frozen=True)
class RopeKnotConfig(RopeTaskConfig):
    """Numbers of the knot tasks; each can be passed to ``gym.make``."""

    particles: int = 81
    """Number of particles along the rope."""
    rope_length: float = 1.0
    """[m]"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.particles < FEWEST:
            raise ValueError(f"particles must be at least {FEWEST} for a knot, got {self.particles}")

    @property
    def radius(self) -> float:
        """Half the thickness of the rope [m]: its particles nearly touch, so that no strand slips between them."""
        return 0.49 * self.spacing


class RopeUntie(RopeStraighten):
    """A rope with an overhand knot, which must be untied and pulled straight.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: RopeKnotConfig, modes: Modes) -> None:
        self.watch = KnotWatch(config.particles)
        self.script = Script(self.plan)
        super().__init__(config, modes)
        self.counts_passages = True

    def bank(self) -> StartBank:
        """Return the start states."""
        return StartBank(self.knotted)

    def watches(self) -> Sequence[Part]:
        """Return further parts of the task."""
        return [self.watch]

    def conditions(self) -> list[Condition]:
        """Return the task's own conditions for success."""
        look = self.watch.is_knot("unknotted", UNTIED)

        def check(world: World, met: Any) -> Any:
            return Launches([self.watch.look(world), look.prepare(world, met)])

        return [*super().conditions(), Condition("unknotted", check), self.watch.unpassed()]

    def knotted(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return ropes with a loose overhand knot, at rest [m], shape (starts, n, 3)."""
        config, found = self.config, np.zeros((0, self.config.particles, 3))
        handler = self.rope.handler(world, config.starts, damping=4.0)
        for _ in range(TRIES):
            curves = [overhand(rng, config.particles, config.rope_length, config.radius) for _ in range(config.starts)]
            handler.state.set_positions(np.stack(curves))
            handler.state.set_velocities(np.zeros((config.starts, config.particles, 3)))
            handler.rest(SETTLES)
            tied = [x for x in handler.positions() if v2(find_crossings(x)) == (1, 1)]
            found = np.concatenate([found, np.reshape(tied, (-1, *found.shape[1:]))])[: config.starts]
            if len(found) == config.starts:
                break
        else:
            raise ValueError(f"knots do not hold in a rope with these numbers; give it more substeps: {config}")
        found[..., [0, 2]] -= found[..., [0, 2]].mean(axis=1, keepdims=True)
        return found

    def plan(self, world: World, env: int) -> Iterator[Waypoint]:
        """Yield the waypoints that draw an end out of the knot; none where there is no knot."""
        s = Strands.of(world, env, self.config.rope_length)
        if v2(s.crossings) != (0, 0) or self.lifted(s.held):
            yield from take_apart(s)

    def lifted(self, held: np.ndarray) -> bool:
        """Return whether a hand holds something that is no end, as it does while it lifts a strand."""
        inner = (held > 2) & (held < self.config.particles - 3)
        return bool(inner.any())

    def act(self, world: World) -> np.ndarray:
        """Return the expert's actions: draw an end out of the knot, then pull both ends apart."""
        begins = world.buffers.peek("elapsed") == 0
        busy = np.array([bool(plan) for plan in world.plans]) & ~begins
        actions = self.script(world)
        busy |= np.array([bool(plan) for plan in world.plans])
        pulls = self.drag_and_pull(world).reshape(world.num_envs, 2, 4)
        pulls[..., :3] *= GENTLE
        return np.where(busy[:, None], actions, pulls.reshape(actions.shape))


def overhand(rng: np.random.Generator, count: int, length: float, radius: float) -> np.ndarray:
    """Return a rope with an overhand knot, a random one as to hand, size, place and direction [m], shape (count, 3).

    The knot is a polynomial one (Shastri 1992, "Polynomial representations of knots", doi:10.2748/tmj/1178227371), flat
    but where strands cross.

    Args:
        rng: source of all choices.
        count: number of particles.
        length: length of the rope [m].
        radius: half its thickness [m].
    """
    t = np.linspace(-2.15, 2.15, 400)
    loop = np.stack([t**3 - 3.0 * t, t**5 - 10.0 * t, 0.8 * (t**4 - 4.0 * t**2)], axis=1)
    over = find_crossings(loop).over
    share = rng.uniform(0.62, 0.74)
    loop *= share * length / np.linalg.norm(np.diff(loop[:, [0, 2]], axis=0), axis=1).sum()
    loop[:, 1] = 0.0
    before = rng.uniform(0.35, 0.65) * (1.0 - share) * length
    after = (1.0 - share) * length - before
    first, last = (
        end + np.linspace(0.0, tail, TAIL)[1:, None] * (end - other) / np.linalg.norm(end - other)
        for end, other, tail in ((loop[0], loop[1], before), (loop[-1], loop[-2], after))
    )
    line = np.concatenate([first[::-1], loop, last])
    bend = rng.uniform(-0.04, 0.04, 2) * length
    line[:, 2] += bend[0] * np.sin(np.pi * line[:, 0] / length) + bend[1] * np.cos(2.0 * np.pi * line[:, 0] / length)
    along = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1)))
    raised = np.interp(over + TAIL - 1, np.arange(len(line)), along)
    line[:, 1] = radius + 2.4 * radius * np.exp(-0.5 * ((along[:, None] - raised) / (3.0 * radius)) ** 2).max(axis=1)
    along = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1)))
    stops = np.linspace(0.0, along[-1], count)
    x = np.stack([np.interp(stops, along, line[:, axis]) for axis in range(3)], axis=1)
    x[:, [0, 2]] *= length / along[-1]
    x[:, 0] *= rng.choice([-1.0, 1.0])
    angle = rng.uniform(0.0, 2.0 * np.pi)
    turn = np.array([[np.cos(angle), 0.0, np.sin(angle)], [0.0, 1.0, 0.0], [-np.sin(angle), 0.0, np.cos(angle)]])
    return np.asarray(x[:: rng.choice([-1, 1])] @ turn.T)


class RopeUntieVectorEnv(TaskVectorEnv):
    """Untie an overhand knot, and pull the rope straight.

    ## Description

    A rope of one metre lies on the ground with a loose overhand knot in it. Two hands, which can grasp any of its
    particles, must untie it and lay the rope out straight. A pull at both ends tightens the knot: an end has to come
    back through it. The rope is a chain of 81 particles, as thick as they are apart, so that no strand slips between
    two of them.

    ## Action Space

    `Box(-1, 1, (8,), float32)`: two hands, as in :class:`pbd_gym.envs.RopeStraightenVectorEnv`, whose
    `action_mode="pick_place"` is also available.

    ## Observation Space

    As in :class:`pbd_gym.envs.RopeStraightenVectorEnv`: `Box(-100, 100, (68,), float32)` with `obs_mode="keypoints"`,
    ten particles in order along the rope. Which strand of a crossing is above is a matter of a centimetre;
    `obs_mode="particles"` has all particles in place of the ten.

    ## Rewards

    `error`, as in :class:`pbd_gym.envs.RopeStraightenVectorEnv`: minus the difference between the distance of the ends
    and the length L of the rope [m]; `info["normalized_performance"]` is 1 for a straight rope and 0 for ends that
    meet. Success is 0.9 of it, of a straight rope (`straight`) that no hand holds and that is at rest, with two more
    conditions: `unknotted`, the invariant v2 of the rope is 0 (Polyak and Viro 1994,
    doi:10.1155/S1073792894000486), and `unpassed`, in no action of the episode has it gone through itself, as ropes do
    when they are pulled too hard. `info["passages"]` counts that.

    ## Starting State

    One of 64 knots (`starts`) of either hand, at rest, of different sizes and tails, in any direction. The pickers are
    side by side at one side of their box, away from the rope, and open (`hands_at`).

    ## Episode End

    Truncated after 150 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes and devices as in :class:`pbd_gym.envs.TaskVectorEnv`; every field of :class:`pbd_gym.envs.RopeKnotConfig`.

    ## Vectorized environment

    ```python
    gym.make_vec("PBDRopeUntie-v0", num_envs=256)
    ```

    ## Version History

    * v0: initial version
    """

    config_type = RopeKnotConfig
    config: RopeKnotConfig
    task_type = RopeUntie
    action_modes = PICKER_MODES
    obs_modes = ("keypoints", "particles", "memory", "reduced", *PIXEL_MODES)


class RopeUntieEnv(TaskEnv):
    vector_type = RopeUntieVectorEnv
