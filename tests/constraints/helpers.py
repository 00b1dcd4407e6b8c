"""Reference solves and runs in tests/data/constraints, and the engine driven through the same."""

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warp as wp

from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.step import model_data
from pbd_gym.kernels.lanes.wide import wide
from pbd_gym.kernels.native import MODULE_OPTIONS
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver

DATA = Path(__file__).parent.parent / "data" / "constraints"
UNSHIPPED = Path(__file__).parents[3] / "shared" / "oracles"
DTYPES = ("float64", "float32")
lanes_and_dtypes = pytest.mark.parametrize(
    ("lanes", "dtype"), [(1, "float32"), (1, "float64"), (4, "float64"), (16, "float32")]
)
"""For what is compared with a reference. All lane counts give the same bits: `test_every_kind.py` sees to that."""
NO_GRAVITY = (0.0, 0.0, 0.0)
EPS = {dtype: float(np.finfo(dtype).eps) for dtype in DTYPES}
KIND_DISTANCE = 0
"""Number of the distance constraints in `c_type` of the files."""


@functools.cache
def load(name: str) -> dict[str, Any]:
    """Load ``tests/data/constraints/<name>.npz``, or what must not be shipped from the folder of all oracles.

    ``meta`` comes as a dictionary. Where that folder is absent the test is skipped.
    """
    path = next((p for p in (DATA / f"{name}.npz", UNSHIPPED / f"{name}.npz") if p.exists()), None)
    if path is None:
        pytest.skip(f"{name}.npz is not here: its mesh has no licence to ship")
    with np.load(path, allow_pickle=False) as file:
        arrays: dict[str, Any] = {key: file[key] for key in file.files}
    arrays["meta"] = json.loads(str(arrays["meta"]))
    return arrays


def rotations(count: int) -> np.ndarray:
    """Random rotations, the first of them none, shape (count, 3, 3)."""
    q, r = np.linalg.qr(np.random.default_rng(5).normal(size=(count, 3, 3)))
    q = q * np.sign(np.einsum("nii->ni", r))[:, None]
    q[:, :, 0] *= np.linalg.det(q)[:, None]
    q[0] = np.eye(3)
    return q


@functools.cache
def make_sweep_kernel(lanes: int, scalar: Any, kind: Any, kinds: tuple[Any, ...]) -> Any:
    """Build a kernel that does one sweep over the constraints of one kind, and nothing else of a step."""
    wide_ = wide(lanes, scalar)
    vec = wide_.vec
    data = model_data(scalar, kinds, False)
    body_ = body_type(vec)
    sweep = kind.make_sweep(wide_, data, SweepOptions(keep_lambda=True))

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS, enable_backward=False)
    def sweep_once(
        model: data,
        x: wp.array3d[vec],
        inv_mass: wp.array2d[vec],
        lam: wp.array2d[vec],
        inv_h: scalar,
        iteration: int,
    ):
        group = wp.tid()
        body = body_()
        body.x = x[group]
        body.inv_mass = inv_mass[group]
        body.lam = lam[group]
        sweep(model, body, inv_h, iteration, -1, 0, 1)

    return sweep_once


class Sweeper:
    """The constraints of a scene alone: no prediction, no velocities. One environment for each lane of one group."""

    def __init__(self, scene: Scene, lanes: int, dtype: Any) -> None:
        self.model = Model(scene, num_envs=lanes, dtype=dtype, order="given", lanes=lanes)
        self.state = Solver(self.model, substeps=10, iterations=2).state()

    def set_lambda(self, values: np.ndarray) -> None:
        """Set the multipliers of every environment, in the order of the constraints, shape (m,)."""
        self.state.lam.assign(np.broadcast_to(values[None, :, None], (1, len(values), self.model.lanes)))

    def sweep(self, positions: np.ndarray, inv_h: float, iteration: int) -> np.ndarray:
        """Return positions after one sweep over all kinds; multipliers are kept from the last one unless iteration 0.

        Args:
            positions: [m], shape (envs, n, 3).
            inv_h: 1 / h [1/s].
            iteration: number of the sweep in its substep.
        """
        model, state = self.model, self.state
        state.set_positions(positions)
        for kind in model.kinds:
            kernel = make_sweep_kernel(model.lanes, model.scalar, kind, model.kinds)
            wp.launch(
                kernel, dim=1, device="cpu",
                inputs=[model.data, state.positions, state.inv_mass, state.lam, inv_h, iteration],
            )  # fmt: skip
        return state.get_positions()


def make_elements(kind: str, rest: np.ndarray, weights: np.ndarray, **parameters: Any) -> Scene:
    """Build a scene of elements that share no particle.

    Args:
        kind: of the constraints.
        rest: [m], shape (m, k, 3).
        weights: inverse masses [1/kg], shape (m, k), 0 is pinned.
        **parameters: of the constraints.
    """
    scene = Scene(gravity=NO_GRAVITY)
    flat = weights.reshape(-1)
    scene.add_particles(rest.reshape(-1, 3), 1.0 / np.where(flat > 0, flat, 1.0))
    scene.pin(np.flatnonzero(flat == 0))
    scene.add_constraints(kind, np.arange(flat.size).reshape(weights.shape), **parameters)
    return scene


@dataclass(frozen=True)
class Solved:
    """What one solve of every element gave."""

    corrections: np.ndarray
    """[m], shape (envs, m, k, 3)."""
    multipliers: np.ndarray
    """Shape (envs, m)."""


def solve(scene: Scene, points: np.ndarray, multipliers: np.ndarray, lanes: int, dtype: Any) -> Solved:
    """Project every element once, with h = 1 s, in environments that are each turned another way.

    Args:
        scene: of :func:`make_elements`.
        points: [m], shape (m, k, 3).
        multipliers: accumulated before this solve, shape (m,).
        lanes: environments.
        dtype: precision.
    """
    sweeper = Sweeper(scene, lanes, dtype)
    turn = rotations(lanes)
    before = np.einsum("eij,nj->eni", turn, points.reshape(-1, 3)).astype(dtype)
    sweeper.set_lambda(multipliers)
    after = sweeper.sweep(before, 1.0, 1)  # iteration 1: goes on from the multipliers given
    shift = np.einsum("eji,enj->eni", turn, after.astype(np.float64) - before)
    return Solved(shift.reshape(lanes, *points.shape), sweeper.state.get_lambda().astype(np.float64))


def in_groups(oracle: dict[str, Any]) -> list[np.ndarray]:
    """Split the constraints of a pypbd file into stretches that sweep distance constraints first, then the others.

    Its colours mix kinds, and an engine that sweeps kind after kind has another order. Inside a colour no particle is
    shared, so the order there is free.
    """
    groups: list[list[int]] = [[]]
    other = False
    for start, end in zip(oracle["color_ptr"][:-1], oracle["color_ptr"][1:], strict=True):
        members = np.arange(start, end)
        is_distance = oracle["c_type"][members] == KIND_DISTANCE
        if other and is_distance.any():
            groups.append([])
            other = False
        groups[-1] += [*members[is_distance], *members[~is_distance]]
        other = other or not is_distance.all()
    return [np.array(group) for group in groups]


def run_pypbd(
    oracle: dict[str, Any], kind: str, parameters: Any, lanes: int, dtype: Any, frames: int | None = None
) -> np.ndarray:
    """Advance a pypbd scene with the engine's sweeps; return positions at its stored steps, (frames, lanes, n, 3).

    Args:
        oracle: the file.
        kind: of the constraints that are no distance constraints.
        parameters: what ``add_constraints`` takes for these, from their rows of `c_params`.
        lanes: environments.
        dtype: precision.
        frames: how many of the stored steps.
    """
    weights = oracle["inv_mass"]
    sweepers = []
    for members in in_groups(oracle):
        scene = Scene()
        scene.add_particles(oracle["rest"], 1.0 / np.where(weights > 0, weights, 1.0))
        scene.pin(np.flatnonzero(weights == 0))
        is_distance = oracle["c_type"][members] == KIND_DISTANCE
        pairs, others = members[is_distance], members[~is_distance]
        rest, stiffness = oracle["c_params"][pairs, :2].T
        scene.add_distance_constraints(oracle["c_bodies"][pairs, :2], 1.0 / stiffness, rest)
        if len(others):
            indices, extra = parameters(oracle["c_bodies"][others], oracle["c_params"][others])
            scene.add_constraints(kind, indices, **extra)
        sweepers.append(Sweeper(scene, lanes, dtype))
    h = float(oracle["dt"]) / int(oracle["substeps"])
    free = (weights > 0)[:, None]
    x = np.broadcast_to(oracle["x0"], (lanes, *oracle["x0"].shape)).astype(dtype)
    v = np.broadcast_to(oracle["v0"], x.shape).astype(dtype)
    fall = (free * oracle["gravity"] * h).astype(dtype)
    found = [x]
    steps = oracle["steps"][:frames]
    for step in range(1, steps[-1] + 1):
        for _ in range(int(oracle["substeps"])):
            before = x
            x = before + np.dtype(dtype).type(h) * (v + fall)
            for iteration in range(int(oracle["iterations"])):
                for sweeper in sweepers:
                    x = sweeper.sweep(x, 1.0 / h, iteration)
            v = (x - before) * np.dtype(dtype).type(1.0 / h)
        if step == steps[len(found)]:
            found.append(x)
    return np.stack(found)


def run_tets(oracle: dict[str, Any], lanes: int, dtype: Any, frames: int | None = None) -> np.ndarray:
    """Advance a tetrahedral scene with the engine; return positions at its stored steps, (frames, lanes, n, 3).

    The program's floor is not a collider of the engine: where the prediction is below the floor, the particle is put at
    its last height times minus the restitution (by floor rule 1, to the floor) before the constraints are solved. A
    velocity that leads there in this step does the same. Its impulses are forces on single particles.
    """
    weights, h = oracle["inv_mass"], float(oracle["dt"])
    scene = Scene(gravity=oracle["gravity"])
    scene.add_particles(oracle["x0"], 1.0 / weights, oracle["v0"])
    scene.add_distance_constraints(oracle["edges"], float(oracle["edge_compliance"]), oracle["rest_len"])
    # The program's C is six times the volume.
    scene.add_constraints(
        "tet_volume", oracle["tets"], compliance=float(oracle["volume_compliance"]) / 36.0,
        rest_volume=oracle["rest_vol"],
    )  # fmt: skip
    model = Model(scene, num_envs=lanes, dtype=dtype, order="given", lanes=lanes)
    solver = Solver(model, substeps=1)
    state, control = solver.state(), solver.control()
    steps = oracle["steps"][:frames]
    found = [state.get_positions()]
    for step in range(steps[-1]):
        x, v = state.get_positions(), state.get_velocities()
        changed = False
        for start, count, particle, force, central in oracle["events"]:
            if start <= step < start + count:
                i = int(particle)
                direction = np.array([0.0, 1.0, 0.0])
                if central:
                    direction = -x[:, i]  # towards the origin, and the weaker the nearer
                v[:, i] += h * weights[i] * force * direction
                changed = True
        below = (x + h * (v + h * oracle["gravity"]))[..., 1] < float(oracle["floor"])
        if below.any():
            bounce = 0.0 if int(oracle["floor_rule"]) == 1 else -float(oracle["restitution"])
            target = x * np.array([1.0, bounce, 1.0])
            v = np.where(below[..., None], (target - x) / h - h * oracle["gravity"], v)
            changed = True
        if changed:
            state.set_velocities(v)
        solver.step(state, control, h)
        if step + 1 == steps[len(found)]:
            found.append(state.get_positions())
    return np.stack(found)
