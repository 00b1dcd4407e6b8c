"""The arguments of imitation; :mod:`pbd_gym.training.settings.tuned` has their numbers for each id.

Nothing here imports torch or Warp, so that ``--help`` is quick.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from pbd_gym.training.settings.algorithms import IMITATION, Activation, run_name
from pbd_gym.training.settings.tuned import IMITATED


@dataclass(kw_only=True)
class FitArgs:
    """How a network is fitted to actions."""

    epochs: int = 60
    """passes over the data"""
    batch_size: int = 512
    """steps per gradient"""
    learning_rate: float = 2e-3
    """of Adam at the start; it falls to zero along a half cosine"""
    hidden: tuple[int, ...] = (256, 256)
    """units of each hidden layer"""
    activation: Activation = "tanh"
    """between the layers; a choice between many things is learned better with relu"""
    jitter: float = 0.02
    """standard deviation of noise on standardised observations, for a network that is smooth between demonstrations"""
    seed: int = 0
    """of the network and the order of the data"""
    device: str = "cpu"
    """of the physics and of what is learned: cpu or cuda:0"""


@dataclass(kw_only=True)
class RefinementArgs:
    """How a policy is refined."""

    steps: int = 300_000
    """environment steps"""
    learning_rate: float = 1e-4
    """of Adam at the start; it falls linearly to zero"""
    log_std: float = -2.5
    """logarithm of the standard deviation of its actions at the start"""
    share: float = 0.1
    """what normalised performance, and how much of success there is, count in every step, beside 1 for each at the end:
    much where an agent has to find its way, little where haste makes waste. At the goal there is a third of success,
    and another for hands that have let go and for rest each"""
    anchor: float = 0.0
    """how much it counts to act as the policy did, in squared standard deviations of its actions at the start: where
    tenths of a percent matter, gradients are mostly noise and would slowly undo what was learnt"""
    watched: int = 6
    """rollouts that the critic watches first"""
    rounds: int = 6
    """how often it is evaluated meanwhile; the best is kept"""
    enough: float = 0.97
    """success rate at which it stops"""
    starts: int = 600
    """start states in the bank, four fifths of which are learned from, where the task has one"""
    num_envs: int = 64
    """environments"""
    eval_episodes: int = 100
    """unseen episodes that a policy is evaluated on"""
    images: bool = False
    """learn from the images of samples, and of demonstrations, under the symmetries of the task as well"""
    seed: int = 0
    """of the noise and the episodes"""


@dataclass(kw_only=True)
class ImitateArgs(FitArgs):
    """Imitate the expert of a task. Defaults by id are in pbd_gym/training/settings/tuned.py."""

    env_id: Annotated[str, tyro.conf.Positional]
    """environment"""
    out: Path | None = None
    """folder of the run, runs/ID-imitation-SEED by default"""
    seed: int = 0
    """of the network and the order of the data, and of the refinement unless that has one of its own; each seed has
    100,000 episodes of its own"""
    start: Path | None = None
    """file NAME.npz of a clone of the same shape that goes on: it acts in the demonstrations, as in corrections; give
    another --seed than it has had"""
    demonstrations: int = 1000
    """episodes of the expert; those without noise and without success are left out"""
    noise: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2)
    """standard deviations of the noise on its actions, in turn; each goes on to a moment within the first four fifths
    of the episode, so that the expert is seen to finish, too, unless it is steady"""
    steady: bool = False
    """let the noise go on to the end"""
    release: int = 0
    """actions at the end of an episode in which pickers let go whatever the expert does, and stay where they are: a
    clone that is a little beside the place where its expert lets go would wait there for ever"""
    corrections: int = 0
    """rounds of episodes in which the clone acts and learns what the expert would have done; for experts that go by
    what they see, not for those with a plan"""
    corrected: float = 0.2
    """episodes of such a round, as a share of the demonstrations"""
    handed: float = 0.5
    """share of them in which the expert takes over at a moment"""
    idle: float = 1.0
    """share of the steps to learn from in which empty hands of pickers stay where they are: where the expert is done
    early, there are so many of them that what it does before counts for little; but all in which pickers let go"""
    canonical: bool = False
    """act in canonical images (:mod:`pbd_gym.training.symmetry.canonical`), for tasks with symmetries and goals"""
    near: bool = False
    """see how far hands are from keypoints and goals, cut off at 3 cm, for tasks with goals; those who act in canonical
    images do"""
    point: bool = False
    """choose what each hand goes to, or where it takes what it holds, instead of how it moves
    (:mod:`pbd_gym.training.agents.pointing`)"""
    full_speed: bool = False
    """hands that point go as fast as they can, where the expert is never slow for a reason"""
    abreast: int = 100
    """episodes that run side by side"""
    obs_mode: Literal["keypoints", "particles", "memory"] = "memory"
    """what the agent sees"""
    epochs: int = 20
    """passes over the data"""
    last_epochs: int = 0
    """passes over them after the last round of corrections; 0 for no more than before"""
    batch_size: int = 256
    """steps per gradient"""
    env_kwargs: dict[str, str] = field(default_factory=dict)
    """arguments of the environment, for example --env-kwargs rows 8 columns 8"""
    eval_episodes: int = 100
    """unseen episodes that the result is evaluated on"""
    refinement: RefinementArgs = field(default_factory=RefinementArgs)
    """what follows"""

    @property
    def folder(self) -> Path:
        """Of the run."""
        return self.out or Path("runs") / run_name(self.env_id, IMITATION, "torch", self.seed)

    def settings(self) -> dict[str, Any]:
        """Return what ``run.json`` says of the run: all but its id, its folder and the device."""
        told = dataclasses.asdict(self)
        del told["env_id"], told["out"], told["device"]
        return {**told, "start": None if self.start is None else str(self.start)}


def read(words: Sequence[str], prog: str) -> ImitateArgs:
    """Return the arguments that a command line gives. What it does not say is as tuned for the id, or as usual.

    Args:
        words: of the command line, without the command.
        prog: the command, for messages.
    """
    env_id = tyro.cli(ImitateArgs, args=words, prog=prog).env_id
    tuned = dict(IMITATED.get(env_id.rpartition(":")[2], {}))
    refinement = RefinementArgs(**tuned.pop("refinement", {}))
    default = ImitateArgs(env_id=env_id, refinement=refinement, **tuned)
    return tyro.cli(ImitateArgs, args=words, prog=prog, default=default)
