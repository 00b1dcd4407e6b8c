"""PBDPendulum-v0: its physics, what its pivot may do, and that planning solves it but chance does not."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import solve_discrete_are

import pbd_gym  # noqa: F401  (registers the ids)

from .helpers import assert_same_step, rows_of

GRAVITY = 9.81


def make(num_envs: int, **kwargs: Any) -> Any:
    return gym.make_vec("PBDPendulum-v0", num_envs, **kwargs)


def place(env: Any, bobs: np.ndarray, pivot: Any = 0.0, velocities: Any = 0.0) -> None:
    """Put pivots (n, 2) and bobs (n, 2, 2) somewhere in the plane; velocities of all three are (n, 3, 2)."""
    state = env.get_state()
    state["physics.positions"][:, 0, :2] = pivot
    state["physics.positions"][:, 1:, :2] = bobs
    state["physics.velocities"][..., :2] = velocities
    state["physics.grip_positions"][:, :1] = state["physics.positions"][:, :1]
    env.set_state(state)


def bobs_at(angles: np.ndarray) -> np.ndarray:
    """Bobs of links of 1 m at angles (n, 2) from hanging down, shape (n, 2, 2)."""
    return np.cumsum(np.stack([np.sin(angles), -np.cos(angles)], axis=2), axis=1)


def energy(env: Any) -> np.ndarray:
    """Energy of both bobs above that of hanging at rest [J], shape (num_envs,)."""
    x, v = (a[:, 1:].astype(np.float64) for a in (env.state.get_positions(), env.state.get_velocities()))
    lowest = -np.cumsum(env.config.lengths)
    masses = np.array(env.config.masses)
    return (masses * (0.5 * (v**2).sum(axis=2) + GRAVITY * (x[..., 1] - lowest))).sum(axis=1)


# --- physics ----------------------------------------------------------------------------------------------------------


def test_swings_keep_their_energy() -> None:
    """Guards the substeps: free swings of ten seconds lose a little energy, as implicit steps do, and never gain any.

    In double precision these swings lose 3 %, 5 % and 13 %; rounding in single precision adds some per cent.
    """
    env = make(3)
    env.reset(seed=0)
    place(env, bobs_at(np.array([[0.3, 0.24], [1.5, 1.2], [2.8, 2.24]])))
    start = energy(env)
    assert start.min() > 0.5
    for _ in range(300):
        env.step(np.zeros((3, 2), dtype=np.float32))
        assert (energy(env) < 1.01 * start).all()
        x = env.state.get_positions()
        assert_allclose(np.linalg.norm(np.diff(x, axis=1), axis=2), 1.0, rtol=0, atol=1e-4)
    lost = 1.0 - energy(env) / start
    assert (lost < [0.08, 0.08, 0.25]).all() and (lost > 0.0).all()


@pytest.mark.parametrize("mode", [0, 1])
def test_small_swings_have_the_period_of_their_mode(mode: int) -> None:
    """Guards lengths, gravity and the time of a control step: omega^2 = (2 -+ sqrt(2)) g / L.

    A quarter swing ends between two control steps; a straight line between them is off by 0.3 % at most.
    """
    omega = np.sqrt((2.0 + (-1, 1)[mode] * np.sqrt(2.0)) * GRAVITY)
    env = make(1)
    env.reset(seed=0)
    shape = np.array([1.0, (1, -1)[mode] * np.sqrt(2.0)])
    place(env, bobs_at(0.05 * shape[None]))
    weights = shape @ np.array([[2.0, 1.0], [1.0, 1.0]])
    signal = []
    for _ in range(120):
        signal.append(weights @ np.diff(env.state.get_positions()[0, :, 0]))
        env.step(np.zeros((1, 2), dtype=np.float32))
    crossings = np.flatnonzero(np.diff(np.sign(signal)))
    times = (crossings + np.array([signal[i] / (signal[i] - signal[i + 1]) for i in crossings])) * env.config.ctrl_dt
    assert_allclose(np.diff(times).mean(), np.pi / omega, rtol=0.01)


def test_it_stays_in_its_plane_to_the_bit() -> None:
    env = make(20)
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(100):
        env.step(env.action_space.sample())
        assert_array_equal(env.state.get_positions()[..., 2], 0.0)
        assert_array_equal(env.state.get_velocities()[..., 2], 0.0)


def test_same_seed_same_bits_in_any_batch() -> None:
    """Guards the draws and the physics against a dependence on the batch, over resets."""
    batch, lone = make(20, max_episode_steps=40), make(1, max_episode_steps=40)
    actions = np.random.default_rng(0).uniform(-1, 1, (100, 20, 2)).astype(np.float32)
    assert_same_step(rows_of(batch.reset(seed=3), slice(17, 18)), lone.reset(seed=20))
    for action in actions:
        assert_same_step(rows_of(batch.step(action), slice(17, 18)), lone.step(action[17:18]))


# --- start, pivot, hands ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("upright", [0.0, 1.0])
def test_starts_and_goals(upright: float) -> None:
    env = make(500, upright_starts=upright)
    env.reset(seed=0)
    x, goals = env.state.get_positions().astype(float), env.buffers.read("goals").astype(float)
    assert_array_equal(x[:, 0], 0.0)
    links = np.diff(x, axis=1)
    side = 1.0 if upright else -1.0
    angles = np.arctan2(links[..., 0], side * links[..., 1])
    assert 0.98 * 0.2 < np.abs(angles).max() <= 0.2 + 1e-6 and abs(np.corrcoef(angles.T)[0, 1]) < 0.2
    assert_allclose(np.linalg.norm(links, axis=2), 1.0, rtol=1e-6)
    assert_allclose(goals[:, :, 1:], np.broadcast_to([[1.0, 0.0], [2.0, 0.0]], (500, 2, 2)))
    assert_array_equal(goals[:, 0, 0], goals[:, 1, 0])
    assert 0.98 * 0.4 < np.abs(goals[..., 0]).max() <= 0.4 + 1e-6
    assert_allclose(env.buffers.read("performance"), -np.linalg.norm(goals - x[:, 1:], axis=2).mean(axis=1), rtol=1e-5)


def test_pivot_keeps_its_limits() -> None:
    """Guards speed, acceleration and walls: random extremes reach each of them and go beyond none."""
    env = make(64)
    env.reset(seed=0)
    config = env.config
    rng = np.random.default_rng(0)
    before = np.zeros((64, 2))
    fastest, hardest, farthest = np.zeros(2), np.zeros(2), np.zeros(2)
    action = np.zeros((64, 2), dtype=np.float32)
    for step in range(200):
        if step % 5 == 0:
            action = rng.choice([-1.0, 1.0], (64, 2)).astype(np.float32)
        env.step(action)
        x, v = env.state.get_positions()[:, 0, :2], env.state.get_velocities()[:, 0, :2]
        free = np.abs(x) < np.array(config.workspace) - 1e-4  # a wall stops the pivot at once
        fastest = np.maximum(fastest, np.abs(v).max(axis=0))
        hardest = np.maximum(hardest, np.where(free, np.abs(v - before), 0.0).max(axis=0) / config.ctrl_dt)
        farthest = np.maximum(farthest, np.abs(x).max(axis=0))
        before = v
    assert_allclose(fastest, config.max_step / config.ctrl_dt, rtol=1e-5)
    assert_allclose(hardest, config.max_acceleration, rtol=1e-4)
    assert_allclose(farthest, config.workspace, rtol=1e-6)


def test_let_go_it_falls_to_the_ground_and_rests() -> None:
    env = make(1, action_mode="picker")
    observation, _ = env.reset(seed=0)
    assert_array_equal(observation[0, -3:], [0.0, 0.0, 1.0])  # where the hand is, and that it holds
    for _ in range(150):
        observation, *_ = env.step(np.array([[0, -0.2, -1]], dtype=np.float32))
    assert observation[0, -1] == 0.0
    x = env.state.get_positions()[0]
    assert_allclose(x[:, 1], env.scene.colliders[0].offset + env.scene.contact_radius, atol=0.05)
    assert np.abs(env.state.get_velocities()).max() < 0.5


def test_pins_hold_all_three_particles() -> None:
    env = make(1, action_mode="pin")
    env.reset(seed=0)
    swing = np.array([[1, -1, -1]], dtype=np.float32)
    place(env, bobs_at(np.array([[1.5, 1.5]])))
    for _ in range(8):
        env.step(swing)
    before = env.state.get_positions()
    assert before[0, 1, 1] < -0.1
    for _ in range(5):
        env.step(np.ones((1, 3), dtype=np.float32))
    assert_array_equal(env.state.get_positions(), before)


# --- the task ---------------------------------------------------------------------------------------------------------


def features(observation: np.ndarray) -> np.ndarray:
    """Pivot and its speed, bobs and their speeds along x, seen from the goals, shape (n, 6)."""
    place = observation[:, 12] + observation[:, 2]
    x, v = observation[:, [0, 2, 4]] - place[:, None], observation[:, [6, 8, 10]]
    return np.stack([x[:, 0], v[:, 0], x[:, 1], x[:, 2], v[:, 1], v[:, 2]], axis=1).astype(np.float64)


class Balance:
    """Linear-quadratic regulator about upright, from finite differences of the simulator."""

    def __init__(self) -> None:
        env = make(14)
        env.reset(seed=0)
        nudge = 0.02
        states = np.concatenate([np.eye(7, 6), -np.eye(7, 6)]) * nudge
        command = np.zeros(14)
        command[6], command[13] = nudge, -nudge
        bobs = np.stack([states[:, 2:4], np.zeros((14, 2))], axis=2)
        bobs[:, 0, 1] = np.sqrt(1.0 - (states[:, 2] - states[:, 0]) ** 2)
        bobs[:, 1, 1] = bobs[:, 0, 1] + np.sqrt(1.0 - (states[:, 3] - states[:, 2]) ** 2)
        velocities = np.zeros((14, 3, 2))
        velocities[..., 0] = states[:, [1, 4, 5]]
        pivot = np.stack([states[:, 0], np.zeros(14)], axis=1)
        place(env, bobs, pivot, velocities)
        observation = env.step(np.stack([command, 0 * command], axis=1).astype(np.float32))[0]
        x, v = observation[:, [0, 2, 4]], observation[:, [6, 8, 10]]
        after = np.stack([x[:, 0], v[:, 0], x[:, 1], x[:, 2], v[:, 1], v[:, 2]], axis=1).astype(np.float64)
        slopes = (after[:7] - after[7:]).T / (2.0 * nudge)
        self.a, b = slopes[:, :6], slopes[:, 6:]
        weight, price = np.diag([1.0, 0.1, 4.0, 4.0, 0.2, 0.2]), np.array([[10.0]])
        self.cost = solve_discrete_are(self.a, b, weight, price)
        self.gain = np.linalg.solve(price + b.T @ self.cost @ b, b.T @ self.cost @ self.a)[0]

    def act(self, observation: np.ndarray) -> np.ndarray:
        action = np.zeros((len(observation), 2))
        action[:, 0] = -features(observation) @ self.gain
        action[:, 1] = -observation[:, 1] - observation[:, 7]
        return np.clip(action, -1.0, 1.0).astype(np.float32)

    def effort(self, observation: np.ndarray) -> np.ndarray:
        """How hard it will be to catch the pendulum from here, shape (n,): the regulator's cost to go, and heights."""
        x = features(observation)
        to_go = np.sqrt(np.einsum("ni,ij,nj->n", x, self.cost, x) / np.trace(self.cost))
        below, rising = np.maximum(observation[:, [13, 15]], 0.0), np.abs(observation[:, [9, 11]])
        return np.asarray(np.minimum(3.0 * to_go, 5.0) + below.sum(axis=1) + 0.15 * rising.sum(axis=1))


@pytest.fixture(scope="module")
def balance() -> Balance:
    return Balance()


def test_upright_falls_as_fast_as_it_should(balance: Balance) -> None:
    """Guards the linear model: modes grow over a step by exp(omega ctrl_dt), omega those of hanging."""
    growth = np.sort(np.abs(np.linalg.eigvals(balance.a)))
    omega = np.sqrt((2.0 + np.array([-1.0, 1.0]) * np.sqrt(2.0)) * GRAVITY)
    assert_allclose(growth[-2:], np.exp(omega / 30.0), rtol=2e-3)
    assert_allclose(growth[:2], np.exp(-omega[::-1] / 30.0), rtol=1e-2)


def test_upright_can_be_held(balance: Balance) -> None:
    """Guards the task and its success: a regulator holds upright starts for an episode; left alone, they fall."""
    for hold in (True, False):
        env = make(64, upright_starts=1.0, start_angle=0.03, max_episode_steps=1000)
        observation, _ = env.reset(seed=0)
        for _ in range(300):
            action = balance.act(observation) if hold else np.zeros((64, 2), dtype=np.float32)
            observation, _, _, _, info = env.step(action)
        assert (info["is_success"].mean() > 0.9) if hold else not info["is_success"].any()


def plan(env: Any, balance: Balance, start: dict[str, np.ndarray], seed: int) -> np.ndarray:
    """Find actions, shape (steps, 2), after which the regulator catches and holds the pendulum.

    The cross-entropy method: candidates are piecewise linear paths of commands, all tried at once in branches of the
    start, and drawn anew around the best tenth. Rubinstein 1999, doi:10.1023/A:1010091220143.
    """
    generator = np.random.default_rng(seed)
    count, knots, steps = env.num_envs, 16, 120
    along = np.linspace(0, knots - 1, steps)
    left = np.minimum(along.astype(int), knots - 2)
    share = (along - left)[:, None]
    for attempt in range(200):
        if attempt % 20 == 0:  # not every search gets out of the valley that it began in
            mean, spread = np.zeros((knots, 2)), np.full((knots, 2), 0.7)
        tried = np.clip(mean + spread * generator.standard_normal((count, knots, 2)), -1, 1)
        commands = (tried[:, left] * (1 - share) + tried[:, left + 1] * share).astype(np.float32)
        env.set_state(start, np.zeros(count, dtype=int))
        efforts = np.array([balance.effort(env.step(command)[0]) for command in commands.swapaxes(0, 1)])
        efforts[:30] = np.inf
        catch, order = efforts.argmin(axis=0), np.argsort(efforts.min(axis=0))[: count // 10]
        if attempt % 2:  # let the regulator try to catch each of them where that looks easiest
            env.set_state(start, np.zeros(count, dtype=int))
            observation = env.step(commands[:, 0])[0]
            for step in range(1, steps + 70):
                held = (step > catch)[:, None]
                actions = np.where(held, balance.act(observation), commands[:, min(step, steps - 1)])
                observation, *_, info = env.step(actions)
            if info["is_success"].any():
                found = np.argmax(info["is_success"])
                return np.asarray(commands[found, : catch[found] + 1])
        mean = 0.2 * mean + 0.8 * tried[order].mean(axis=0)
        spread = 0.2 * spread + 0.8 * tried[order].std(axis=0) + 0.05
    raise AssertionError("no plan was found")


@pytest.mark.parametrize("seed", [0, 1])
def test_it_can_be_solved_by_planning(balance: Balance, seed: int) -> None:
    """Guards the whole task: a plan made in branches of the start swings it up, and a regulator holds it to the end."""
    branches, env = make(256, max_episode_steps=None), make(1)
    observation, _ = env.reset(seed=seed)
    path = plan(branches, balance, env.get_state(), seed)
    for step in range(300):
        action = path[None, step] if step < len(path) else balance.act(observation)
        observation, _, terminated, truncated, info = env.step(action)
    assert truncated[0] and not terminated[0]
    assert info["is_success"][0] and info["normalized_performance"][0] > 0.95


def test_chance_does_not_solve_it_and_breaks_nothing() -> None:
    env = make(64)
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(299):
        *_, terminated, _, info = env.step(env.action_space.sample())
        assert not terminated.any() and not info["is_success"].any()


def test_numbers_are_checked() -> None:
    for name, value in (
        ("lengths", (1.0, 0.0)), ("lengths", (1.0, 1.0, 1.0)), ("masses", 0.5), ("workspace", (1.0, np.inf)),
        ("goal_shift", 3.0), ("upright_starts", 1.5), ("start_angle", -0.1), ("max_acceleration", 0.0),
    ):  # fmt: skip
        with pytest.raises(TypeError if name == "masses" else ValueError, match=name):  # one mass is no pair of them
            make(1, **{name: value})
