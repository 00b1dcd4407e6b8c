"""Episodes of a policy in a batch, recorded step by step: the demonstrations in datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.parts.experts import expert_of
from pbd_gym.envs.tools.planning import CEMPlanner
from pbd_gym.runtime.messages import Progress
from pbd_gym.training.agents.policies import MLPPolicy, find_policy
from pbd_gym.training.data.datasets import Episode
from pbd_gym.training.episodes.cameras import IMAGES, Cameras
from pbd_gym.training.runs.checkpoint import Checkpoint
from pbd_gym.training.runs.loaded_agent import read_agent
from pbd_gym.training.runs.named_policies import check_file, check_trained_on
from pbd_gym.training.settings.tuned import planning_of

Act = Callable[[Any], np.ndarray]
"""Function from the observations of a batch to its actions."""
SCRIPTS = ("expert", "plan")
"""Names of untrained policies."""


def agent_of(name: str, env_id: str, trust: bool = False) -> MLPPolicy | Checkpoint | None:
    """Return the trained agent that the command line calls by a name; None for the expert and the planner.

    Args:
        name: ``"expert"``, ``"plan"``, ``"trained"`` for the bundled agent, or a file: model.npz or model.zip of a
            training run, NAME.npz of a policy.
        env_id: environment it will act in.
        trust: see :func:`pbd_gym.training.runs.checkpoint.load`.

    Raises:
        FileNotFoundError, ValueError: as :func:`pbd_gym.training.runs.loaded_agent.read_agent`.
        ValueError: for another name, a task without a bundled agent, or an agent of another environment.
    """
    if name in SCRIPTS:
        return None
    if name != "trained":
        check_file(name, (*SCRIPTS, "trained"))
    agent = find_policy(env_id) if name == "trained" else read_agent(Path(name), trust)
    check_trained_on(name, agent.env_id, env_id)
    return agent


def act_of(name: str, agent: MLPPolicy | Checkpoint | None, env: TaskVectorEnv, seed: int = 0) -> Act:
    """Return the policy that acts in a batch.

    Args:
        name: name as for :func:`agent_of`.
        agent: result of :func:`agent_of`.
        env: the batch.
        seed: seed of the planner.

    Raises:
        ValueError: for a task without an expert, or an agent whose observations or actions differ from the batch's,
        such as stacked observations.
    """
    if name == "expert":
        expert = expert_of(env)
        return lambda observation: expert()
    if name == "plan":
        planner = CEMPlanner(env, planning_of(env.spec.id if env.spec else ""), seed)
        return lambda observation: planner.actions()
    if isinstance(agent, MLPPolicy):
        shapes = (agent.observation_size,), (agent.action_size,)
        fits = shapes == (env.single_observation_space.shape, env.single_action_space.shape)
    else:
        assert agent is not None
        if agent.frame_stack > 1:
            raise ValueError(
                f"{name} is shown {agent.frame_stack} observations at once (--frame-stack): demonstrations are of "
                "agents that are shown one"
            )
        fits = agent.observation_space == env.single_observation_space
    if not fits:
        given = f", with {agent.env_kwargs}" if agent.env_kwargs else ""
        raise ValueError(f"{name} was trained on other observations or actions, of {agent.env_id}{given}")
    return agent


def record(
    act: Act,
    env: TaskVectorEnv,
    first_seed: int,
    options: dict[str, Any],
    noise: float = 0.0,
    cameras: Cameras | None = None,
    what: str = "episodes",
) -> Iterator[Episode]:
    """Run one episode in every environment of a batch, and yield them.

    With noise, demonstrations show how to recover from errors (M. Laskey et al., DART: Noise Injection for Robust
    Imitation Learning, 2017, doi:10.48550/arXiv.1703.09327); ``infos["intended_action"]`` has the actions without it.

    Args:
        act: the policy; it is called once for every step.
        env: the batch, with autoreset in the next step, a time limit and NumPy output.
        first_seed: environment ``i`` gets ``first_seed + i``.
        options: options of the reset.
        noise: standard deviation of noise on the actions, drawn from a stream of ``first_seed``.
        cameras: cameras of the batch; their pictures are stored in infos as ``images/NAME``.
        what: name of the episodes in progress messages.
    """
    random = np.random.default_rng(first_seed)
    observation, info = env.reset(seed=first_seed, options=options)
    names = env.outputs.info_names
    seen, infos = [observation], [info]
    pictures = [cameras.look()] if cameras else []
    meant, actions, results = [], [], []
    progress = Progress(f"{env.num_envs} {what}, steps", env.max_episode_steps or 0)
    over = np.zeros(env.num_envs, dtype=bool)
    lengths = np.zeros(env.num_envs, dtype=int)
    while not over.all():
        meant.append(np.clip(act(observation), -1.0, 1.0).astype(np.float32))
        action = meant[-1]
        if noise > 0.0:
            action = np.clip(action + noise * random.standard_normal(action.shape), -1.0, 1.0).astype(np.float32)
        observation, *result, info = env.step(action)
        actions.append(action)
        results.append(result)
        seen.append(observation)
        infos.append(info)
        if cameras:
            pictures.append(cameras.look())
        lengths += ~over
        over |= result[1] | result[2]
        progress.step()
    for i, length in enumerate(lengths):
        rewards, terminations, truncations = (np.array([step[k][i] for step in results[:length]]) for k in range(3))
        shown = seen[: length + 1]
        observations: Any = (
            {key: np.array([o[key][i] for o in shown]) for key in shown[0]}
            if isinstance(observation, dict)
            else np.array([o[i] for o in shown])
        )
        kept = {name: np.array([x[name][i] for x in infos[: length + 1]]) for name in names}
        if cameras:
            kept |= {
                f"{IMAGES}{name}": np.array([p[name][i] for p in pictures[: length + 1]]) for name in cameras.names
            }
        if noise > 0.0:  # infos have a row more than actions
            kept["intended_action"] = np.array([a[i] for a in meant[:length]] + [np.zeros_like(action[i])])
        done = np.array([a[i] for a in actions[:length]])
        yield Episode(first_seed + i, options, observations, done, rewards, terminations, truncations, kept)
