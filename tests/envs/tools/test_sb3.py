"""The adapter to Stable-Baselines3: the VecEnv contract, and that its algorithms train on it."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from stable_baselines3 import PPO, SAC, HerReplayBuffer
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize

from pbd_gym.envs.tools.sb3 import TaskVecEnv, make_sb3_vec_env
from tests.envs.helpers import ID, SMALL, assert_same, make_vec, poison, rows_of

LIMIT = 8


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def make(num_envs: int = 4, seed: int | None = 0, **kwargs: Any) -> TaskVecEnv:
    return make_sb3_vec_env(ID, num_envs, seed, **{"max_episode_steps": LIMIT, **SMALL, **kwargs})


def draw(env: TaskVecEnv, steps: int) -> np.ndarray:
    return (
        np.random.default_rng(0)
        .uniform(-1, 1, (steps, env.num_envs, *(env.action_space.shape or ())))
        .astype(np.float32)
    )


@pytest.mark.parametrize("obs_mode", ["keypoints", "goal"])
def test_against_same_step_batch(obs_mode: str) -> None:
    """Guards dtypes and values against the batch itself: observations, rewards, dones, terminal observations, infos."""
    env = make(obs_mode=obs_mode)
    batch = make_vec(4, autoreset_mode="SameStep", max_episode_steps=LIMIT, obs_mode=obs_mode)
    assert_same(env.reset(), batch.reset(seed=0)[0])
    returns, lengths, episodes = np.zeros(4), np.zeros(4, dtype=int), 0
    for step, action in enumerate(draw(env, 3 * LIMIT)):
        if step in (3, 10):
            poison(env.batch, step % 4)
            poison(batch, step % 4)
        observation, rewards, dones, infos = env.step(action)
        expected, reward, terminated, truncated, info = batch.step(action)
        assert_same(observation, expected)
        assert env.observation_space.contains(rows_of(observation, 0))
        assert rewards.dtype == np.float32 and rewards.shape == (4,)
        assert dones.dtype == np.bool_ and dones.shape == (4,)
        assert_array_equal(rewards, reward)
        assert_array_equal(dones, terminated | truncated)
        assert isinstance(infos, list) and len(infos) == 4 and len({id(i) for i in infos}) == 4
        returns, lengths = returns + rewards, lengths + 1
        for row in range(4):
            if not dones[row]:
                assert "terminal_observation" not in infos[row] and "episode" not in infos[row]
                continue
            assert_same(infos[row]["terminal_observation"], info["final_obs"][row])
            assert infos[row]["TimeLimit.truncated"] is bool(truncated[row] and not terminated[row])
            for name in ("is_success", "performance", "normalized_performance", "diverged"):
                assert infos[row][name] == info["final_info"][name][row]
            assert_allclose(infos[row]["episode"]["r"], returns[row], rtol=1e-5)
            assert infos[row]["episode"]["l"] == lengths[row]
            returns[row] = lengths[row] = 0
            episodes += 1
    assert episodes > 10


def test_rewards_and_observations_are_fresh() -> None:
    """Guards replay buffers, which keep what they are given."""
    env = make()
    first: Any = env.reset()
    kept = first.copy()
    actions = draw(env, 3)
    observation: Any
    observation, rewards, *_ = env.step(actions[0])
    kept_step = observation.copy(), rewards.copy()
    env.step(actions[1])
    env.step(actions[2])
    assert_array_equal(first, kept)
    assert_array_equal(observation, kept_step[0])
    assert_array_equal(rewards, kept_step[1])


# The adapter keeps the statistics itself and says so, and VecMonitor rightly remarks that it is not needed.
@pytest.mark.filterwarnings("ignore:The environment is already wrapped with a `Monitor` wrapper")
def test_statistics_equal_vec_monitor() -> None:
    """Guards the episode statistics against those of Stable-Baselines3, past a reset in mid-episode."""
    plain, watched = make(), VecMonitor(make())
    for env in (plain, watched):
        env.reset()
        for action in draw(plain, 3):
            env.step(action)
        env.reset()
    for action in draw(plain, 2 * LIMIT):
        ours, theirs = plain.step(action)[3], watched.step(action)[3]
        for a, b in zip(ours, theirs, strict=True):
            assert ("episode" in a) == ("episode" in b)
            if "episode" in a:
                assert_allclose(a["episode"]["r"], b["episode"]["r"], atol=2e-6)
                assert a["episode"]["l"] == b["episode"]["l"] == LIMIT


def test_seeds() -> None:
    """Guards that a seed counts for one reset, as seed + i, and that resets after it go on."""
    env = make(seed=None)
    env.seed(5)
    first = env.reset()
    second = env.reset()
    assert_array_equal(first, make_vec(4).reset(seed=5)[0])
    assert (first != second).any(axis=1).all()
    env.seed(5)
    assert_array_equal(env.reset(), first)
    assert_array_equal(env.reset(), second)
    assert_array_equal(make(seed=5).reset(), first)
    assert (make(seed=None).reset() != make(seed=None).reset()).any()
    assert len(env.reset_infos) == 4 and env.reset_infos[0]["normalized_performance"] == 0.0


def test_options() -> None:
    """Guards that a bad option is refused rather than lost."""
    env = make()
    env.reset()
    env.set_options({"low": 1})
    with pytest.raises(ValueError, match="unknown reset options"):
        env.reset()


def test_options_of_each_environment() -> None:
    """Guards a list of dicts, of which the first counted for all."""
    env, batch = make(randomize={"friction": (0.2, 0.8)}), make_vec(4, randomize={"friction": (0.2, 0.8)})
    given = [0.3, 0.4, 0.5, 0.6]
    env.set_options([{"parameters": {"friction": one}, "split": "all"} for one in given])
    assert_array_equal(env.reset(), batch.reset(seed=0, options={"parameters": {"friction": np.array(given)}})[0])
    assert_allclose(env.reset_infos[2]["parameters/friction"], 0.5)
    for options in ([{}] * 3, [{"split": "train"}] * 3 + [{"split": "eval"}], [{"variation": 0}, {}, {}, {}]):
        env.set_options(options)
        with pytest.raises(ValueError, match=r"4 dicts, got 3|same split in all|same options in all"):
            env.reset()


@pytest.mark.parametrize(
    "kwargs", [{"autoreset_mode": "NextStep"}, {"autoreset_mode": "Disabled"}, {"output": "torch"}]
)
def test_wrong_batch(kwargs: dict[str, Any]) -> None:
    """Guards against batches whose results the adapter would misread."""
    batch = make_vec(2, **{"autoreset_mode": "SameStep", **kwargs})
    with pytest.raises(ValueError, match=r"SameStep.*numpy"):
        TaskVecEnv(batch)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_foreign_id(env_id: str) -> None:
    """Guards the message for ids of other packages, with and without a batched class of their own."""
    with pytest.raises(ValueError, match=env_id):
        make_sb3_vec_env(env_id, 2)


def test_attributes_and_methods() -> None:
    """Guards what algorithms and callbacks ask of a VecEnv: one answer per index."""
    env = make()
    assert env.get_attr("action_mode") == ["drag"] * 4
    assert env.get_attr("action_mode", indices=2) == ["drag"]
    assert env.get_attr("num_envs", indices=[0, 3]) == [4, 4]
    assert env.get_attr("render_mode") == [None] * 4
    env.set_attr("label", 7)
    assert env.get_attr("label") == [7] * 4 and env.batch.label == 7  # type: ignore[attr-defined]
    for change in (env.set_attr, env.env_method):
        with pytest.raises(ValueError, match=r"indices must be None or all of them, got \[0, 3\]"):
            change("label", 8, indices=[0, 3])
    assert env.get_attr("label") == [7] * 4
    with pytest.raises(AttributeError):
        env.get_attr("no_such_attribute")
    assert env.env_is_wrapped(Monitor) == [True] * 4
    assert env.env_is_wrapped(VecNormalize, indices=[1]) == [False]  # type: ignore[arg-type]
    env.reset()
    saved = env.env_method("get_state")[0]
    action = draw(env, 1)[0]
    expected = env.step(action)[:3]
    env.env_method("set_state", saved)
    assert_same(env.step(action)[:3], expected)


def test_methods_answer_once_per_index() -> None:
    """Guards the VecEnv contract: callers zip the answers with the environments they asked."""
    env = make()
    assert len(env.env_method("get_state")) == 4
    assert len(env.env_method("get_state", indices=[0, 2])) == 2


def test_compute_reward_of_rows() -> None:
    """Guards what hindsight replay calls, against the rewards of steps."""
    env = make(obs_mode="goal", goal_radius=0.3)
    env.reset()
    for action in draw(env, LIMIT - 1):
        observation: Any
        observation, rewards, _, infos = env.step(action)
        goals = observation["achieved_goal"], observation["desired_goal"]
        assert_array_equal(env.env_method("compute_reward", *goals, infos, indices=[0])[0], rewards)


def test_images() -> None:
    """Guards VecEnv.render, which tiles what the environments show."""
    env = make(render_mode="rgb_array")
    env.reset()
    images = env.get_images()
    assert len(images) == 4 and all(image is not None and image.shape == (512, 512, 3) for image in images)
    assert env.render().shape == (1024, 1024, 3)  # type: ignore[union-attr]
    env.close()


def test_ppo_learns_and_is_evaluated() -> None:
    """Guards a whole run of PPO, with the statistics it logs, and an evaluation without Monitor's warning."""
    env = make(8)
    model = PPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=2, seed=0, device="cpu")
    before = [p.clone() for p in model.policy.parameters()]
    model.learn(512)
    assert model.num_timesteps == 512
    assert any((a != b).any() for a, b in zip(before, model.policy.parameters(), strict=True))
    assert all(torch.isfinite(p).all() for p in model.policy.parameters())
    assert len(model.ep_info_buffer) == 512 // LIMIT  # type: ignore[arg-type]
    assert all(entry["l"] == LIMIT for entry in model.ep_info_buffer)  # type: ignore[union-attr]
    assert len(model.ep_success_buffer) == 512 // LIMIT  # type: ignore[arg-type]
    returns, lengths = evaluate_policy(model, make(4), n_eval_episodes=8, return_episode_rewards=True)
    assert lengths == [LIMIT] * 8 and np.isfinite(returns).all()


def test_ppo_is_repeatable() -> None:
    """Guards reproducible training: the same seed gives the same weights."""
    weights = []
    for _ in range(2):
        model = PPO("MlpPolicy", make(4, seed=None), n_steps=16, batch_size=32, n_epochs=1, seed=3, device="cpu")
        model.learn(128)
        weights.append([p.detach().numpy().copy() for p in model.policy.parameters()])
    for one, two in zip(*weights, strict=True):
        assert_array_equal(one, two)


@pytest.mark.parametrize("num_envs", [1, 3])
def test_sac_with_hindsight(num_envs: int) -> None:
    """Guards goal mode with hindsight replay: relabelled rewards are those of the goals that were achieved."""
    env = make(num_envs, obs_mode="goal", goal_radius=0.3)
    model = SAC(
        "MultiInputPolicy", env, replay_buffer_class=HerReplayBuffer, learning_starts=60, batch_size=32,
        policy_kwargs={"net_arch": [16, 16]}, gradient_steps=1, train_freq=4, seed=0, device="cpu",
    )  # fmt: skip
    model.learn(300)
    assert model.num_timesteps >= 300
    assert all(torch.isfinite(p).all() for p in model.policy.parameters())
    buffer: Any = model.replay_buffer
    sample: Any = buffer.sample(200)
    goals = [sample.next_observations[name].numpy() for name in ("achieved_goal", "desired_goal")]
    assert_array_equal(sample.rewards.numpy()[:, 0], env.batch.compute_reward(*goals))
    assert set(np.unique(sample.rewards)) == {-1.0, 0.0}
    assert (sample.dones == 0).all()  # every end was the time limit's, and is bootstrapped


def test_vec_normalize() -> None:
    """Guards the wrapper that most training uses, terminal observations included."""
    env = VecNormalize(make(4))
    env.reset()
    observation: Any
    for action in draw(make(4), LIMIT):
        observation, _, dones, infos = env.step(action)
    assert dones.all() and np.isfinite(observation).all()
    assert all(info["terminal_observation"].shape == (30,) for info in infos)
