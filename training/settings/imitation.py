"""The arguments of imitation; :mod:`pbd_gym.training.settings.tuned` has their numbers for each id.

Nothing here imports torch or Warp, so that ``--help`` is fast.
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
    """Settings for fitting a network to actions."""

    epochs: int = 60
    """passes over the data"""
    batch_size: int = 512
    """steps per gradient"""
    learning_rate: float = 2e-3
    """learning rate of Adam at the start; it falls to zero along a half cosine"""
    hidden: tuple[int, ...] = (256, 256)
    """units of each hidden layer"""
    activation: Activation = "tanh"
    """activation between the layers; choices among many options are learned better with relu"""
    jitter: float = 0.02
    """standard deviation of noise on standardised observations, for a network that is smooth between demonstrations"""
    seed: int = 0
    """seed of the network and the order of the data"""
    device: str = "cpu"
    """device of the physics and of the learner: cpu or cuda:0"""


@dataclass(kw_only=True)
class RefinementArgs:
    """Settings for refining a policy."""

    steps: int = 300_000
    """environment steps"""
    learning_rate: float = 1e-4
    """learning rate of Adam at the start; it falls linearly to zero"""
    log_std: float = -2.5
    """logarithm of the initial standard deviation of its actions"""
    share: float = 0.1
    """weight of normalised performance and of partial success in every step, relative to 1 for each at the end: large
    if an agent has to find its way, small if haste makes waste. Partial success is a third at the goal, and a third
    each for released hands and for rest
    """
    anchor: float = 0.0
    """weight of staying close to the original policy's actions, in squared initial standard deviations: where tenths of
    a percent matter, gradients are mostly noise and would slowly undo what was learnt
    """
    watched: int = 6
    """rollouts that the critic watches first"""
    rounds: int = 6
    """number of evaluations meanwhile; the best is kept"""
    enough: float = 0.97
    """success rate at which it stops"""
    starts: int = 600
    """start states in the bank, four fifths of which are trained on, if the task has one"""
    num_envs: int = 64
    """environments"""
    eval_episodes: int = 100
    """unseen episodes on which a policy is evaluated"""
    images: bool = False
    """also learn from the images of samples, and of demonstrations, under the symmetries of the task"""
    seed: int = 0
    """seed of the noise and the episodes"""


@dataclass(kw_only=True)
class ImitateArgs(FitArgs):
    """Imitate the expert of a task. Defaults by id are in pbd_gym/training/settings/tuned.py."""

    env_id: Annotated[str, tyro.conf.Positional]
    """environment"""
    out: Path | None = None
    """folder of the run, runs/ID-imitation-SEED by default"""
    seed: int = 0
    """seed of the network and the order of the data, and of the refinement unless that has its own; each seed has
    100,000 episodes of its own
    """
    start: Path | None = None
    """file NAME.npz of a clone of the same shape to continue from: it acts in the demonstrations, as in corrections;
    use a different --seed than before
    """
    demonstrations: int = 1000
    """episodes of the expert; failed ones without noise are dropped"""
    noise: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2)
    """standard deviations of the noise on its actions, in turn; each lasts until some moment within the first four
    fifths of the episode, so that the expert is also seen to finish, unless it is steady
    """
    steady: bool = False
    """let the noise last to the end"""
    release: int = 0
    """actions at the end of an episode during which hands release and stay still, whatever the expert does: a clone
    slightly beside the place where its expert releases would otherwise wait there forever
    """
    corrections: int = 0
    """rounds of episodes in which the clone acts and learns the expert's actions; for experts that react to what they
    see, not for those with a fixed plan
    """
    corrected: float = 0.2
    """episodes of such a round, as a share of the demonstrations"""
    handed: float = 0.5
    """share of them in which the expert takes over at some moment"""
    idle: float = 1.0
    """share of the training steps in which empty hands stay still: if the expert finishes early, these are so many that
    its earlier actions count for little; steps in which hands release are all kept
    """
    canonical: bool = False
    """act in canonical images (:mod:`pbd_gym.training.symmetry.canonical`), for tasks with symmetries and goals"""
    near: bool = False
    """show the distances of hands from keypoints and goals, clipped at 3 cm, for tasks with goals; agents in canonical
    images always see them
    """
    point: bool = False
    """choose the target of each hand, or where it takes the held particle, instead of its motion
    (:mod:`pbd_gym.training.agents.pointing`)
    """
    full_speed: bool = False
    """pointing hands always move at full speed, if the expert is never slow for a reason"""
    abreast: int = 100
    """episodes that run side by side"""
    obs_mode: Literal["keypoints", "particles", "memory"] = "memory"
    """observations of the agent"""
    epochs: int = 20
    """passes over the data"""
    last_epochs: int = 0
    """passes over them after the last round of corrections; 0 for the same number as before"""
    batch_size: int = 256
    """steps per gradient"""
    env_kwargs: dict[str, str] = field(default_factory=dict)
    """arguments of the environment, for example --env-kwargs rows 8 columns 8"""
    eval_episodes: int = 100
    """unseen episodes on which the result is evaluated"""
    refinement: RefinementArgs = field(default_factory=RefinementArgs)
    """settings of the refinement that follows"""

    @property
    def folder(self) -> Path:
        """Folder of the run."""
        return self.out or Path("runs") / run_name(self.env_id, IMITATION, "torch", self.seed)

    def settings(self) -> dict[str, Any]:
        """Return the settings for ``run.json``: all but the id, the folder and the device."""
        told = dataclasses.asdict(self)
        del told["env_id"], told["out"], told["device"]
        return {**told, "start": None if self.start is None else str(self.start)}


def read(words: Sequence[str], prog: str) -> ImitateArgs:
    """Return the arguments of a command line. Those not given are as tuned for the id, or the defaults.

    Args:
        words: words of the command line, without the command.
        prog: the command, for messages.
    """
    env_id = tyro.cli(ImitateArgs, args=words, prog=prog).env_id
    tuned = dict(IMITATED.get(env_id.rpartition(":")[2], {}))
    refinement = RefinementArgs(**tuned.pop("refinement", {}))
    default = ImitateArgs(env_id=env_id, refinement=refinement, **tuned)
    return tyro.cli(ImitateArgs, args=words, prog=prog, default=default)
