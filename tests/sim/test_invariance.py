"""Same bits, whatever else is in the batch: lanes, threads, neighbours, order inside a colour, save and load."""

import dataclasses
import io
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.colliders import Plane, Sphere
from pbd_gym.kernels.lanes.wide import LANE_COUNTS
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.coloring import batches, dependency_levels, find_conflict
from pbd_gym.sim.control import Control
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver, shared_particles
from pbd_gym.sim.state import State

ENVS = 100
STEPS = 4
SUBSTEPS = 6


def make_scene(permutation: np.ndarray | None = None) -> Scene:
    """A cloth over a ball and a floor, with two hands; its constraints reordered if a permutation is given."""
    scene = Scene(grip_count=2)
    cloth = scene.add_cloth(5, 6, size=(0.5, 0.4), position=(0.0, 0.42, 0.05), tethers=True, lines=False)
    scene.pin(cloth.corners[0])
    scene.add_collider(Plane(friction=0.4))
    scene.add_collider(Sphere((0.05, 0.1, 0.0), 0.12, friction=0.3))
    if permutation is not None:
        batch = scene.constraints.pop("distance")
        values = {name: np.concatenate(parts)[permutation] for name, parts in batch.values.items()}
        scene.add_constraints("distance", np.concatenate(batch.indices)[permutation], **values)
    return scene


def bits(array: np.ndarray) -> np.ndarray:
    """Its numbers as integers, so that equal means equal, and -0.0 is not 0.0."""
    return np.ascontiguousarray(array).view(f"u{array.itemsize}")


def place(state: State, rows: Sequence[int]) -> None:
    """Give each environment a start of its own: row ``r`` of a fixed table."""
    rng = np.random.default_rng(7)
    rest = state.model.scene.positions
    state.set_positions((rest + rng.normal(scale=0.01, size=(ENVS, *rest.shape)))[list(rows)])
    state.set_velocities(rng.normal(scale=0.3, size=(ENVS, *rest.shape))[list(rows)])


def drive(state: State, control: Control, rows: Sequence[int], step: int) -> None:
    """Set the hands of each environment for a step: what they hold and where they go, row ``r`` of a fixed table."""
    rng = np.random.default_rng([8, step])
    held = np.argsort(rng.random((ENVS, state.model.particle_count)), axis=1)[:, :2]
    held[rng.random(held.shape) < 0.3] = -1
    state.hold(held[list(rows)])
    control.move(rng.normal(scale=0.02, size=(ENVS, 2, 3))[list(rows)])


def simulate(rows: Sequence[int], scene: Scene | None = None, **options: Any) -> dict[str, np.ndarray]:
    """Run the starts and hands of the given rows; return all that a step changes, one row per environment."""
    chosen = {key: options.pop(key) for key in ("threads", "iterations") if key in options}
    model = Model(scene or make_scene(), num_envs=len(rows), **options)
    solver = Solver(model, substeps=SUBSTEPS, **{"threads": 1, **chosen})
    state, control = solver.state(), solver.control()
    place(state, rows)
    for step in range(STEPS):
        drive(state, control, rows, step)
        solver.step(state, control, 0.02)
    found = state.save()
    del found["parameters"]  # nothing varies here, and a scene in another order has other labels
    if solver.options.keep_lambda:
        found["lam"] = state.get_lambda()
    assert not state.diverged.numpy()[: len(rows)].any()
    return found


def assert_same_bits(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray], rows: Sequence[int]) -> None:
    assert found.keys() == wanted.keys()
    for key, value in found.items():
        assert_array_equal(bits(value), bits(wanted[key][list(rows)]), err_msg=key)


@pytest.fixture(scope="module", params=["float32", "float64"])
def reference(request: pytest.FixtureRequest) -> tuple[str, dict[str, np.ndarray]]:
    """All rows, each run alone in a batch of one environment and one lane."""
    singles = [simulate([row], dtype=request.param, lanes=1) for row in range(ENVS)]
    whole = {key: np.concatenate([single[key] for single in singles]) for key in singles[0]}
    assert len(np.unique(bits(whole["positions"])[:, 8, 1])) == ENVS  # the environments do differ
    x = whole["positions"]
    radius = make_scene().contact_radius
    assert (x[..., 1] < radius + 1e-5).any(axis=1).sum() > 5  # some lie on the floor
    assert (np.linalg.norm(x - [0.05, 0.1, 0.0], axis=-1) < 0.12 + radius + 1e-5).any(axis=1).sum() > 10
    return request.param, whole


@pytest.mark.parametrize("lanes", LANE_COUNTS)
@pytest.mark.parametrize("num_envs", [1, 5, 16, 100])
def test_batch_size_and_lanes(reference: tuple[str, dict[str, np.ndarray]], num_envs: int, lanes: int) -> None:
    """Guards lane-wise arithmetic and idle lanes: an environment has the bits that it has alone."""
    dtype, single = reference
    assert_same_bits(simulate(range(num_envs), dtype=dtype, lanes=lanes), single, range(num_envs))


@pytest.mark.parametrize("lanes", [4, 16])
def test_place_in_the_batch(reference: tuple[str, dict[str, np.ndarray]], lanes: int) -> None:
    """Guards the addressing of lanes: the same environment in another group and lane has the same bits."""
    dtype, single = reference
    rows = np.random.default_rng(9).permutation(ENVS)[:37].tolist()
    assert_same_bits(simulate(rows, dtype=dtype, lanes=lanes), single, rows)


@pytest.mark.parametrize(("num_envs", "lanes"), [(5, 1), (37, 4), (100, 16)])
@pytest.mark.parametrize("threads", [2, 3])
def test_threads(reference: tuple[str, dict[str, np.ndarray]], num_envs: int, lanes: int, threads: int) -> None:
    """Guards the split of groups over threads: none left out, none done twice."""
    dtype, single = reference
    assert_same_bits(simulate(range(num_envs), dtype=dtype, lanes=lanes, threads=threads), single, range(num_envs))


@pytest.mark.parametrize("iterations", [1, 2])
def test_substeps_are_steps(iterations: int) -> None:
    """Guards the pass that joins two substeps: one step of four has the bits of four steps of one."""
    found = []
    for substeps, steps in ((4, 3), (1, 12)):
        solver = Solver(Model(make_scene(), num_envs=5), substeps=substeps, iterations=iterations, damping=2.0)
        state, control = solver.state(), solver.control()
        place(state, range(5))
        for _ in range(steps):
            solver.step(state, control, 0.005 * substeps)
        found.append(state.save())
    assert_same_bits(found[0], found[1], range(5))


@pytest.mark.parametrize("order", ["colored", "given"])
@pytest.mark.parametrize("lanes", [4, 16])
def test_multipliers_of_several_iterations(order: str, lanes: int) -> None:
    """Guards the storage of multipliers: lanes change no bit with several iterations, in either order."""
    single = simulate(range(21), iterations=3, order=order, lanes=1)
    assert_same_bits(simulate(range(21), iterations=3, order=order, lanes=lanes, threads=2), single, range(21))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_constraints_of_a_colour_at_once(dtype: Any) -> None:
    """Guards a lone environment: 32 springs at once, 16, 8 and the last ones have the bits of one after the other.

    Two iterations, of which the second goes backwards.
    """
    scene = Scene(grip_count=1)
    cloth = scene.add_cloth(11, 15, size=(0.5, 0.6), position=(0.0, 0.5, 0.0), lines=False)
    scene.pin(cloth.corners[0])
    found = []
    for lanes in (1, 4):
        model = Model(scene, lanes=lanes, dtype=dtype)
        solver = Solver(model, substeps=3, iterations=2, method="symmetric", threads=1)
        if lanes == 1:
            sizes = np.diff(model.bounds["distance"])
            assert sizes.min() >= 32 and solver.options.packed
            assert all(((sizes & last) > 0).any() for last in (16, 8, 7))  # what is left after 32 and so on
        state, control = solver.state(), solver.control()
        rest = scene.positions
        state.set_positions(rest + np.random.default_rng(3).normal(scale=0.01, size=rest.shape))
        state.hold([[7]])
        control.move([[[0.01, 0.02, 0.0]]])
        for _ in range(2):
            solver.step(state, control, 0.02)
        found.append({**state.save(), "lam": state.get_lambda()})
        del found[-1]["parameters"]
    assert_same_bits(found[0], found[1], [0])


def test_order_inside_a_color_changes_no_bit() -> None:
    """Guards the colouring: constraints of a colour commute, so that a GPU may take them at once."""
    model = Model(make_scene(), order="colored")
    order, bounds = model.constraint_order["distance"], model.bounds["distance"]
    rng = np.random.default_rng(10)
    shuffled = np.concatenate([rng.permutation(order[a:b]) for a, b in pairwise(bounds)])
    scene = make_scene(shuffled)
    other = Model(scene, order="colored")
    assert_array_equal(other.bounds["distance"], bounds)
    assert_array_equal(other.constraint_order["distance"], np.arange(len(order)))  # swept as shuffled
    assert (shuffled != order).mean() > 0.5
    plain = simulate(range(4), iterations=3)
    found = simulate(range(4), scene, iterations=3)
    found["lam"][:, shuffled] = found["lam"].copy()  # back to the order in which make_scene() adds them
    assert_same_bits(found, plain, range(4))


def test_order_across_colors_does_change_bits() -> None:
    """Guards the test above, which must be able to fail: reversing the colours is another sweep."""
    order = Model(make_scene(), order="colored").constraint_order["distance"]
    plain = simulate([0], order="colored")
    found = simulate([0], make_scene(order[::-1]), order="given")
    assert (bits(found["positions"]) != bits(plain["positions"])).any()


def test_level_schedule_equals_the_given_order() -> None:
    """Guards `dependency_levels`, which stands for order="given" on CUDA: the same bits as one after the other."""
    scene = make_scene()
    indices = np.concatenate(scene.constraints["distance"].indices)
    permutation, bounds = batches(dependency_levels(indices, scene.particle_count))
    assert find_conflict(indices[permutation], bounds) is None
    assert (permutation != np.arange(len(permutation))).any()
    plain = simulate(range(4), order="given", iterations=3)
    found = simulate(range(4), make_scene(permutation), order="given", iterations=3)
    found["lam"][:, permutation] = found["lam"].copy()
    assert_same_bits(found, plain, range(4))


def run_from(saved: dict[str, np.ndarray], count: int, rows: np.ndarray | None, lanes: int) -> dict[str, np.ndarray]:
    """Load into a fresh state that held something else before, and continue by two steps without changing the grip."""
    solver = Solver(Model(make_scene(), num_envs=count, lanes=lanes), substeps=SUBSTEPS, iterations=2, threads=1)
    state, control = solver.state(), solver.control()
    place(state, range(count))
    drive(state, control, range(count), 77)
    solver.step(state, control, 0.02)
    state.load(saved, rows)
    control.move([[0.01, 0.02, -0.01], [0.0, 0.015, 0.01]])
    for _ in range(2):
        solver.step(state, control, 0.02)
    return state.save()


def test_save_and_load_are_exact() -> None:
    """Guards forgotten state: a loaded batch goes on with the same bits, via a file without pickle, and branched."""
    count, lanes = 10, 4
    solver = Solver(Model(make_scene(), num_envs=count, lanes=lanes), substeps=SUBSTEPS, iterations=2, threads=1)
    state, control = solver.state(), solver.control()
    place(state, range(count))
    for step in range(2):
        drive(state, control, range(count), step)
        solver.step(state, control, 0.02)
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **state.save())
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        saved = {key: stored[key] for key in stored.files}
    assert_same_bits(saved, state.save(), range(count))
    assert (saved["held"] >= 0).any()

    control.move([[0.01, 0.02, -0.01], [0.0, 0.015, 0.01]])
    for _ in range(2):
        solver.step(state, control, 0.02)
    wanted = state.save()
    assert_same_bits(run_from(saved, count, None, lanes=4), wanted, range(count))
    rows = np.array([3, 3, 0, 9, 3, 1])
    assert_same_bits(run_from(saved, len(rows), rows, lanes=1), wanted, rows.tolist())


def test_reset_forgets_everything() -> None:
    """Guards reset: after it, a run has the bits of a fresh state; nothing is held and no multiplier lives on."""
    solver = Solver(Model(make_scene(), num_envs=5, lanes=4), substeps=SUBSTEPS, iterations=2, threads=1)
    used, fresh, control, still = solver.state(), solver.state(), solver.control(), solver.control()
    drive(used, control, range(5), 0)
    solver.step(used, control, 0.02)
    used.reset()
    solver.step(used, still, 0.02)
    solver.step(fresh, still, 0.02)
    assert_same_bits(used.save(), fresh.save(), range(5))


@pytest.mark.parametrize("lanes", [1, 4])
def test_runaway_environment_is_named_and_harms_no_other(lanes: int) -> None:
    """Guards the flag, and lanes next to an overflow: infinities and NaN stay in their own environment."""
    results = []
    for wild in (False, True):
        solver = Solver(Model(make_scene(), num_envs=6, lanes=lanes), substeps=SUBSTEPS, threads=1)
        state = solver.state()
        place(state, range(6))
        if wild:  # past the setter, which refuses such a speed
            group, lane = divmod(4, lanes)
            state.velocities_scalar.numpy()[group, :, :, lane] = 1e38
        solver.step(state, solver.control(), 0.02)
        assert_array_equal(state.diverged.numpy()[:6], [0, 0, 0, 0, int(wild), 0])
        results.append({key: np.delete(value, 4, axis=0) for key, value in state.save().items()})
    assert_same_bits(results[1], results[0], range(5))


@pytest.mark.parametrize("lanes", [1, 4])
def test_nan_counts_as_diverged(lanes: int) -> None:
    """Guards the comparison with the speed limit: a NaN compares as false, and must be named all the same."""
    scene = Scene()
    scene.add_particles([[0.0, 0.0, 0.0]], 1.0)
    solver = Solver(Model(scene, num_envs=3, lanes=lanes), substeps=6, far=1e6)
    state = solver.state()
    velocities = np.zeros((3, 1, 3), dtype=np.float32)
    group, lane = divmod(1, lanes)
    state.velocities_scalar.numpy()[group, :, :, lane] = 3e38  # past the setter, which refuses such a speed
    solver.step(state, solver.control(), 60.0)  # the position overflows, and infinity minus infinity is NaN
    assert np.isnan(state.get_velocities()[1]).all()
    assert_array_equal(state.diverged.numpy()[:3], [0, 1, 0])
    state.reset()
    solver.step(state, solver.control(), 0.1)
    assert_array_equal(state.diverged.numpy()[:3], [0, 0, 0])
    velocities[1] = 1.1e3  # above the limit, then below it: the flag speaks of the last step alone
    state.set_velocities(velocities)
    for speeding in (1, 0):
        solver.step(state, solver.control(), 0.1)
        assert_array_equal(state.diverged.numpy()[:3], [0, speeding, 0])
        state.set_velocities(np.zeros(3))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("lanes", [1, 4])
def test_held_particles_keep_to_their_path(dtype: str, lanes: int) -> None:
    """Guards dragging: a straight path at constant speed whatever pulls or damps, and to the last bit at its end.

    `previous` is where a particle was one substep before the end. Substeps add up to rounding: 7 eps of about 1 m.
    """
    substeps, ctrl_dt = 7, 0.05
    eps = float(np.finfo(dtype).eps)
    scene = make_scene()
    solver = Solver(Model(scene, num_envs=6, lanes=lanes, dtype=dtype), substeps=substeps, damping=30.0)  # type: ignore[arg-type]
    state, control = solver.state(), solver.control()
    place(state, range(6))
    held = np.array([[0, 7], [3, -1], [29, 12], [5, 6], [-1, 20], [11, 0]])
    motion = np.random.default_rng(11).normal(scale=0.05, size=(6, 2, 3)).astype(dtype)
    state.hold(held)
    control.move(motion)
    started = state.get_positions()
    solver.step(state, control, ctrl_dt)
    found, speed = state.get_positions(), state.get_velocities()
    previous = state.previous.numpy().reshape(-1, *found.shape[1:], lanes)
    for env, grip in zip(*np.nonzero(held >= 0), strict=True):
        particle, path = held[env, grip], motion[env, grip]
        assert_array_equal(bits(found[env, particle]), bits(started[env, particle] + path))
        assert_allclose(speed[env, particle], path / ctrl_dt, rtol=10 * eps)
        before = previous[env // lanes, particle, :, env % lanes]
        wanted = started[env, particle] + path * (substeps - 1) / substeps
        assert_allclose(before, wanted, rtol=0, atol=substeps * 2 * eps)
    assert_allclose(state.save()["grip_positions"], motion, rtol=0, atol=0)  # hands start at the origin


@pytest.mark.gpu
@pytest.mark.parametrize("order", ["colored", "given"])
@pytest.mark.parametrize("lanes", [1, 4])
def test_cuda_agrees_with_the_cpu(cuda_device: str, lanes: int, order: str) -> None:
    """Guards barriers and strides, which only run in a block of several threads.

    Single precision may round differently there (fused multiply-adds). What rounding does to this scene is measured: it
    is the deviation of single from double precision on the CPU, and four times that is allowed, as for the oracles.
    """
    rows = range(21)
    options: dict[str, Any] = {"lanes": lanes, "order": order, "iterations": 2}
    on_cpu, exact = simulate(rows, **options), simulate(rows, dtype="float64", **options)
    on_gpu = simulate(rows, device=cuda_device, **options)
    for key in ("positions", "velocities", "lam", "grip_positions"):
        rounding = np.abs(on_cpu[key] - exact[key]).max()
        assert_allclose(on_gpu[key], exact[key], rtol=0, atol=4 * rounding, err_msg=key)
    assert_array_equal(on_gpu["held"], on_cpu["held"])
    # And the promises hold there: the same bits again, and alone.
    assert_same_bits(simulate(rows, device=cuda_device, **options), on_gpu, rows)
    assert_same_bits(simulate([5], device=cuda_device, **options), on_gpu, [5])


def test_memory_of_a_block_changes_no_bit() -> None:
    """Guards what CUDA does with positions: in the memory of the block for a step, they end as they would at home."""

    def run(shared: bool) -> tuple[np.ndarray, np.ndarray]:
        model = Model(make_scene(), 6, lanes=4)
        solver = Solver(model, 5, iterations=2, threads=1)
        if shared:
            solver.options = dataclasses.replace(solver.options, shared=shared_particles(model))
            assert solver.options.shared == model.particle_count
        state, control = solver.state(), solver.control()
        state.hold(np.tile([5, -1], (6, 1)))
        control.move([[0.01, 0.0, 0.0], [0.0, 0.0, 0.0]])
        for _ in range(10):
            solver.step(state, control, 1 / 60)
        return state.get_positions(), state.get_velocities()

    for home, block in zip(run(False), run(True), strict=True):
        assert_array_equal(home, block)
