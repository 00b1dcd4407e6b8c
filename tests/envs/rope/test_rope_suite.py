"""The rope tasks of the suite: their measures on hand-made ropes, their starts, and that scripts solve them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linear_sum_assignment

from pbd_gym.envs import TaskVectorEnv
from pbd_gym.envs.core.parts.experts import held_particles
from pbd_gym.envs.rope.body import RopeTaskConfig
from pbd_gym.envs.rope.laying import LETTERS, outline, written
from pbd_gym.envs.rope.straighten import crossed, off_chord


def make(env_id: str, num_envs: int, **kwargs: Any) -> Any:
    env = gym.make_vec(env_id, num_envs, **{"max_episode_steps": -1, **kwargs})
    assert isinstance(env, TaskVectorEnv)
    return env


def rate(env: Any, positions: np.ndarray) -> np.ndarray:
    """Return the performance of hand-made shapes, shape (num_envs, n, 3)."""
    env.state.set_positions(positions)
    env._score.launch()
    return env.buffers.read("performance")


def play(env: Any, steps: int, act: Any) -> dict[str, Any]:
    """Play from the eval split with a policy and return the last info."""
    env.reset(seed=0, options={"split": "eval"})
    info: dict[str, Any] = {}
    for _ in range(steps):
        *_, info = env.step(act())
    return info


def test_straightness_is_that_of_softgym() -> None:
    """Guards the performance and its scale: 1 for a straight rope, 0 for ends that meet, less for a torn one."""
    env = make("PBDRopeStraighten-v0", 4, starts=5)
    env.reset(seed=0)
    x = env.scene.positions
    ring = x.copy()
    angle = np.linspace(0.0, 2.0 * np.pi, len(x))
    ring[:, 0], ring[:, 2] = 0.08 * np.cos(angle), 0.08 * np.sin(angle)
    half = x * [0.5, 1.0, 1.0]
    assert_allclose(rate(env, np.stack([x, ring, half, 1.2 * x])), [0.0, -0.5, -0.25, -0.1], atol=1e-6)
    env._episodes.conclude.launch()
    assert_allclose(env.buffers.read("normalized_performance"), [1.0, 0.0, 0.5, 0.8], atol=1e-5)
    assert env.buffers.read("at_goal").tolist() == [1, 0, 0, 0]


def test_the_first_gain_is_counted_from_the_start() -> None:
    """Guards ``reward_mode="delta"`` where the performance that counts as 0 is not that of the start."""
    env = make("PBDRopeStraighten-v0", 3, starts=5, reward_mode="delta", max_episode_steps=2)
    before = env.reset(seed=0)[1]["performance"]
    assert (before > env.task.score.zero + 0.05).all()
    for _ in range(5):  # a step of which resets
        _, reward, _, _, info = env.step(env.expert())
        gain = np.where(env.buffers.peek("elapsed") == 0, 0.0, info["performance"] - before)
        assert_allclose(reward, gain, atol=1e-6)
        before = info["performance"]


def test_tangled_ropes_are_at_rest_and_differ() -> None:
    env = make("PBDRopeStraighten-v0", 8, starts=8)
    starts = env.start_positions
    assert_allclose(starts[..., [0, 2]].mean(axis=1), 0.0, atol=1e-6)
    ends = np.linalg.norm(starts[:, -1] - starts[:, 0], axis=1)
    assert ends.min() < 0.25 < ends.max() < 0.51
    env.reset(seed=0, options={"split": "all", "variation": np.arange(8)})
    for _ in range(10):
        env.step(np.tile(np.float32([0, 0, 0, -1]), (8, 2)))
    assert np.abs(env.state.get_positions() - starts).max() < 0.012


def test_straightening_can_be_solved_but_not_by_chance() -> None:
    env = make("PBDRopeStraighten-v0", 16, starts=80)
    info = play(env, 60, env.expert)  # half of the ropes lie across themselves
    assert info["normalized_performance"].mean() > 0.97
    assert info["is_success"].mean() > 0.9  # 15 of 16
    places = make("PBDRopeStraighten-v0", 8, starts=80, action_mode="pick_place")
    assert play(places, 12, places.expert)["normalized_performance"].mean() > 0.97
    generator = np.random.default_rng(0)
    chance = play(env, 25, lambda: generator.uniform(-1, 1, (16, 8)).astype(np.float32))
    assert chance["normalized_performance"].mean() < 0.6


def test_a_rope_lies_across_itself_where_its_shadow_does() -> None:
    """Guards what the script of PBDRopeStraighten-v0 sees: if and near which end a rope crosses itself; its bow."""
    angle = np.linspace(0.0, 1.6 * np.pi, 25)
    loop = np.stack([np.cos(angle) - 1.0, 0.01 * angle, np.sin(angle)], axis=1)
    tail = loop[-1] + np.linspace(0.1, 1.2, 8)[:, None] * [1.0, 0.0, 1.0]
    rope = np.concatenate([[[0.0, 0.0, -1.0]], [[0.0, 0.0, -0.5]], loop, tail])
    across, end = crossed(np.stack([rope, rope[::-1]]))
    assert across.all() and end.tolist() == [0, 1]
    assert not crossed(loop[None])[0] and not crossed(tail[None])[0]
    bow = np.stack([np.linspace(-1.0, 1.0, 5), np.array([0.0, 0.1, 0.3, 0.1, 0.0]), np.zeros(5)], axis=1)
    assert_allclose(off_chord(bow[None]), 0.3)


@pytest.mark.parametrize("letter", LETTERS)
def test_letters_have_the_length_of_the_rope(letter: str) -> None:
    """Guards the resampling: points at equal distances, the first and last at the ends, none in another."""
    points = written(letter, 1001, 0.5)
    line = outline(letter)
    assert_allclose(points.mean(axis=0), 0.0, atol=1e-12)
    # Each of the three corners of M may be cut off by less than one gap.
    assert_allclose(np.linalg.norm(np.diff(points, axis=0), axis=1).sum(), 0.5, rtol=3 / 1000)
    scale = 0.5 / np.linalg.norm(np.diff(line, axis=0), axis=1).sum()
    assert_allclose(points[-1] - points[0], scale * (line[-1] - line[0]), atol=1e-12)
    coarse = written(letter, 41, 0.5)
    first, second = np.triu_indices(41, 2)
    assert np.linalg.norm(coarse[first] - coarse[second], axis=1).min() > 2.0 * RopeTaskConfig().radius
    with pytest.raises(ValueError, match="one of SOMCU"):
        outline("X")


def test_pairing_is_the_best_there_is() -> None:
    """Guards the assignment kernel against SciPy's, on ropes thrown anywhere, and on one whose order is reversed."""
    env = make("PBDRopeShape-v0", 64, starts=5)
    env.reset(seed=0)
    goals, shapes = env.buffers.read("goals"), env.task.shapes(env.world)[env.buffers.read("start")]
    x = np.random.default_rng(0).uniform(-0.3, 0.3, (64, env.config.particles, 3)).astype(np.float32)
    x[0] = shapes[0, ::-1]
    x[1] = shapes[1]
    cost = np.linalg.norm(x[:, env.goal_particles, None] - goals[:, None], axis=3)
    best = [c[linear_sum_assignment(c)].mean() for c in cost.astype(np.float64)]
    found = rate(env, x)
    assert_allclose(found, -np.array(best), atol=1e-6)
    assert_allclose(found[:2], 0.0, atol=1e-6)


def test_order_counts_when_asked_for() -> None:
    env = make("PBDRopeShape-v0", 3, starts=5, ordered=True)
    env.reset(seed=0)
    shapes = env.task.shapes(env.world)[env.buffers.read("start")]
    x = np.stack([shapes[0], shapes[1, ::-1], shapes[2] + [0.0, 0.0, 0.07]])
    expected = np.linalg.norm(x - shapes, axis=2).mean(axis=1)
    assert_allclose(rate(env, x), -expected, atol=1e-6)
    assert expected[1] > 0.05 and abs(expected[2] - 0.07) < 1e-6


def test_starts_have_letters_of_their_own() -> None:
    env = make("PBDRopeShape-v0", 64, starts=64)
    env.reset(seed=0, options={"split": "all", "variation": np.arange(64)})
    assert set(env.task.letters()) == set(range(len(LETTERS)))
    shapes = env.task.shapes(env.world)
    assert_allclose(env.buffers.read("goals"), shapes[:, env.goal_particles], atol=1e-6)
    ways = [np.linalg.norm(env.start_positions - s, axis=2).mean(axis=1) for s in (shapes, shapes[:, ::-1])]
    assert (ways[0] <= ways[1]).all()  # written from the end that is nearer


@pytest.mark.parametrize("ordered", [False, True])
def test_letters_can_be_written_but_not_by_chance(ordered: bool) -> None:
    env = make("PBDRopeShape-v0", 16, starts=80, ordered=ordered)
    info = play(env, 100, env.expert)
    assert info["normalized_performance"].mean() > (0.75 if ordered else 0.95)
    assert ordered or info["is_success"].mean() > 0.9
    generator = np.random.default_rng(0)
    chance = play(env, 30, lambda: generator.uniform(-1, 1, (16, 8)).astype(np.float32))
    assert chance["normalized_performance"].mean() < 0.2


def test_the_closest_approach_counts_and_is_forgotten() -> None:
    """Guards the memory of an episode: it never falls, is that of the whole episode, and a reset begins anew."""
    env = make("PBDRopeWhip-v0", 3, starts=5)
    env.reset(seed=0)
    rest, goals = env.state.get_positions(), env.buffers.read("goals")[:, 0]
    first = env.buffers.read("performance")
    assert_allclose(first, -np.linalg.norm(rest[:, -1] - goals, axis=1), atol=1e-6)
    near = rest + (goals - rest[:, -1] + [[0.0, 0.1, 0.0], [0.0, 0.0, 0.02], [1.0, 0.0, 0.0]])[:, None]
    best = [-0.1, -0.02, first[2]]
    assert_allclose(rate(env, near), best, atol=1e-6)
    assert_allclose(rate(env, rest), best, atol=1e-6)
    env.reset(options={"reset_mask": np.array([True, False, False]), "split": "all", "variation": 3})
    again = env.buffers.read("performance")
    assert_allclose(again[1:], best[1:], atol=1e-6)
    there = env.start_positions[3, -1] - env.task.goal_sets(env.world)[3, 0]
    assert_allclose(again[0], -np.linalg.norm(there), atol=1e-6)


def test_goals_of_the_whip_are_out_of_reach() -> None:
    """Guards the task: without a swing, the hand at its wall and the rope hanging, no tip is near its goal."""
    env = make("PBDRopeWhip-v0", 1, starts=64)
    starts, goals, hands = env.start_positions, env.task.goal_sets(env.world)[:, 0], env.actions.hands
    hanging = starts[:, -1] - starts[:, 0]
    nearest = np.clip(goals - hanging, hands.lower, hands.upper) + hanging
    assert np.linalg.norm(nearest - goals, axis=1).min() > 0.1
    assert np.linalg.norm(goals - starts[:, 0], axis=1).max() < env.config.rope_length


def test_a_rope_to_be_whipped_hangs_still_and_no_longer_than_it_is() -> None:
    """Guards the substeps: with few of them the rope stretches like rubber, and bobs when an episode begins."""
    env = make("PBDRopeWhip-v0", 3, starts=5)
    env.reset(seed=0)
    start = env.state.get_positions()
    for _ in range(5):
        env.step(np.zeros((3, 3), dtype=np.float32))
    x = env.state.get_positions()
    assert np.abs(x - start).max() < 1e-3
    length = np.linalg.norm(np.diff(x, axis=1), axis=2).sum(axis=1)
    assert_allclose(length, env.config.rope_length, rtol=0.01)


def test_whipping_can_be_solved_but_not_by_chance() -> None:
    env = make("PBDRopeWhip-v0", 16, starts=80)
    assert play(env, 70, env.expert)["normalized_performance"].mean() > 0.9
    generator = np.random.default_rng(0)
    chance = play(env, 70, lambda: generator.uniform(-1, 1, (16, 3)).astype(np.float32))
    assert chance["normalized_performance"].mean() < 0.4


def test_pushing_is_rated_particle_by_particle() -> None:
    """Guards the distance: each particle has its own goal, and a rope at the goals but reversed is not there."""
    env = make("PBDRopePush-v0", 3, starts=5, particles=28)  # every third particle is observed
    env.reset(seed=0)
    goals = env.buffers.read("goals")
    share = np.linspace(0.0, 1.0, 28)[None, :, None]
    line = goals[:, :1] + share * (goals[:, -1:] - goals[:, :1])
    shapes = np.stack([line[0], line[1, ::-1], line[2] + [0.0, 0.05, 0.0]])
    # Two points at distance d on a line of ten are swapped on average by (9 + 7 + 5 + 3 + 1) / 5 gaps.
    assert_allclose(rate(env, shapes), [0.0, -5.0 * 0.5 / 9.0, -0.05], atol=1e-5)


def test_goals_of_pushing_are_straight_ropes_beside_the_start() -> None:
    env = make("PBDRopePush-v0", 2, starts=40)
    goals, starts, config = env.task.shapes(env.world), env.start_positions, env.config
    assert_allclose(np.linalg.norm(goals[:, -1] - goals[:, 0], axis=1), config.rope_length, atol=1e-6)
    middle = goals.mean(axis=1)
    far = np.linalg.norm(middle[:, [0, 2]], axis=1)
    assert config.distance[0] - 1e-6 <= far.min() < far.max() <= config.distance[1] + 1e-6
    along, lay = goals[:, -1] - goals[:, 0], starts[:, -1] - starts[:, 0]
    assert_allclose((along * middle).sum(axis=1), 0.0, atol=1e-6)
    angle = np.arctan2(along[:, 2], along[:, 0]) - np.arctan2(lay[:, 2], lay[:, 0])
    assert np.abs((angle + np.pi) % (2.0 * np.pi) - np.pi).max() <= config.bearing + 1e-5
    assert np.linalg.norm(lay, axis=1).min() < 0.45  # crooked
    assert_allclose(starts[..., [0, 2]].mean(axis=1), 0.0, atol=1e-5)


def test_pushing_can_be_solved_but_not_by_chance() -> None:
    env = make("PBDRopePush-v0", 16, starts=80)
    assert play(env, 56, env.expert)["normalized_performance"].mean() > 0.9
    generator = np.random.default_rng(0)
    chance = play(env, 56, lambda: generator.uniform(-1, 1, (16, 4)).astype(np.float32))
    assert chance["normalized_performance"].mean() < 0.2


def test_what_is_held_is_not_pressed_into_the_ground() -> None:
    """Guards the ropes: a picker that had grasped from above carried its particle into the ground, and links tore."""
    env = make("PBDRopeStraighten-v0", 1, starts=5, hands_at="corners")
    env.reset(seed=0)
    up, down = (np.tile(np.float32([0, y, 0, grip]), 2)[None] for y, grip in ((0.5, -1), (-1, 1)))
    env.step(up)
    for _ in range(5):
        env.step(down)
    assert (held_particles(env) >= 0).all()
    x = env.state.get_positions()[0]
    assert x[held_particles(env)[0], 1].min() > 0.9 * env.config.radius
    assert np.linalg.norm(np.diff(x, axis=0), axis=1).max() < 1.3 * env.config.spacing


@pytest.mark.parametrize("env_id", ["PBDRopeStraighten-v0", "PBDRopeShape-v0"])
def test_experts_know_the_box_of_another_size(env_id: str) -> None:
    """Guards places in the box of the hands, which is that of the environment and not that of size one."""
    coarse = {"particles": 21, "substeps": 24, "action_mode": "pick_place"}
    env = make(env_id, 4, starts=10, randomize={"size": (1.0, 1.5)}, **coarse)
    env.reset(seed=0, options={"variation": np.arange(4), "parameters": {"size": 1.4}})
    for _ in range(92):
        *_, info = env.step(env.expert())
    assert info["normalized_performance"].mean() > 0.7


@pytest.mark.parametrize("env_id", ["PBDRopeStraighten-v0", "PBDRopeShape-v0", "PBDRopePush-v0"])
def test_experts_know_the_size(env_id: str) -> None:
    """Guards what experts aim at where the task is larger."""
    env = make(env_id, 4, starts=20, randomize={"size": (1.0, 1.5)})
    env.reset(seed=0, options={"split": "eval", "parameters": {"size": 1.3}})
    for _ in range(100):
        *_, info = env.step(env.expert())
    assert info["normalized_performance"].mean() > 0.7
