"""Environments that are awake share lanes for the time of a step: the same bits, and all back in their places."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.kernels.data.step import control_type, state_type
from pbd_gym.sim.control import Control
from pbd_gym.sim.model import Model
from pbd_gym.sim.packing import CONTACTS, CONTROL, STATE, Packed
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State
from tests.sim.test_sleep import DT, towel

ENVS, LANES, SETTLING = 14, 4, 60  # two lanes are idle
SCRATCH = {
    "grip_targets", "tethered", "tether_bounds", "tether_lengths", "tether_pull", "pull", "pushes", "untouched",
    "wrenches", "wrench_sums", "traction", "come", "support", "supported", "frames", "delta", "recent", "older",
    "lam_recent", "lam_older", "slept", "slept_memory", "packed", "contacts", "fluid", "rigid", "positions_scalar",
    "velocities_scalar", "tether_lengths_scalar", "frames_scalar",
}  # fmt: skip


class Batch:
    """Towels of which each differs from all others in everything that may differ."""

    def __init__(self, packs: bool, threads: int = 1) -> None:
        self.model = Model(towel(), ENVS, lanes=LANES)
        self.solver = Solver(
            self.model, substeps=8, threads=threads, quiet=True, sleep=True, grip_forces=True, iterations=2
        )
        self.solver.packs = packs
        self.state: State = self.solver.state()
        self.control: Control = self.solver.control()
        rng = np.random.default_rng(1)
        places = np.tile(self.model.scene.positions, (ENVS, 1, 1))
        self.state.set_positions(places + rng.uniform(-0.004, 0.004, places.shape))
        factors = np.linspace(0.9, 1.1, ENVS)
        self.state.set_parameters(
            size=factors, friction=factors[::-1], density=factors**2, stiffness=1.0 / factors, damping=factors,
            gravity=np.outer(factors, (0.0, -9.81, 0.0)),
        )  # fmt: skip
        pinned = np.zeros((ENVS, self.model.particle_count), dtype=bool)
        pinned[3, 4] = True
        self.state.set_pinned(pinned)

    def blow(self, which: int) -> None:
        """Let wind blow in one environment, force act in the next, a hand pull in the one after that, a ball move."""
        envs = np.arange(ENVS)
        self.control.set_wind((envs[:, None] == which) * np.array((0.5, 0.0, 0.2)))
        forces = np.zeros((ENVS, self.model.particle_count, 3))
        forces[(which + 1) % ENVS, :, 1] = 3e-4
        self.control.set_forces(forces)
        self.state.hold(np.where(envs == (which + 5) % ENVS, which, -1)[:, None])
        self.control.move(np.outer(envs + 1.0, (0.0, 2e-4, 1e-4))[:, None])
        self.control.move_collider(1, (envs == (which + 7) % ENVS)[:, None] * np.array((0.0, 1e-3 * which, 0.0)))

    def step(self, steps: int = 1) -> None:
        for _ in range(steps):
            self.solver.step(self.state, self.control, DT)

    def numbers(self) -> dict[str, np.ndarray]:
        """Return everything that can be asked of a state."""
        state = self.state
        return state.save() | {
            "forces": state.get_grip_forces(),
            "multipliers": state.get_lambda(),
            "piercings": state.get_piercings(),
            "diverged": state.diverged.numpy().copy(),
            "asleep": state.get_asleep(),
            "pinned": state.get_pinned(),
            "weights": state.inv_mass.numpy().copy(),
            "motion": self.control.motion.numpy().copy(),
        }


def test_packing_changes_no_bit_of_anything() -> None:
    """With one thread and with two, which pack half of the groups each."""
    batches = [Batch(False), Batch(True), Batch(True, threads=2)]
    asleep = []
    for turn in range(12):
        for batch in batches:
            batch.blow(turn % ENVS)
            batch.step(SETTLING if turn == 0 else 4)
        plain, *others = (batch.numbers() for batch in batches)
        asleep.append(plain["asleep"])
        for other in others:
            for name, values in plain.items():
                assert_array_equal(other[name], values, err_msg=name)
    groups = np.array(asleep)[:, :12].reshape(12, 3, LANES)
    assert (groups.any(axis=2) & ~groups.all(axis=2)).sum() > 12  # many a group has both


class Stop:
    """A launch that notes where everything is, and is interrupted."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.found: dict[str, np.ndarray] = {}

    def launch(self) -> None:
        self.found = self.state.save()
        raise KeyboardInterrupt


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_those_that_are_awake_fill_the_first_groups_and_an_interrupt_brings_them_back(dtype: Any) -> None:
    model = Model(towel(), ENVS, dtype=dtype, lanes=LANES)
    state, control = State(model), Control(model)
    places = np.random.default_rng(0).normal(size=(ENVS, model.particle_count, 3))
    state.set_positions(places)
    rest = np.full(model.group_count * LANES, 1.0)  # a long time at rest
    rest[[3, 6]] = 0.1
    memory = state.memory_scalar.numpy().copy()
    memory[:, model.rest_memory] = rest.reshape(-1, LANES)
    state.memory_scalar.assign(memory)
    state.hold(np.where(np.arange(ENVS) == 10, 2, -1)[:, None])
    control.move_collider(1, (np.arange(ENVS)[:, None] == 13) * np.array((0.0, 1e-9, 0.0)))
    before, stop = state.save(), Stop(state)
    with pytest.raises(KeyboardInterrupt):
        Packed([stop], state, control, 0, model.group_count).launch()
    now = np.array(
        [np.flatnonzero((before["positions"] == row).all(axis=(1, 2)))[0] for row in stop.found["positions"]]
    )
    assert set(now[:LANES]) == {3, 6, 10, 13}
    for name, values in state.save().items():
        assert_array_equal(values, before[name], err_msg=name)
        assert_array_equal(stop.found[name], before[name][now], err_msg=name)


def test_every_array_is_known_to_belong_to_an_environment_or_to_be_scratch() -> None:
    vec = Model(towel(), 1, lanes=LANES).vec
    state = state_type(vec).vars
    assert set(STATE) | SCRATCH == set(state) and not set(STATE) & SCRATCH
    assert set(CONTROL) | {"air", "emission"} == set(control_type(vec).vars)  # nothing with fluid sleeps
    lists = state["contacts"].type.vars
    slots = {name for name, each in lists.items() if each.type.dtype.__name__ == "int32" and each.type.ndim < 3}
    assert set(CONTACTS) | {"cells", "pierced", "stale", "pair_counts"} == slots
