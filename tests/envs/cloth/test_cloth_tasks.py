"""The cloth tasks of the suite: what their performance says of hand-made shapes, and that experts solve them."""

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.envs import TaskVectorEnv
from pbd_gym.envs.cloth.body import fitted
from pbd_gym.envs.cloth.towel import CORNERS, ClothTaskConfig
from pbd_gym.envs.core.data.presets import with_defaults
from pbd_gym.envs.core.parts.corrections import Corrections
from pbd_gym.geometry.surfaces import crossings
from pbd_gym.geometry.trimeshes import trimesh


def make(name: str, num_envs: int = 1, **kwargs: Any) -> Any:
    """Return a batch whose towels are coarser than they are by default, unless they are to be as fine."""
    coarse = {"resolution": 16} if name.startswith("Cloth") else {}
    env = gym.make_vec(f"PBD{name}-v0", num_envs, **with_defaults({"starts": 5, **coarse}, kwargs))
    assert isinstance(env, TaskVectorEnv)
    env.reset(seed=0)
    return env


def rate(env: Any, shape: np.ndarray) -> tuple[float, float]:
    """Return performance and normalised performance of a towel put somewhere, shape (rows, columns, 3)."""
    positions = env.state.get_positions()
    positions[:, env.task.towel.indices] = shape
    env.state.set_positions(positions)
    env._score.launch()
    env._episodes.conclude.launch()
    return float(env.buffers.peek("performance")[0]), float(env.buffers.peek("normalized_performance")[0])


@pytest.mark.parametrize(
    ("name", "floor"),
    [
        ("ClothFlatten", 0.9),
        ("ClothUnfold", 0.95),
        ("ClothFoldCrumpled", 0.9),
        ("ClothFlattenPickPlace", 0.9),
        ("ClothFold", 0.95),
        ("ClothFoldPickPlace", 0.9),
        ("ClothFoldDiagonal", 0.9),
        ("ClothFoldDrop", 0.9),
        ("ClothDrop", 0.95),
        ("ClothHang", 0.95),
    ],
)
def test_expert(name: str, floor: float) -> None:
    """Guards that the task can be solved, in its time."""
    count = 8
    env = make(name, count, starts=count)
    env.reset(seed=0, options={"split": "all", "variation": np.arange(count)})
    for _ in range(env.max_episode_steps):
        _, _, terminated, truncated, info = env.step(env.expert())
        assert not terminated.any()
    assert truncated.all()
    assert info["normalized_performance"].mean() >= floor, info["normalized_performance"]


@pytest.mark.parametrize(("name", "floor"), [("ClothDrop", 0.75), ("ClothFlatten", 0.7)])
def test_expert_in_a_box_that_rules_out_hanging(name: str, floor: float) -> None:
    """Guards the plans for SoftGym's pickers: towels are swung, or pulled apart on the ground."""
    count = 16  # one heap in six stays folded: a mean of few says little
    env = make(name, count, starts=count, preset="softgym")
    env.reset(seed=0, options={"split": "all", "variation": np.arange(count)})
    for _ in range(env.max_episode_steps):
        info = env.step(env.expert())[4]
    assert info["normalized_performance"].mean() >= floor, info["normalized_performance"]


def test_fit() -> None:
    """Guards the placement of a flat shape over one that lies turned and shifted, and that it stays upright."""
    shape = np.random.default_rng(0).normal(size=(4, 5, 3))
    for angle in (0.0, 0.7, 3.0):
        c, s = np.cos(angle), np.sin(angle)
        turned = shape @ np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]]) + [1.0, 0.0, -2.0]
        assert_allclose(fitted(shape, turned), turned, atol=1e-12)


def test_flatten_performance() -> None:
    """Guards the covered area of the flat towel, of one folded in half wherever it lies, and of one on end."""
    env = make("ClothFlatten")
    flat, side, r = env.task.towel.flat, env.config.size[0], 0.75 * env.config.spacing
    area, normalized = rate(env, flat)
    assert_allclose(area, side * side + 4 * side * r + np.pi * r * r, rtol=0.01)
    assert_allclose(normalized, 1.0, atol=0.02)
    folded = flat.copy()
    folded[..., 0] = np.abs(folded[..., 0])
    width = (side - env.config.spacing) / 2  # the middle of the towel is between two columns
    half = side * width + 2 * (side + width) * r + np.pi * r * r
    for shift in ([0.0, 0.0, 0.0], [0.3, 0.0, -0.2]):
        assert_allclose(rate(env, folded + shift)[0], half, rtol=0.04)  # the rim is made of arcs
    upright = flat.copy()
    upright[..., [0, 1]] = upright[..., [1, 0]] * [0.0, 1.0] + [0.0, 0.5]
    assert_allclose(rate(env, upright)[0], 2 * side * r + np.pi * r * r, rtol=0.04)


def test_fold_performance() -> None:
    """Guards both terms of folding: perfect, flat, shifted as a whole, and folded with a gap."""
    env = make("ClothFold")
    thickness = 2.0 * env.config.radius
    start = env.task.towel.shape(env.world, 0).astype(np.float64)
    pairs = start[:8][::-1] - start[8:]
    width = np.linalg.norm(pairs, axis=2).mean()
    assert_allclose(env.buffers.peek("performance")[0], -width, rtol=1e-5)
    perfect = start.copy()
    perfect[:8] = start[8:][::-1] + np.array([0.0, thickness, 0.0])
    assert_allclose(rate(env, perfect), (-thickness, 1.0), rtol=1e-4)
    assert_allclose(env.task.goals(env.world, 0), perfect, atol=1e-6)
    shifted = perfect + np.array([0.03, 0.0, 0.04])
    assert_allclose(rate(env, shifted)[0], -thickness - 1.2 * 0.05, rtol=1e-4)
    wide = perfect.copy()
    wide[:8, :, 1] += 0.1
    performance, normalized = rate(env, wide)
    assert_allclose(performance, -thickness - 0.1, rtol=1e-4)
    assert_allclose(normalized, 1.0 - 0.1 / (width - thickness), rtol=1e-4)


@pytest.mark.parametrize("reward_mode", ["dense", "sparse"])
def test_goals_are_rated_as_hindsight_rates_them(reward_mode: str) -> None:
    """Guards goal mode: rewards of other sizes, which compute_reward is not told, and what counts as perfect."""
    coarse = {"rows": 6, "columns": 6, "substeps": 4, "obs_mode": "goal", "reward_mode": reward_mode}
    env = make("ClothFold", 3, randomize={"size": (0.1, 3.0)}, **coarse)
    observation, _ = env.reset(seed=0, options={"parameters": {"size": [0.25, 1.0, 2.0]}})
    distances = observation["achieved_goal"] - observation["desired_goal"]
    distance = np.linalg.norm(distances.reshape(3, 9, 3), axis=2).mean(axis=1)
    observation, reward, _, _, info = env.step(np.zeros((3, 8), dtype=np.float32))
    assert_array_equal(reward, env.compute_reward(observation["achieved_goal"], observation["desired_goal"]))
    assert_allclose(info["performance"], -distance, atol=1e-3)
    if reward_mode == "sparse":
        assert_array_equal(info["at_goal"], distance < 0.05)
        assert reward.tolist() == [0.0, -1.0, -1.0]
    env = make("ClothFold", **coarse)
    assert_allclose(rate(env, env.task.goals(env.world, 0)), (0.0, 1.0), atol=1e-5)


def test_diagonal_pairs() -> None:
    """Guards which particles are to meet: mirror images at the diagonal, which is left out."""
    env = make("ClothFoldDiagonal", rows=6, columns=6)
    grid = env.task.towel.indices
    assert len(env.task.goal.upper) == len(env.task.goal.lower) == 15
    assert dict(zip(env.task.goal.upper, env.task.goal.lower, strict=True))[grid[0, 0]] == grid[5, 5]
    flat = env.scene.positions
    assert_allclose(flat[env.task.goal.upper][:, [0, 2]] + flat[env.task.goal.lower][:, [2, 0]], 0.0, atol=1e-12)
    with pytest.raises(ValueError, match="rows = columns"):
        make("ClothFoldDiagonal", rows=6, columns=5)
    with pytest.raises(ValueError, match="square"):
        make("ClothFoldDiagonal", rows=6, columns=6, size=(0.5, 0.4))


def test_counts_follow_from_the_size() -> None:
    """Guards which side rows and columns go with, and that particles are as far apart along both as they can be."""
    for given, counts in [
        ({"resolution": 10}, (7, 10)),
        ({}, (22, 32)),
        ({"rows": 5}, (5, 7)),
        ({"columns": 7}, (5, 7)),
        ({"rows": 4, "columns": 12}, (4, 12)),
    ]:
        config = ClothTaskConfig(size=(0.6, 0.4), **given)
        assert (config.rows, config.columns) == counts
    assert ClothTaskConfig(size=(0.4, 0.6), resolution=10).spacings == (0.4 / 6, 0.6 / 9)
    towel = ClothTaskConfig(size=(0.6, 0.4), rows=5)
    assert replace(config, rows=5, columns=7, resolution=None) == towel == replace(towel, friction=towel.friction)
    for contrary in ({"rows": 5}, {"columns": 5}, {"rows": 20, "columns": 20}):
        with pytest.raises(ValueError, match="resolution, or rows and columns, got resolution=10, rows="):
            ClothTaskConfig(resolution=10, **contrary)
    env = make("ClothFlatten", size=(0.6, 0.4), resolution=7)
    assert_allclose(np.ptp(env.task.towel.flat, axis=(0, 1)), [0.6, 0.0, 0.4], atol=1e-6)
    assert_allclose(rate(env, env.task.towel.flat)[0], env.task.area.flat, rtol=0.04)
    with pytest.raises(ValueError, match="at least 4, got 3 and 7"):
        ClothTaskConfig(size=(0.6, 0.2), resolution=7)
    for wrong in ((0.6, 0.0), (0.6, np.nan)):
        with pytest.raises(ValueError, match="size"):
            ClothTaskConfig(size=wrong)


@pytest.mark.parametrize(
    ("name", "floor"),
    [("Fold", 0.94), ("FoldDrop", 0.9), ("Drop", 0.9), ("Hang", 0.95), ("FoldCrumpled", 0.75)],
)
def test_expert_of_a_rectangle(name: str, floor: float) -> None:
    """Guards that plans do not take towels for squares."""
    env = make(f"Cloth{name}", 8, starts=8, size=(0.55, 0.4), rows=16)
    env.reset(seed=0, options={"split": "all", "variation": np.arange(8)})
    for _ in range(env.max_episode_steps):
        info = env.step(env.expert())[4]
    assert info["normalized_performance"].mean() >= floor, info["normalized_performance"]


def test_drop_performance() -> None:
    """Guards the distance from the places: none for the flat towel, and that of a shift."""
    env = make("ClothDrop")
    hanging = env.task.towel.shape(env.world, 0)
    assert (env.state.held.numpy()[0] == env.task.towel.corners[:2]).all()
    distance = np.linalg.norm(hanging - env.task.towel.flat, axis=2).mean()
    assert_allclose(env.buffers.peek("performance")[0], -distance, rtol=1e-5)
    assert_allclose(rate(env, env.task.towel.flat), (0.0, 1.0), atol=1e-6)
    performance, normalized = rate(env, env.task.towel.flat + np.array([0.0, 0.03, 0.04]))
    assert_allclose((performance, normalized), (-0.05, 1.0 - 0.05 / distance), rtol=1e-4)
    assert env.task.goals(env.world, 0)[..., 1].max() < 3 * env.config.radius  # on the ground, not in mid-air


def test_lowest() -> None:
    """Guards that pickers stay above the height that is asked for."""
    env = make("ClothDrop", lowest=0.5)
    down = np.array([[0, -1, 0, 1] * 2], dtype=np.float32)
    for _ in range(3):
        env.step(down)
    assert env.state.grip_positions.numpy()[0, :2, 1].min() >= 0.5 - 1e-6


def test_corrections_wait_for_a_learner() -> None:
    """Guards labels for learners: hands that stand still for a while, and let go by mistake, are shown how to go on."""
    env = make("ClothUnfold", 8, resolution=12, starts=8)
    correct = Corrections(env.task.expert, env.world)
    for step in range(env.max_episode_steps):
        hands = correct().reshape(env.num_envs, -1, 4)
        if 3 <= step < 9 or 20 <= step < 26:
            hands[..., :3] = 0.0
        if 20 <= step < 26:
            hands[..., 3] = -1.0
        *_, info = env.step(hands.reshape(env.num_envs, -1))
    assert info["is_success"].mean() >= 0.85  # 0.62 where the script goes on regardless


@pytest.mark.parametrize("name", ["ClothFlatten", "ClothUnfold"])
def test_starts_are_not_flat(name: str) -> None:
    """Guards that there is something to be done at the start."""
    env = make(name, 16, starts=20)
    start = env.state.get_positions()
    assert np.linalg.norm(start - env.scene.positions, axis=2).max(axis=1).min() > 0.1 * env.config.mean_side


@pytest.mark.parametrize(
    ("name", "closed", "resolution"),
    [
        ("ClothFlatten", False, {"resolution": 32}),
        ("ClothUnfold", False, {"resolution": 16}),
        ("ClothDrop", True, {"resolution": 32}),
        ("ClothFoldDrop", True, {"resolution": 32}),
        ("TShirtFold", False, {}),
    ],
)
def test_starts_are_at_rest(name: str, closed: bool, resolution: dict[str, int]) -> None:
    """Guards that what was left to settle does not jump when an episode begins; a few particles may tremble."""
    env = make(name, 16, starts=20, **resolution)
    start = env.state.get_positions()
    for _ in range(2):
        env.step(np.tile(np.float32([0.0, 0.0, 0.0, 1.0 if closed else -1.0]), (16, 2)))
    moved = np.linalg.norm(env.state.get_positions() - start, axis=2)
    # One heap of sixteen may be restless.
    ways, limit = np.sort(moved.mean(axis=1)), 2.0 * env.config.ctrl_dt * env.config.rest_speed
    assert ways[-2] < limit and ways[-1] < 3.0 * limit
    assert np.sort((moved > 0.2 * env.config.spacing).mean(axis=1))[-2] < 0.05


def test_a_fold_stays_folded_with_short_substeps() -> None:
    """Guards that corners which curl where the hands let go are not thrown, the faster the shorter the substep."""
    env = make("ClothFold", 8, substeps=128, starts=8)
    highest = []
    for _ in range(20):
        *_, info = env.step(env.expert())
        highest.append(env.state.get_positions()[..., 1].max(axis=1))
    assert info["is_success"].mean() == 1.0
    assert (np.diff(highest[12:], axis=0) < 0.002).all()  # one towel of eight rose by 90 mm by itself


def test_a_covered_corner_is_not_grasped_through_what_covers_it() -> None:
    """Guards the choice of what to take a heap by: two corners that are folded under are left alone."""
    env = make("ClothFlatten")
    x, radius, side = env.task.towel.flat.copy(), env.config.radius, env.config.mean_side
    under = x[..., 2] < -0.25 * side
    x[..., 1] = np.where(under, radius, 4.0 * radius)
    x[..., 2] = np.where(under, -0.5 * side - x[..., 2], x[..., 2])
    covered = env.task.towel.covered(x, CORNERS)
    assert (covered[:2] > 0).all() and (covered[2:] == 0).all()
    first = next(iter(env.task.spreading.first_taken(env.world, 0, x, np.zeros((2, 3)))))
    assert_allclose(np.sort(first.positions[:, 0]), np.sort(x[-1, [0, -1], 0]), atol=1e-6)
    assert_allclose(first.positions[:, 2], x[-1, [0, -1], 2], atol=1e-6)


def test_unfold_starts() -> None:
    """Guards the start states: none lies open or goes through itself, and the flat towel is perfect."""
    env = make("ClothUnfold", starts=20)
    edges = trimesh(env.scene.positions, env.task.towel.cloth.triangles).edges()
    assert max(crossings(x, env.task.towel.cloth.triangles, edges) for x in env.start_positions) == 0
    distance = np.linalg.norm(env.start_positions - env.scene.positions, axis=2).mean(axis=1)
    assert distance.min() > 0.1 * env.config.mean_side
    assert_allclose(rate(env, env.task.towel.flat), (0.0, 1.0), atol=1e-6)


def test_hang_goal() -> None:
    """Guards the shape over the rod: it touches it all round, is no longer than the towel, and off the ground."""
    env = make("ClothHang")
    goal, config = env.task.goal.of(env.world, 0)[env.task.towel.indices].astype(np.float64), env.config
    rod = env.scene.colliders[env.task.parts[1].collider]
    distance, _ = rod.signed_distance(goal.reshape(-1, 3))
    assert distance.min() > config.radius - 1e-6
    assert np.sum(np.abs(distance - config.radius) < 1e-6) >= 2 * config.columns
    steps = np.linalg.norm(np.diff(goal, axis=0), axis=2)
    assert (steps < config.spacing + 1e-6).all() and (steps > 0.8 * config.spacing).all()
    assert goal[..., 1].min() > 0.05
    assert_allclose(rate(env, goal), (0.0, 1.0), atol=1e-6)
    with pytest.raises(ValueError, match="rod_height"):
        make("ClothHang", rod_height=0.2)


def test_rod_goes_with_the_size() -> None:
    """Guards that the towel hangs over the rod in an environment of another size, too."""
    env = make("ClothHang", 4, randomize={"size": (0.7, 1.3)}, starts=20)
    env.reset(seed=0, options={"parameters": {"size": [0.8, 0.9, 1.1, 1.2]}})
    for _ in range(60):
        info = env.step(env.expert())[4]
    assert info["normalized_performance"].min() > 0.7, info["normalized_performance"]


def test_shirt_goal() -> None:
    """Guards the folded shirt: half as long, no wider than the chest, hem at the collar, and no two layers in one."""
    env = make("TShirtFold", starts=8)
    config, marks = env.config, env.task.shirt.landmarks
    goal = fitted(env.task.shirt.shape(env.world, 0), env.scene.positions, env.task.goal.of(env.world, 0))
    assert_allclose(np.ptp(goal[:, 0]), config.width, rtol=0.02)
    assert_allclose(np.ptp(goal[:, 2]), 0.5 * config.length, rtol=0.1)
    for side in ("left", "right"):
        hem, top, low = (goal[marks[f"{name}_{side}"]] for name in ("hem", "sleeve_top", "sleeve_low"))
        sign = 1.0 if side == "right" else -1.0
        assert_allclose(hem[[0, 2]], [sign * 0.5 * config.width, -0.5 * config.length], atol=0.01)
        assert sign * top[0] < 0.5 * config.width and sign * low[0] < 0.5 * config.width
        assert hem[1] > 2.0 * config.radius
    positions = env.state.get_positions()
    positions[:] = env.task.goal.of(env.world, 0)
    env.state.set_positions(positions)
    env._score.launch()
    assert_allclose(env.buffers.peek("performance")[0], 0.0, atol=1e-6)
    assert env.buffers.peek("start_performance")[0] < -0.1


@pytest.mark.parametrize(
    ("hands_at", "first"),
    [
        ("corners", lambda x: x[0, 0] + [0.0, 0.1, 0.0]),
        ("edge", lambda x: x[0, [0, -1]].mean(axis=0) * [1.0, 0.0, 1.0] + [0.15, 0.1, 0.0]),
        ("middle", lambda x: 0.5 * (x.min(axis=(0, 1)) + x.max(axis=(0, 1))) * [1.0, 0.0, 1.0] + [0.15, 0.1, 0.0]),
    ],
)
def test_where_hands_start(hands_at: str, first: Any) -> None:
    """Guards the places of hands in every environment, also after a reset, and the box that keeps them up."""
    box = (-0.3, 0.05, -0.4, 0.3, 0.2, 0.4)
    env = make("ClothFold", 3, hands_at=hands_at, hand_height=0.1, hand_gap=0.3, hand_box=box)
    for step in range(3):
        if step != 1:
            for k in range(3):
                assert_allclose(
                    env.state.grip_positions.numpy()[k, 0], first(env.task.towel.shape(env.world, k)), atol=1e-6
                )
            assert (env.state.held.numpy()[:3] < 0).all()
        env.step(np.tile(np.float32([1.0, -1.0, -1.0, -1.0]), (3, 2)))
        if step == 1:
            hands = env.state.grip_positions.numpy()[:3]
            assert hands.min(axis=(0, 1))[1] == np.float32(0.05) and hands[..., 0].max() <= np.float32(0.3)
            env.reset()


@pytest.mark.parametrize("hands_at", ["home", "drawn"])
def test_hands_away_from_what_they_grasp(hands_at: str) -> None:
    """Guards starts that have to be perceived: no particle in reach, the home one place, drawn ones all different."""
    env = make("ClothFold", 3, hands_at=hands_at)
    hands, x = env.state.grip_positions.numpy()[:3, :2], env.state.get_positions()
    assert np.linalg.norm(hands[:, :, None] - x[:, None], axis=3).min() > 2.0 * env.config.reach
    low, high = np.array(env.actions.hands.lower), np.array(env.actions.hands.upper)
    assert (hands >= low - 1e-6).all() and (hands <= high + 1e-6).all()
    assert (len(np.unique(hands[:, 0], axis=0)) == 1) == (hands_at == "home")
    held = make("ClothDrop", hands_at=hands_at)
    assert (held.state.held.numpy()[0, :2] == held.task.towel.corners[:2]).all()


def test_what_hangs_below_the_box_is_laid_on_the_ground() -> None:
    """Guards pickers that stay above the ground: what they hold below them comes down to it."""
    env = make("ClothFold", hands_at="corners", hand_height=0.05, hand_box=(-1, 0.05, -1, 1, 0.5, 1))
    for move in (0.0, 1.0, 1.0, -1.0, -1.0, -1.0):
        env.step(np.array([[0.0, move, 0.0, 1.0] * 2], dtype=np.float32))
    assert (env.state.held.numpy()[0] == env.task.towel.corners[:2]).all()
    assert_allclose(env.state.get_positions()[0, env.task.towel.corners[:2], 1], env.config.radius, atol=1e-4)
    with pytest.raises(ValueError, match="hands_at"):
        make("ClothFold", hands_at="nowhere")
    with pytest.raises(ValueError, match="hand_box"):
        make("ClothFold", hand_box=(1, 0, 0, 0, 1, 1))


def test_thin_towel_is_folded() -> None:
    """Guards ``thickness``: layers that lie so far apart, threads that hardly stretch, and the report of piercings."""
    env: Any = make("ClothFold", resolution=32, piercings=True)
    env.reset(seed=0)
    edges, strains = env.scene.constraints["line"].indices, []
    pairs = np.concatenate([np.stack([line[:-1], line[1:]], axis=1) for line in edges])
    rest = np.linalg.norm(np.diff(env.scene.positions[pairs], axis=1)[:, 0], axis=1)
    for _ in range(env.max_episode_steps):
        info = env.step(env.expert())[4]
        lengths = np.linalg.norm(np.diff(env.state.get_positions()[:, pairs], axis=2)[:, :, 0], axis=2)
        strains.append(np.percentile(lengths / rest - 1.0, 99))
    assert info["normalized_performance"].mean() > 0.95
    assert info["is_success"].all()
    assert (info["piercings"] == 0).all()
    assert np.mean(strains) < 0.03
    heights = env.state.get_positions()[:, env.task.towel.indices[2:5], 1]
    assert 1.0 < (np.median(heights) - env.config.radius) / env.config.thickness < 1.2


def test_thin_shirt_is_folded() -> None:
    """Guards ``thickness`` of a shirt: no panel goes through the other at the start, and jersey stretches little."""
    env: Any = make("TShirtFold", 8, starts=8)
    env.reset(seed=0, options={"split": "all", "variation": np.arange(8)})
    triangles, edges = env.scene.triangles, env.scene.particle_contacts[0].edges
    assert max(crossings(x, triangles, edges) for x in env.state.get_positions()) == 0
    rest, strains = np.linalg.norm(np.diff(env.scene.positions[edges], axis=1)[:, 0], axis=1), []
    for _ in range(env.max_episode_steps):
        info = env.step(env.expert())[4]
        lengths = np.linalg.norm(np.diff(env.state.get_positions()[:, edges], axis=2)[:, :, 0], axis=2)
        strains.append(np.percentile(lengths / rest - 1.0, 99))
    assert info["normalized_performance"].mean() > 0.9
    assert info["is_success"].mean() > 0.7
    assert np.mean(strains) < 0.04
    numbers = type(env.config)
    assert [numbers(**given).density for given in ({}, {"density": 0.2}, {"thickness": 0.0})] == [0.18, 0.2, 0.3]


def test_towel_of_balls_is_folded() -> None:
    """Guards ``thickness=0``: another towel, with room for balls at its crease."""
    env: Any = make("ClothFold", thickness=0.0)
    for _ in range(env.max_episode_steps):
        info = env.step(env.expert())[4]
    assert info["normalized_performance"].mean() > 0.95
