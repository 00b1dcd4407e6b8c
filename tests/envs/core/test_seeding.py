"""Same seed, same bits: whatever the batch, the lane, the way of being made, and however often it is asked."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.envs.helpers import ID, SMALL, assert_same, make_vec, named, random_actions, roll, rows_of

COUNTS = (1, 5, 16, 100)
LIMIT = 9


def differ(a: np.ndarray, b: np.ndarray) -> bool:
    """Tell whether every row of two batches is different."""
    return bool((a != b).any(axis=-1).all())


@pytest.mark.usefixtures("every_lane")
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("action_mode", ["drag", "picker", "pin"])
def test_rows_do_not_depend_on_the_batch(count: int, action_mode: str) -> None:
    """Guards that an environment sees nothing of its neighbours: lane counts, groups and threads are all different."""
    large, small = (make_vec(n, action_mode=action_mode, max_episode_steps=LIMIT) for n in (100, count))
    rows = slice(0, count)
    actions = random_actions(large, 2 * LIMIT + 4)
    assert_same(rows_of(large.reset(seed=3)[0], rows), small.reset(seed=3)[0])
    episodes = 0
    for action in actions:
        theirs, ours = large.step(action), small.step(action[rows])
        assert_same(rows_of(theirs[:4], rows), ours[:4])
        for name, value in ours[4].items():
            assert_same(rows_of(theirs[4][name], rows), value, name)
        episodes += int(ours[3].all())
    assert episodes == 2  # random numbers of later episodes are compared as well


@pytest.mark.usefixtures("every_lane")
def test_rows_do_not_depend_on_threads() -> None:
    """Guards the physics of a batch that is split over threads."""
    envs = [make_vec(40, threads=threads) for threads in (1, 2, 3)]
    actions = random_actions(envs[0], 10)
    for env in envs:
        env.reset(seed=0)
    runs = [roll(env, actions) for env in envs]
    assert_same(tuple(runs[0]), tuple(runs[1]))
    assert_same(tuple(runs[0]), tuple(runs[2]))


@pytest.mark.parametrize("obs_mode", ["keypoints", "goal"])
def test_single_equals_row(obs_mode: str) -> None:
    """Guards that gym.make and gym.make_vec give the same environment, later episodes included."""
    batch = make_vec(6, obs_mode=obs_mode, max_episode_steps=LIMIT)
    single = gym.make(ID, obs_mode=obs_mode, max_episode_steps=LIMIT, **SMALL)
    actions = random_actions(batch, 3 * LIMIT)
    row = 4
    observation, info = batch.reset(seed=20)
    assert_same(rows_of(observation, row), single.reset(seed=20 + row)[0])
    over = False
    for action in actions:
        result = batch.step(action)
        if over:
            assert_same(rows_of(result[0], row), single.reset()[0])
            over = False
            continue
        observation, reward, terminated, truncated, info = single.step(action[row])
        assert_same(rows_of(result[:4], row), (observation, reward, terminated, truncated))
        for name in ("performance", "normalized_performance", "is_success", "diverged"):
            assert info[name] == result[4][name][row]
        for name, value in named(info, "reward_terms").items():
            assert value == result[4][f"reward_terms/{name}"][row]
        over = truncated


def test_list_of_seeds() -> None:
    """Guards that entry i is the seed of environment i, whether it comes as a list, a tuple or an array."""
    env = make_vec(4)
    expected = env.reset(seed=7)[0]
    for seeds in ([7, 8, 9, 10], (7, 8, 9, 10), np.arange(7, 11)):
        assert_array_equal(env.reset(seed=seeds)[0], expected)  # type: ignore[arg-type]
    assert_array_equal(env.reset(seed=[10, 9, 8, 7])[0], expected[::-1])
    same = env.reset(seed=[5, 5, 5, 5])[0]
    assert_array_equal(same, np.repeat(same[:1], 4, axis=0))
    assert_array_equal(env.reset(seed=np.int64(7))[0], expected)  # type: ignore[arg-type]


def test_streams() -> None:
    """Guards that a reset without a seed goes on, and that one with a seed starts over, also in mid-episode."""
    env = make_vec(5, max_episode_steps=LIMIT)
    actions = random_actions(env, LIMIT + 5)

    def run() -> list[Any]:
        first = env.reset(seed=1)
        steps = roll(env, actions)
        return [first, *steps, env.reset(), *roll(env, actions[:3]), env.reset()]

    one, two = run(), run()
    assert_same(tuple(one), tuple(two))
    starts = [one[0][0], one[LIMIT + 1][0], one[LIMIT + 6][0], one[-1][0]]  # reset, autoreset, reset, reset
    for i, start in enumerate(starts):
        for other in starts[:i]:
            assert differ(start, other)


def test_seeds_are_independent() -> None:
    """Guards against seeds whose streams overlap: seed s in episode e must not be seed s + 1 in episode e - 1."""
    env = make_vec(100)
    drawn = [env.reset(seed=0)[0][:, -6:]] + [env.reset()[0][:, -6:] for _ in range(9)]
    goals = np.concatenate(drawn)
    assert len(np.unique(goals, axis=0)) == len(goals) == 1000


def test_unseeded() -> None:
    """Guards the first reset of a fresh environment: it works, and two environments do not do the same."""
    one, two = (make_vec(3).reset()[0] for _ in range(2))
    assert differ(one, two)
    assert len(np.unique(one, axis=0)) == 3
    singles = [gym.make(ID, **SMALL).reset()[0] for _ in range(2)]
    assert (singles[0] != singles[1]).any()


def test_single_stream() -> None:
    """Guards the same for a single environment."""
    env = gym.make(ID, **SMALL)
    starts = [env.reset(seed=s)[0] for s in (1, None, None, 1, None)]
    assert_array_equal(starts[0], starts[3])
    assert_array_equal(starts[1], starts[4])
    assert (starts[0] != starts[1]).any() and (starts[1] != starts[2]).any()


@pytest.mark.parametrize(
    "seed",
    [
        2**31 - 1, 2**31, 2**32 - 1, 2**32 + 5, 2**63, 2**80,
        2**64 - 1,
    ],
)  # fmt: skip
def test_huge_seeds(seed: int) -> None:
    """Guards sums and conversions that overflow at 32 or 64 bits, and seeds of which a part would not count."""
    env = make_vec(3)
    first = env.reset(seed=seed)[0]
    assert len(np.unique(first, axis=0)) == 3
    assert_array_equal(env.reset(seed=[seed, seed + 1, seed + 2])[0], first)
    single = gym.make(ID, **SMALL)
    assert_array_equal(single.reset(seed=seed)[0], first[0])
    for small in (0, seed % 2**32, seed % 2**31):
        assert small == seed or (env.reset(seed=small)[0][0] != first[0]).any()


def test_batch_generator_follows_the_seed() -> None:
    """Guards np_random, which wrappers and users may draw from."""
    env = make_vec(2)
    env.reset(seed=4)
    assert env.np_random_seed == 4
    one = env.np_random.random(3)
    env.reset(seed=4)
    assert_array_equal(env.np_random.random(3), one)
