"""Domain randomisation: what is drawn, when, from which stream, how it is told, and what it does to the task."""

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.randomization import NAMED, PLACES, LogUniform, Uniform, without_effect
from pbd_gym.envs.core.parts.manipulation import WeightedMeasures
from pbd_gym.sim.upload.arrays import to_rows
from tests.envs.helpers import (
    AUTORESET,
    CUPS,
    ID,
    SMALL,
    SMALL_OF,
    assert_same,
    make_vec,
    named,
    random_actions,
    roll,
    rows_of,
)

RANGES: dict[str, Any] = {
    "size": (0.7, 1.4), "density": LogUniform(0.5, 2.0), "stiffness": LogUniform(0.2, 5.0),
    "friction": (0.4, 1.6), "damping": Uniform(0.0, 2.0), "gravity": (0.8, 1.2), "bend_stiffness": (0.5, 1.0),
    "tilt_x": (-0.1, 0.2), "tilt_z": (-0.2, 0.1), "ground_height": (-0.3, 0.1),
}  # fmt: skip
LIMIT = 5


def make(num_envs: int, **kwargs: Any) -> TaskVectorEnv:
    return make_vec(num_envs, **{"randomize": RANGES, "max_episode_steps": LIMIT, **kwargs})


def drawn(info: dict[str, Any]) -> np.ndarray:
    """Parameters of an info, shape (num_envs, names)."""
    return np.stack([info[f"parameters/{name}"] for name in RANGES], axis=1)


def test_ranges_are_kept_and_filled() -> None:
    """Guards the draw: within the range, mean and spread of the declared distribution, and each by itself."""
    env = make_vec(2000, rows=3, columns=3, settle_time=0.0, randomize=RANGES)
    _, info = env.reset(seed=0)
    values = drawn(info)
    for column, (name, given) in enumerate(RANGES.items()):
        low, high = (given.low, given.high) if isinstance(given, Uniform) else given
        found = values[:, column].astype(np.float64)
        assert (found >= np.float32(low)).all() and (found <= np.float32(high)).all(), name
        if isinstance(given, LogUniform):
            found, low, high = np.log(found), np.log(low), np.log(high)
        share = (found - low) / (high - low)
        assert abs(share.mean() - 0.5) < 4 * 12**-0.5 * 2000**-0.5, name  # four standard errors
        assert abs(share.std() - 12**-0.5) < 0.02, name
    correlation = np.corrcoef(values.T) - np.eye(len(RANGES))
    assert np.abs(correlation).max() < 4 * 2000**-0.5


def test_named_ranges_are_those_ranges() -> None:
    """Guards the name: it draws the same numbers as its ranges, and another one is refused by name."""
    there = {name: given for name, given in NAMED["sim2real"].items() if name != "viscosity"}  # cloth has none
    by_name, written = (make(4, randomize=ranges) for ranges in ("sim2real", there))
    assert_same(by_name.reset(seed=5), written.reset(seed=5))
    with pytest.raises(ValueError, match="'sim2real', got 'real'"):
        make(1, randomize="real")


def test_physics_has_what_info_says() -> None:
    """Guards the rows that the physics reads, and the masses."""
    env = make(20, action_mode="picker")
    _, info = env.reset(seed=1)
    told, found = named(info, "parameters"), env.state.get_parameters()
    for name in ("size", "density", "friction", "damping"):
        assert_array_equal(found[name], told[name])
    assert_allclose(np.linalg.norm(found["gravity"], axis=1), 9.81 * told["gravity"], rtol=1e-6)
    falls = found["gravity"] / -found["gravity"][:, 1:2]
    assert_allclose(falls[:, 0], np.tan(told["tilt_x"]) / np.cos(told["tilt_z"]), rtol=1e-5)
    assert_allclose(falls[:, 2], np.tan(told["tilt_z"]), rtol=1e-5)
    assert_array_equal(env.state.get_poses()[:, 0, 1], told["ground_height"])
    assert_array_equal(env.state.get_poses()[:, 0, [0, 2, 3, 4, 5, 6]], [[0, 0, 0, 0, 0, 1]] * 20)
    assert_allclose(found["stiffness"]["stretch"], told["stiffness"], rtol=1e-6)
    assert_allclose(found["stiffness"]["bend"], told["stiffness"] * told["bend_stiffness"], rtol=1e-6)
    mass = 1.0 / env.state.free_inv_mass_scalar.numpy().transpose(0, 2, 1).reshape(-1, 16)[:20]
    assert_allclose(mass.sum(axis=1), 0.2 * told["density"] * told["size"] ** 2, rtol=1e-5)
    held = env.state.inv_mass_scalar.numpy().transpose(0, 2, 1).reshape(-1, 16)[:20]
    assert ((held == 0).sum(axis=1) == 2).all()


@pytest.mark.parametrize("autoreset_mode", AUTORESET)
def test_info_over_episodes(autoreset_mode: str) -> None:
    """Guards when parameters change: with a new episode and never within one; and what final_info says of the old."""
    env = make(3, autoreset_mode=autoreset_mode)
    _, info = env.reset(seed=0)
    first = drawn(info)
    actions = random_actions(env, LIMIT + 1)
    for action in actions[: LIMIT - 1]:
        assert_array_equal(drawn(env.step(action)[4]), first)
    info = env.step(actions[-2])[4]
    if autoreset_mode == "SameStep":
        assert_array_equal(drawn(info["final_info"]), first)
    else:
        assert_array_equal(drawn(info), first)
    if autoreset_mode == "NextStep":
        info = env.step(actions[-1])[4]
    if autoreset_mode == "Disabled":
        mask = np.array([True, False, True])
        _, info = env.reset(options={"reset_mask": mask})
        assert_array_equal(info["_parameters/size"], mask)
        assert_array_equal(drawn(info)[1], 0.0)
        assert (drawn(info)[[0, 2]] != first[[0, 2]]).all()
        assert_array_equal(env.state.get_parameters()["size"][1], first[1, 0])
    else:
        assert info["_parameters/size"].all() and (drawn(info) != first).all()


@pytest.mark.parametrize("count", [1, 5, 16])
def test_bits_do_not_depend_on_the_batch(count: int) -> None:
    """Guards seeds and lanes over two episodes: an environment sees nothing of its neighbours."""
    large, small = (make(n, action_mode="picker") for n in (40, count))
    rows = slice(0, count)
    actions = random_actions(large, 2 * LIMIT + 2)
    assert_same(rows_of(large.reset(seed=3), rows), small.reset(seed=3))
    for action in actions:
        assert_same(rows_of(large.step(action), rows), small.step(action[rows]))


def test_single_equals_row() -> None:
    """Guards gym.make: floats in info, and the very numbers of the batch."""
    batch, single = make(4), gym.make(ID, randomize=RANGES, max_episode_steps=LIMIT, **SMALL)
    observations, infos = batch.reset(seed=10)
    observation, info = single.reset(seed=12)
    assert_array_equal(observation, observations[2])
    told = named(info, "parameters")
    assert told == {name: infos[f"parameters/{name}"][2] for name in RANGES}
    assert all(type(value) is float for value in told.values())
    action = random_actions(batch, 1)[0]
    assert_array_equal(single.step(action[2])[0], batch.step(action)[0][2])


def test_streams_are_independent() -> None:
    """Guards goals and the other parameters: neither depends on which parameters are drawn."""
    plain = make_vec(8)
    some = make(8, randomize={"stiffness": RANGES["stiffness"]})
    every = make(8, randomize={**RANGES, "size": (1.0, 1.0)})
    assert len(every.randomization.columns) == len(RANGES)
    plain.reset(seed=5)
    told = [env.reset(seed=5)[1]["parameters/stiffness"] for env in (some, every)]
    assert_array_equal(told[0], told[1])
    for env in (some, every):
        assert_array_equal(env.buffers.read("goals"), plain.buffers.read("goals"))
        assert_array_equal(env.state.get_positions(), plain.state.get_positions())


def test_ranges_of_one_change_no_bit() -> None:
    """Guards the tasks: with every factor one, they are the ones without randomisation."""
    nominal = {name: (0.0, 0.0) if name in PLACES else (1.0, 1.0) for name in RANGES}
    plain, ones = make_vec(5), make(5, randomize=nominal, max_episode_steps=None)
    actions = random_actions(plain, 5)
    assert_array_equal(plain.reset(seed=2)[0], ones.reset(seed=2)[0])
    for one, other in zip(roll(plain, actions), roll(ones, actions), strict=True):
        assert_same(one[:4], other[:4])


def test_fixed_for_evaluation() -> None:
    """Guards options: fixed values hold over autoresets until the next reset, and leave what else is drawn alone."""
    env = make(4)
    free = drawn(env.reset(seed=6)[1])
    options = {"parameters": {"stiffness": 3.0, "size": [0.8, 0.9, 1.0, 1.1]}}
    _, info = env.reset(seed=6, options=options)
    fixed = drawn(info)
    names = list(RANGES)
    assert_array_equal(fixed[:, names.index("stiffness")], np.float32([3.0] * 4))
    assert_array_equal(fixed[:, names.index("size")], np.float32([0.8, 0.9, 1.0, 1.1]))
    others = [k for k, name in enumerate(names) if name not in options["parameters"]]
    assert_array_equal(fixed[:, others], free[:, others])
    for action in random_actions(env, LIMIT + 1):
        info = env.step(action)[4]
    again = drawn(info)
    assert_array_equal(again[:, names.index("stiffness")], np.float32([3.0] * 4))
    assert (again[:, others] != free[:, others]).all()
    assert (drawn(env.reset()[1])[:, names.index("stiffness")] != 3.0).all()
    assert set(options) == {"parameters"}


@pytest.mark.parametrize("autoreset_mode", AUTORESET[:2])
def test_saved_and_branched(autoreset_mode: str) -> None:
    """Guards a snapshot: parameters now, those that are fixed, and the draws to come, in a fresh batch as well."""
    env, fresh = (make(5, action_mode="picker", autoreset_mode=autoreset_mode) for _ in range(2))
    env.reset(seed=0, options={"parameters": {"size": 0.9}})
    actions = random_actions(env, 3 * LIMIT)
    roll(env, actions[:LIMIT])
    saved = env.get_state()
    expected = [*roll(env, actions[LIMIT:]), env.reset()]
    for other in (env, fresh):
        other.set_state(saved)
        assert_same(saved, other.get_state())
        assert_same((*roll(other, actions[LIMIT:]), other.reset()), tuple(expected))
    some = {name: RANGES[name] for name in ("size", "ground_height")}
    other = make(5, action_mode="picker", autoreset_mode=autoreset_mode, randomize=some)
    other.reset(seed=9)
    before = other.get_state()
    with pytest.raises(ValueError, match="'density' differs in this state"):
        other.set_state(saved)
    assert_same(before, other.get_state())
    env.branch(np.array([4, 4, 4, 4, 4]))
    assert len(np.unique(env.state.get_parameters()["density"])) == 1


@pytest.mark.usefixtures("one_lane")
@pytest.mark.parametrize("env_id", sorted(set(SMALL_OF) - set(CUPS)))
@pytest.mark.parametrize("size", [0.6, 1.5])
def test_size_is_a_similar_task(env_id: str, size: float) -> None:
    """Guards start, goals, hands and their box: all of it is that of size one, scaled about one point."""
    small = SMALL_OF[env_id]
    env = gym.make_vec(env_id, 3, randomize={"size": (0.6, 1.5)}, max_episode_steps=-1, **small)
    plain = gym.make_vec(env_id, 3, **small)
    assert isinstance(env, TaskVectorEnv) and isinstance(plain, TaskVectorEnv)
    plain.reset(seed=4)
    observation, info = env.reset(seed=4, options={"parameters": {"size": size}})
    anchor = np.array(env.world.anchor)

    def similar(points: np.ndarray) -> np.ndarray:
        return anchor + size * (points - anchor)

    assert_allclose(env.state.get_positions(), similar(plain.state.get_positions()), atol=1e-6)
    assert_allclose(env.buffers.read("goals"), similar(plain.buffers.read("goals")), atol=1e-6)
    scale = 1.0 if isinstance(env.task.score, WeightedMeasures) else size  # measures of shape are those of size one
    assert_allclose(info["performance"], scale * plain.buffers.read("performance"), rtol=1e-5, atol=1e-6)
    assert env.observation_space.contains(observation)
    ground = 0.0 if env.task.ground is None else env.scene.colliders[env.task.ground].offset
    assert (env.state.get_positions()[..., 1] > ground).all()
    # Hands that go as far as they may end at the walls of the larger or smaller box, or at what they can stretch.
    push = np.ones(env.action_space.shape, dtype=np.float32)
    for _ in range(120):
        env.step(push)
    upper = similar(np.array([paddle.upper for paddle in env.actions.paddles] or env.actions.hands.upper))
    hands = env.state.get_poses()[..., :3] if env.actions.paddles else env.state.grip_positions.numpy()[:3]
    assert (hands <= upper + 1e-5).all()
    assert_allclose(hands[..., 1].max(axis=1), upper[..., 1].max(), atol=1e-5)
    assert not env.state.diverged.numpy()[:3].any()


@pytest.mark.usefixtures("one_lane")
@pytest.mark.parametrize("env_id", sorted(SMALL_OF))
def test_every_task_and_checker(env_id: str) -> None:
    """Guards every id under Gymnasium's checker, all parameters drawn, warnings being errors; and long random play."""
    plain = gym.make_vec(env_id, 1, **SMALL_OF[env_id])
    assert isinstance(plain, TaskVectorEnv)
    idle = {"bend_stiffness", "ground_height", *without_effect(plain.model, plain.config.damping)}
    ranges = {name: RANGES[name] for name in RANGES if name not in idle}
    ranges |= {f"{label}_stiffness": LogUniform(0.5, 2.0) for label in plain.model.labels}
    if env_id in CUPS:
        del ranges["size"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make(env_id, randomize=ranges, **SMALL_OF[env_id]).unwrapped)
    env = gym.make_vec(env_id, 16, randomize=ranges, **SMALL_OF[env_id])
    assert isinstance(env, TaskVectorEnv)
    env.reset(seed=0)
    for action in random_actions(env, 60):
        observation, _, terminated, _, info = env.step(action)
        assert not terminated.any() and np.isfinite(observation).all()
        assert set(ranges) == set(named(info, "parameters"))


def test_heavier_and_stiffer_hang_differently() -> None:
    """Guards that a drawn number is felt: threads stretch in proportion to gravity and density over stiffness."""
    names = {"gravity": (0.5, 3.0), "density": (0.5, 3.0), "stiffness": (0.1, 3.0), "damping": (1.0, 5.0)}
    env = make(4, randomize=names, settle_time=0.0, max_episode_steps=None, stretch_compliance=1e-3, action_mode="drag")
    fixed = {"gravity": [1, 2, 1, 1], "density": [1, 1, 2, 1], "stiffness": [1, 1, 1, 0.5], "damping": 5.0}
    env.reset(seed=0, options={"parameters": fixed})
    for _ in range(300):
        env.step(np.zeros(env.action_space.shape, dtype=np.float32))
    corners = env.scene.positions[[0, 12], 1] - env.state.get_positions()[:, [0, 12], 1]
    sag = corners[:, 1] - corners[:, 0]
    # Heavier in proportion or softer in proportion is the same motion, but for air drag. With one iteration a substep
    # the stretch of a chain is off by some percent, which depends on mass and stiffness, but not on gravity.
    assert_allclose(sag[2], sag[3], rtol=2e-3)
    assert_allclose(sag[1:3] / sag[0], 2.0, rtol=0.1)


def test_slope_and_ground() -> None:
    """Guards what the places do: a ball let go slides down the slope; a cloth let go falls onto its own ground."""
    ball = gym.make_vec(
        "PBDSoftBody-v0", 3, action_mode="picker", friction=0.05, randomize={"tilt_x": (-0.3, 0.3)},
        **SMALL_OF["PBDSoftBody-v0"],
    )  # fmt: skip
    assert isinstance(ball, TaskVectorEnv)
    ball.reset(seed=0, options={"parameters": {"tilt_x": [-0.3, 0.0, 0.3]}})
    start = ball.state.get_positions().mean(axis=1)
    still = np.zeros(ball.action_space.shape, dtype=np.float32)
    for _ in range(30):
        ball.step(still)
    moved = ball.state.get_positions().mean(axis=1)[:, 0] - start[:, 0]
    assert moved[0] < -0.2 and abs(moved[1]) < 0.05 and moved[2] > 0.2
    cloth = make(2, action_mode="picker", randomize={"ground_height": (-0.5, 0.5)}, max_episode_steps=-1)
    heights = np.float32([-0.4, 0.3])
    cloth.reset(seed=0, options={"parameters": {"ground_height": heights}})
    still = np.zeros(cloth.action_space.shape, dtype=np.float32)
    for _ in range(90):
        cloth.step(still)
    lowest = cloth.state.get_positions()[..., 1].min(axis=1)
    assert_allclose(lowest, heights + cloth.scene.contact_radius, atol=1e-4)
    with pytest.raises(ValueError, match="lies on the ground"):
        gym.make_vec("PBDRope-v0", 1, randomize={"ground_height": (0.0, 0.1)}, **SMALL_OF["PBDRope-v0"])


def test_torch_and_sb3() -> None:
    """Guards the other ways out: tensors, and the infos of Stable-Baselines3."""
    torch = pytest.importorskip("torch")
    env = make(3, output="torch")
    _, info = env.reset(seed=0)
    assert info["parameters/size"].dtype == torch.float32
    assert info["_parameters/size"].all()
    from pbd_gym.envs.tools.sb3 import make_sb3_vec_env

    vec = make_sb3_vec_env(ID, 3, seed=0, randomize=RANGES, max_episode_steps=2, **SMALL)
    vec.reset()
    assert vec.reset_infos[1]["parameters/size"] == pytest.approx(float(info["parameters/size"][1]))
    zero = np.zeros((3, 6), dtype=np.float32)
    vec.step(zero)
    infos = vec.step(zero)[3]
    assert infos[1]["parameters/size"] == pytest.approx(float(info["parameters/size"][1]))


def test_no_word_of_it_without_ranges() -> None:
    """Guards infos, and the fast kernel, of tasks that are not randomised."""
    env = make_vec(2)
    assert "parameters" not in env.reset(seed=0)[1]
    assert not env.state.parameters.varied
    assert make(2).state.parameters.varied


ERRORS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"sise": (1.0, 2.0)}, ValueError, "no parameter 'sise' to randomize; there are size"),
    ({"size": (2.0, 1.0)}, ValueError, "low <= high"),
    ({"size": (0.0, 1.0)}, ValueError, "size is a factor from 0.001"),
    ({"stretch_stiffness": (0.0, 1.0)}, ValueError, "stretch_stiffness is a factor from 1e-06"),
    ({"density": (1.0, float("inf"))}, ValueError, "both finite"),
    ({"damping": (-1.0, 1.0)}, ValueError, "damping is a factor from 0"),
    ({"tilt_x": (-1.2, 0.0)}, ValueError, "tilt_x must be from -1 to 1"),
    ({"ground_height": (0.0, 200.0)}, ValueError, "ground_height must be from -100 to 100"),
    ({"damping": 1.0}, TypeError, "must be a pair"),
    ({"damping": (1.0, 2.0, 3.0)}, TypeError, "must be a pair"),
]


@pytest.mark.parametrize(("ranges", "error", "words"), ERRORS)
def test_bad_ranges(ranges: dict[str, Any], error: type[Exception], words: str) -> None:
    """Guards the checks at construction, where the mistake is."""
    with pytest.raises(error, match=words):
        make(1, randomize=ranges)
    with pytest.raises(ValueError, match="low above zero"):
        LogUniform(0.0, 1.0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"stiffness": 0.0}, "stiffness is a factor"),
        ({"size": [1.0, 1.0]}, "size must broadcast"),
        ({"size": float("nan")}, "size must be finite"),
        ({"shear_stiffness": 1.0}, "'shear_stiffness' is not declared"),
        ({"size": 50.0}, "size must be at most"),  # cameras and the way of hands leave room for what was declared
    ],
)
def test_bad_options(given: dict[str, Any], words: str) -> None:
    """Guards reset: a refusal leaves the environments as they were."""
    env = make(3)
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(ValueError, match=words):
        env.reset(seed=1, options={"parameters": given})
    assert_same(before, env.get_state())


def test_disturbances_push_the_object_and_come_back_with_a_state() -> None:
    """Guards the force on the whole object and the wind: those of the episode, also after a state was loaded."""
    ranges = {"push_x": (-0.5, 0.5), "wind_z": (2.0, 8.0)}
    env = make(5, randomize=ranges)
    env.reset(seed=3)
    env.step(np.zeros(env.action_space.shape))
    saved = env.get_state()
    _, info = env.reset(seed=4)
    for told in (named(info, "parameters"), None):
        if told is None:
            env.set_state(saved)
            told = {name: saved["episode.parameters"][:, env.randomization.columns[name]] for name in ranges}
        pushes = to_rows(env.control.forces_scalar.numpy(), 5)
        assert_allclose(pushes.sum(axis=1), np.pad(told["push_x"][:, None], ((0, 0), (0, 2))), rtol=1e-5)
        wind = to_rows(env.control.wind_scalar.numpy(), 5)
        zero, air = np.zeros(5), np.full(5, np.float32(1.2))
        assert_array_equal(wind, np.stack([zero, zero, told["wind_z"], air], axis=1))
        assert len(np.unique(told["push_x"])) == 5
    second = env.step(np.zeros(env.action_space.shape))[0]
    env.set_state(saved)
    assert_array_equal(env.step(np.zeros(env.action_space.shape))[0], second)
    plain = make(5, randomize={"density": (0.5, 2.0)})
    assert not plain.control.has_forces and not plain.control.has_wind  # and the kernel is that without


def test_wind_needs_cloth() -> None:
    """Guards against a disturbance that would do nothing."""
    with pytest.raises(ValueError, match="need cloth"):
        gym.make_vec("PBDRope-v0", num_envs=1, randomize={"wind_x": (0.0, 1.0)}, **SMALL_OF["PBDRope-v0"])
