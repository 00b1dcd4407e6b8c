"""Teaching an agent that sees pictures: what it is shown, that it learns, and that what is written acts alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from stable_baselines3.common.vec_env.stacked_observations import StackedObservations

from pbd_gym.training.agents.policies import find_policy, pixel_ids
from pbd_gym.training.episodes.evaluation import Unseen
from pbd_gym.training.episodes.record import Stacked
from pbd_gym.training.episodes.rollouts import make_unseen, reset_to_variations
from pbd_gym.training.imitation.pixels import Args, Classroom, Lesson, main
from pbd_gym.training.runs.loaded_agent import read_agent
from pbd_gym.training.runs.named_policies import find_actor
from pbd_gym.training.settings.tuned import PIXELS

ID = "PBDCloth-v0"


def test_moments_are_stacked_as_in_stable_baselines() -> None:
    """Guards what the student learns from against what it is shown later, in the first steps above all."""
    random = np.random.default_rng(0)
    pictures = random.integers(0, 255, (5, 2, 3, 4, 4), dtype=np.uint8)
    lesson = Lesson(pictures, torch.zeros(5, 2, 1), torch.zeros(5, 2, 1))
    space = Unseen(ID, 2, obs_mode="rgb", pixels={"size": (4, 4)}).observation_space
    stack = StackedObservations(2, 3, space)  # type: ignore[arg-type, var-annotated]
    rows = pictures.transpose(0, 1, 3, 4, 2)
    expected = [stack.reset(rows[0]).copy()]
    expected += [stack.update(row, np.zeros(2, dtype=bool), [{}, {}])[0].copy() for row in rows[1:]]
    steps, envs = (grid.ravel() for grid in np.meshgrid(np.arange(5), np.arange(2), indexing="ij"))
    found = lesson.stacks(steps, envs, 3).reshape(5, 2, 9, 4, 4).transpose(0, 1, 3, 4, 2)
    np.testing.assert_array_equal(found, np.array(expected))


def test_a_student_comes_to_do_what_its_teacher_does(tmp_path: Path) -> None:
    """Guards the lessons: both errors fall, and the run that is written can be read and acts."""
    args = Args(env_id=ID, out=tmp_path / "run", rounds=2, abreast=8, epochs=1, batch_size=64, eval_episodes=4)
    room = Classroom(args, find_policy(ID), PIXELS[ID])
    room.play()
    first, last = room.learn(1), room.learn(3)
    assert last[0] < 0.8 * first[0] and last[1] < first[1]
    room.env.close()
    main(args)
    agent = read_agent(tmp_path / "run" / "model.zip")
    env = Unseen(ID, 2, agent.frame_stack, **agent.env_kwargs)
    actions = Stacked(agent, agent.frame_stack)(env.batch, env.batch.reset(seed=0)[0], True)
    assert actions.shape == (2, 6) and np.ptp(actions, axis=0).max() > 0.0


def test_shifted_pictures_keep_what_they_show() -> None:
    room = object.__new__(Classroom)
    room.args = Args(env_id=ID, shift=2)
    torch.manual_seed(0)
    picture = torch.arange(64.0).reshape(1, 1, 8, 8)
    seen = [room.shifted(picture) for _ in range(60)]
    assert all(one.shape == picture.shape for one in seen)
    assert len({tuple(one[0, 0, 4, 4:6].tolist()) for one in seen}) > 15
    middles = {float(one[0, 0, 4, 4]) for one in seen}
    assert middles <= {float(picture[0, 0, y, x]) for y in range(2, 7) for x in range(2, 7)}


@pytest.mark.parametrize("env_id", pixel_ids())
def test_bundled_students_act_on_pictures_alone(env_id: str) -> None:
    """Guards weights, cameras and colours: eight unseen episodes come near the score of a hundred."""
    actor, trained_on, kwargs = find_actor("pixels", env_id)
    assert trained_on == env_id and kwargs["obs_mode"] == "rgb"
    env = make_unseen(env_id, 8, **kwargs)
    observation, over, begins = reset_to_variations(env), np.zeros(8, dtype=bool), True
    while not over.any():
        observation, _, terminated, over, info = env.step(actor(env, observation, begins))
        begins = False
        assert not terminated.any()
    assert info["is_success"].mean() >= 0.7


def test_an_id_without_a_bundled_student_is_named() -> None:
    with pytest.raises(ValueError, match=r"only for .*PBDClothDrop"):
        find_actor("pixels", "PBDRope-v0")


@pytest.mark.parametrize("name", ["rounds", "epochs", "eval_episodes"])
def test_a_student_without_lessons_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at least 1"):
        main(Args(env_id=ID, out=tmp_path / "run", **{name: 0}))
    assert not (tmp_path / "run").exists()


def test_episodes_kept_for_evaluation_are_no_lessons(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"are kept for evaluation, and these have 8,999,999 to 9,000,000"):
        main(Args(env_id=ID, seed=8_999_999, abreast=1, rounds=2, out=tmp_path))


def test_a_teacher_of_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="knows PBDRope-v0"):
        main(Args(env_id=ID, teacher="PBDRope-v0"))
