"""The water tasks: what they measure, that experts solve them, and that cups hold water."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.envs import TaskVectorEnv

EXPERTS: dict[str, float] = {
    "PBDPassWater-v0": 0.98,
    "PBDPourWater-v0": 0.95,
    "PBDPourWaterAmount-v0": 0.9,
    "PBDPourSoup-v0": 0.95,
}
"""What the scripted expert has to reach, by id."""


def make(env_id: str, num_envs: int, **kwargs: Any) -> Any:
    given = {"particles": 100, "starts": 20, "autoreset_mode": "Disabled", **kwargs}
    if env_id == "PBDPourSoup-v0":
        given["tofu_side"] = 0.02
    env = gym.make_vec(env_id, num_envs, **given)
    assert isinstance(env, TaskVectorEnv)
    return env


def water_of(env: Any) -> Any:
    """Return the scene with its water, of any of these tasks."""
    return env.task.water


def places(env: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the particles of each environment that are there [m], and the poses of its colliders."""
    depot = env.scene.fluid.depot.astype(np.float32)
    every, poses = env.state.get_positions(), env.state.get_poses()
    return [(x[(x != depot).any(axis=1)].astype(np.float64), pose) for x, pose in zip(every, poses, strict=True)]


def walls(env: Any, pose: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the distance of particles from the nearest box that moves [m], shape (k,)."""
    boxes = [env.scene.colliders[number] for number in env.scene.moving_colliders]
    found = np.full(len(x), np.inf)
    for box, (px, py, pz, _, _, qz, qw) in zip(boxes, pose.astype(np.float64), strict=True):
        angle = 2.0 * np.arctan2(qz, qw)
        turn = np.array([[np.cos(angle), -np.sin(angle), 0.0], [np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]])
        found = np.minimum(found, box.moved((px, py, pz), turn).signed_distance(x)[0])
    return found


def walls_top(env: Any, pose: np.ndarray) -> float:
    """Return the height of the rim of an upright cup [m]."""
    return float(pose[1, 1] + env.scene.colliders[water_of(env).cup.colliders[1]].half_extents[1])


@pytest.mark.parametrize("env_id", EXPERTS)
def test_expert(env_id: str) -> None:
    """Guards that the task can be done within its limits, on states that training does not see."""
    env = make(env_id, 4, particles=300 if "Amount" in env_id else 100)  # to a tenth takes many drops
    env.reset(seed=0, options={"split": "eval", "variation": np.arange(4)})
    for _ in range(env.max_episode_steps):
        _, _, terminated, _, info = env.step(env.expert())
        assert not terminated.any()
    assert info["normalized_performance"].mean() >= EXPERTS[env_id]
    assert info["is_success"].mean() >= 0.75
    assert env.state.get_fluid_overflow().max() == 0


def test_the_expert_lifts_a_cup_that_is_taller_than_the_other() -> None:
    """Guards the script: such a rim is above the other one from the start, and could not tilt on the ground."""
    env = make("PBDPourWater-v0", 4, particles=100, fill=0.4)
    env.reset(seed=0)
    for _ in range(env.max_episode_steps):
        _, _, _, _, info = env.step(env.expert())
    assert info["normalized_performance"].min() >= 0.9


@pytest.mark.parametrize("env_id", EXPERTS)
def test_starts_are_at_rest(env_id: str) -> None:
    """Guards the bank: all the water is in the cup, as much as the state has, and stays where it is."""
    env = make(env_id, 4)
    env.reset(seed=0)
    before = places(env)
    counts = water_of(env).amounts()[env.buffers.peek("start")]
    others = env.scene.particle_count - len(env.scene.fluid.indices)
    assert len(set(counts)) > 1 and [len(x) - others for x, _ in before] == list(counts)
    for _ in range(5):
        info = env.step(np.zeros(env.action_space.shape, dtype=np.float32))[4]
    for (x, _), (now, pose) in zip(before, places(env), strict=True):
        assert np.linalg.norm(now - x, axis=1).mean() < 0.3 * env.config.spacing
        assert walls(env, pose, now).min() > 0.4 * env.config.spacing
    assert_allclose(env.buffers.peek("contents")[:, 0], 1.0)
    assert_allclose(info["normalized_performance"], 0.0, atol=1e-6)


@pytest.mark.parametrize("amount", [0.1, 0.3])
def test_water_in_the_depot_is_not_at_rest(amount: float) -> None:
    """Guards the mean speed that success asks for: with a tenth of the water it was allowed to be ten times as high."""
    env = make("PBDPassWater-v0", 4, amount=(amount, amount))
    env.reset(seed=1)
    still, watched = np.zeros(4, dtype=int), env.config.rest_speed * env.config.ctrl_dt
    rested, diluted = [], 0
    for _ in range(env.max_episode_steps):
        before = env.state.get_positions().astype(np.float64)
        at_rest = env.step(env.expert())[4]["at_rest"]
        there = (env.state.get_positions() != env.scene.fluid.depot.astype(np.float32)).any(axis=2)
        way = np.linalg.norm(env.state.get_positions() - before, axis=2)
        mean = np.where(there, way, 0.0).sum(axis=1) / there.sum(axis=1)
        still = np.where(mean <= watched, still + 1, 0)
        diluted += (way.mean(axis=1) <= watched).sum() - (mean <= watched).sum()
        clear = np.abs(mean / watched - 1.0) > 1e-3  # rounding does not decide
        needed = np.ceil(env.config.rest_time / env.config.ctrl_dt)
        assert_array_equal(at_rest[clear], (still >= needed)[clear])
        rested.append(at_rest)
    assert there.mean() == pytest.approx(amount, abs=0.05)
    assert 0.0 < np.mean(rested) < 1.0 and diluted > 0


@pytest.mark.parametrize("single", [False, True])
def test_neighbours_without_room_are_reported(single: bool) -> None:
    """Guards the report: 0 in a usual step, and what the state counts where water is crushed."""
    given = {"particles": 100, "starts": 4, "amount": (1.0, 1.0)}  # a list has room for 64
    env: Any = gym.make("PBDPassWater-v0", **given) if single else make("PBDPassWater-v0", 2, **given)
    batch = env.unwrapped.batch if single else env
    env.reset(seed=0)
    action = np.zeros(env.action_space.shape, dtype=np.float32)
    assert np.all(np.asarray(env.step(action)[-1]["fluid_overflow"]) == 0)
    x = batch.state.get_positions()
    x[0] = 0.9 * x[0].mean(axis=0) + 0.1 * x[0]
    batch.state.set_positions(x)
    with pytest.warns(RuntimeWarning, match="no room for"):
        counted = np.atleast_1d(env.step(action)[-1]["fluid_overflow"])
    assert counted[0] > 0
    assert_array_equal(counted, batch.state.get_fluid_overflow().sum(axis=1))


def test_cups_of_different_heights() -> None:
    """Guards what differs between start states, and that the observation tells it."""
    env = make("PBDPassWater-v0", 8)
    observation, _ = env.reset(seed=0, options={"variation": np.arange(8)})
    depth = env.config.depth(water_of(env).cup.width)
    rims = observation[:, 2] - 0.5 * env.config.wall
    assert ((1.2 * depth <= rims + 1e-6) & (rims <= 1.5 * depth + 1e-6)).all() and np.ptp(rims) > 0.1 * depth
    tops = [walls_top(env, pose) for pose in env.state.get_poses()]
    assert_allclose(tops, observation[:, 2] + 0.5 * env.config.wall, atol=1e-6)
    assert_allclose(observation[:, 0] + observation[:, 4], env.config.goal, atol=1e-6)
    assert -0.2 <= observation[:, 0].min() < 0.2 < 0.4 < observation[:, 0].max() <= 0.8  # and where they stand
    assert_allclose(observation[:, 6], 1.0)  # with their water
    still = make("PBDPassWater-v0", 2, preset="softgym", starts=4).reset(seed=0)[0]
    assert_allclose(still[:, 0], 0.0, atol=1e-6)


def test_who_is_in_a_hurry_spills() -> None:
    """Guards the physics, and the terms of the reward against their formula."""
    env = make("PBDPassWater-v0", 4)
    env.reset(seed=0)
    for _ in range(20):
        _, reward, _, _, info = env.step(np.ones((4, 1), dtype=np.float32))
    spilled, distance = info["reward_terms/spilled"], info["reward_terms/distance"]
    x = env.state.get_poses()[:, 0, 0]
    inside = []
    for positions, pose in places(env):
        reach = 0.5 * (water_of(env).cup.width + env.config.wall)
        low, top = pose[0, 1], walls_top(env, pose)
        beside = np.abs(positions[:, [0, 2]] - pose[0, [0, 2]]) < reach
        inside.append((beside.all(axis=1) & (positions[:, 1] > low) & (positions[:, 1] < top)).mean())
    assert max(inside) < 1.0
    assert_allclose(spilled, -10.0 * (1.0 - np.array(inside)), atol=1e-5)
    assert_allclose(distance, -np.abs(1.2 - x), atol=1e-6)
    assert_allclose(reward, spilled + distance, atol=1e-5)
    assert x.max() <= 1.4 + 1e-6


def test_walls_hold_at_two_metres_a_second() -> None:
    """Guards against tunnelling: no particle is deep in a wall, and none below the ground, whatever the cup does."""
    env = make("PBDPassWater-v0", 4, max_step=0.16)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(40):
        env.step(rng.choice([-1.0, 1.0], (4, 1)).astype(np.float32))
        for x, pose in places(env):
            assert walls(env, pose, x).min() > -0.3 * env.config.spacing
            assert x[:, 1].min() > 0.3 * env.config.spacing


def profile(cup: Any, pose: np.ndarray, box: Any) -> np.ndarray:
    """Return the corners of the outline of a cup seen along z [m], shape (4, 2): on the left, from below, round."""
    px, py, angle = pose[0, 0], pose[0, 1], 2.0 * np.arctan2(pose[0, 5], pose[0, 6])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    half, wall = 0.5 * cup.outer, (pose[1, :2] - pose[0, :2]) @ turn
    low, rim = -0.5 * cup.wall, wall[1] + box.half_extents[1]
    return np.array([[-half, low], [-half, rim], [half, rim], [half, low]]) @ turn.T + [px, py]


def test_cups_do_not_touch() -> None:
    """Guards the rule of moves: whatever is asked for, outlines of cups keep apart, and stay above the ground."""
    env = make("PBDPourWater-v0", 8, particles=30)
    env.reset(seed=0)
    rng, number = np.random.default_rng(0), water_of(env).cup.colliders[1]
    reached = np.zeros(8)
    start = env.state.get_poses()
    for _ in range(60):
        action = rng.uniform(-1.0, 1.0, (8, 3)) + np.array([0.5, -0.3, 0.0])
        env.step(action.astype(np.float32))
        for env_number, pose in enumerate(env.state.get_poses().astype(np.float64)):
            mine = profile(water_of(env).cup, pose[:5], env.scene.colliders[number])
            assert mine[:, 1].min() > -1e-4
            other = profile(env.task.target, pose[5:], env.scene.colliders[env.task.target.colliders[1]])
            other[[0, 3], 1] = 0.0
            apart = -np.inf  # the widest gap between the shadows of both along the normals of all sides
            for corners in (mine, other):
                sides = np.roll(corners, -1, axis=0) - corners
                normals = np.stack([sides[:, 1], -sides[:, 0]], axis=1) / np.linalg.norm(sides, axis=1)[:, None]
                a, b = mine @ normals.T, other @ normals.T
                apart = max(apart, (b.min(axis=0) - a.max(axis=0)).max(), (a.min(axis=0) - b.max(axis=0)).max())
            assert apart > -1e-4
            reached[env_number] = max(reached[env_number], -apart, 0.01 - abs(apart))
    assert (reached > 0.0).any()  # some came near
    assert_allclose(env.state.get_poses()[:, 5:, :], start[:, 5:, :])  # the other cup stood still


@pytest.mark.parametrize("pivot", ["bottom", "top"])
def test_turning_keeps_the_pivot_and_the_water(pivot: str) -> None:
    """Guards rotation: its centre stays, the boxes stay together, and no particle gets into a wall."""
    env = make("PBDPourWater-v0", 2, pivot=pivot)
    env.reset(seed=0)
    for _ in range(3):
        env.step(np.float32([[0.0, 1.0, 0.0]] * 2))
    height = water_of(env).cup.rim if pivot == "top" else 0.0

    def middle() -> np.ndarray:
        poses = env.state.get_poses()[:, 0].astype(np.float64)
        angle = 2.0 * np.arctan2(poses[:, 5], poses[:, 6])
        return poses[:, :2] + height * np.stack([-np.sin(angle), np.cos(angle)], axis=1)

    before = middle()
    for turn in (*[1.0] * 8, *[-1.0] * 16):
        env.step(np.float32([[0.0, 0.0, turn]] * 2))
        assert_allclose(middle(), before, atol=1e-5)
        for x, pose in places(env):
            assert walls(env, pose, x).min() > -0.3 * env.config.spacing
            angle = 2.0 * np.arctan2(pose[0, 5], pose[0, 6])
            turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            assert_allclose((pose[:5, :2] - pose[0, :2]) @ turned, water_of(env).cup.offsets()[:, :2], atol=1e-5)


def test_amounts() -> None:
    """Guards what is asked for, and the reward against its formula, on a made state."""
    env = make("PBDPourWaterAmount-v0", 6)
    observation, _ = env.reset(seed=0, options={"variation": np.arange(6)})
    assert ((observation[:, 13] >= 0.2) & (observation[:, 13] <= 1.0)).all() and np.ptp(observation[:, 13]) > 0.2
    wanted = np.floor(water_of(env).amounts()[:6] * observation[:, 13])
    counts = water_of(env).amounts()[:6]
    assert_allclose(env.buffers.read("performance"), -wanted / counts, atol=1e-6)
    x, pose = env.state.get_positions(), env.state.get_poses()
    for env_number in range(6):  # as many as are wanted, but for two, are put into the middle of the other cup
        x[env_number, : int(wanted[env_number]) - 2] = pose[env_number, 5, :3] + [0.0, 0.05, 0.0]
    env.state.set_positions(x)
    env._score.launch()
    assert_allclose(env.buffers.read("performance"), -2.0 / counts, atol=1e-6)
    line = env.state.get_poses()[:, 10, 1] - env.config.wall
    assert_allclose(line, observation[:, 13] * counts / 100 * env.config.depth(env.task.target.width), rtol=1e-5)


def test_tofu_that_does_not_fit_is_refused() -> None:
    """Guards a start in which tofu is stuck in the walls of its bowl."""
    with pytest.raises(ValueError, match=r"sides of 0\.05 m take 0\.12 m .* is 0\.0865 m wide"):
        gym.make_vec("PBDPourSoup-v0", 2, particles=100, starts=4, tofu_side=0.05)


def test_tofu_swims_and_stays_whole() -> None:
    """Guards the coupling: tofu is half as dense as soup, floats, and keeps its shape while it is poured."""
    env = make("PBDPourSoup-v0", 2, particles=300)
    env.reset(seed=0)
    piece = env.task.tofu[: len(env.task.tofu) // 2]

    def sides() -> np.ndarray:
        x = env.state.get_positions()[:, piece]
        return np.linalg.norm(x[:, :, None] - x[:, None], axis=3).max(axis=(1, 2))

    rest = np.linalg.norm(env.scene.positions[piece[-1]] - env.scene.positions[piece[0]])
    for (x, _), every in zip(places(env), env.state.get_positions(), strict=True):
        soup = x[: len(x) - len(env.task.tofu)]
        assert every[piece, 1].max() > np.quantile(soup[:, 1], 0.95)  # it looks out
        assert every[piece, 1].min() < soup[:, 1].max()  # and is immersed
    for _ in range(60):
        env.step(env.expert())
        assert_allclose(sides(), rest, rtol=0.3)  # it is a little soft
    assert_allclose(sides(), rest, rtol=0.1)
    assert_allclose(env.buffers.peek("tofu")[:, 1], 1.0)


@pytest.mark.parametrize(
    "bad",
    [
        {"amount": (0.9, 0.5)},
        {"amount": (0.5, 1.1)},
        {"wall": 0.01},
        {"particles": 0},
        {"goal": 2.0},
        {"way": (0.1, 2)},
        {"start": (0.9, 0.5)},
    ],
)
def test_bad_numbers(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad)).replace("wall", "walls")):
        make("PBDPassWater-v0", 1, **bad)


def test_cups_do_not_grow() -> None:
    with pytest.raises(ValueError, match="size"):
        make("PBDPassWater-v0", 1, randomize={"size": (0.5, 2.0)})
    drawn = make("PBDPassWater-v0", 1, randomize="sim2real").randomization.columns
    assert "viscosity" in drawn and drawn.keys().isdisjoint({"size", "stiffness", "damping"})
    for name in ("stiffness", "damping"):
        with pytest.raises(ValueError, match=f"{name} would have no effect in this task"):
            make("PBDPassWater-v0", 1, randomize={name: (0.5, 2.0)})


def test_what_is_in_the_cup_can_be_drawn() -> None:
    """Guards that the drawn numbers reach the water: honey in the same cup, shaken alike, has come to rest sooner."""
    ranges = {"viscosity": (0.5, 5000.0), "fluid_density": (0.5, 2.0)}
    env = make("PBDPassWater-v0", 8, randomize=ranges)
    _, info = env.reset(seed=0)
    told, found = info["parameters/fluid_density"], env.state.get_parameters()
    assert_array_equal(found["fluid_density"], told)
    assert_array_equal(found["viscosity"], info["parameters/viscosity"])
    assert len(np.unique(told)) == 8
    thick = np.repeat(np.float32([1.0, 5000.0]), 4)
    env.reset(seed=0, options={"parameters": {"viscosity": thick, "fluid_density": 1.0}, "variation": np.zeros(8, int)})
    for step in range(12):
        env.step(np.full((8, 1), 0.3 * (step < 8) * (1 - step % 2 * 2), np.float32))
    speed = np.linalg.norm(env.state.get_velocities(), axis=2).mean(axis=1)
    assert speed[4:].max() < 0.6 * speed[:4].min(), speed
    with pytest.raises(ValueError, match="viscosity"):
        gym.make_vec("PBDRope-v0", 1, randomize={"viscosity": (1.0, 2.0)})
