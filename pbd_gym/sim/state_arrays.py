"""The arrays of a state: what a step changes, and its scratch memory."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.kernels.particle_contact_data import lists_type
from pbd_gym.kernels.poses import FRAMES
from pbd_gym.kernels.step_data import state_type
from pbd_gym.sim.memory_usage import count_memory
from pbd_gym.sim.model import Model
from pbd_gym.sim.parameters import Parameters


def contact_lists(model: Model) -> Any:
    """Make the lists of particle contacts: empty ones, and anchors so far off that the first step searches."""
    lists = lists_type(model.vec)()
    table = model.data.particle_contacts if model.contact_count else None
    groups, count, capacity = (model.group_count, model.contact_count, table.capacity) if table else (1, 1, 1)
    cells = 2 ** (3 * table.bits) if table else 1
    lists.near = wp.zeros((groups, count, capacity), dtype=wp.int32)
    lists.touching = wp.zeros((groups, count, capacity), dtype=wp.int32)
    lists.counts = wp.zeros((groups, 2, count), dtype=wp.int32)
    lists.valence = wp.zeros((groups, count), dtype=model.vec)
    lists.anchors = wp.full((groups, count, 3), model.vec(1e18), dtype=model.vec)
    grid = cells + 1 + 2 * count if model.in_blocks else model.lanes * (cells + 4 * count)
    lists.cells = wp.zeros((groups, grid), dtype=wp.int32)
    chunks = -(-count // 16) if table else 0
    lists.sorted = wp.zeros((groups, 3 * count if model.in_blocks else 48 * model.lanes * chunks), dtype=model.scalar)
    lists.stale = wp.full(groups, 1, dtype=wp.int32)
    lists.overflow = wp.zeros(model.group_count * model.lanes, dtype=wp.int32)
    return lists


class StateArrays:
    """Device arrays of everything that a step changes, for all environments of a model.

    Lane ``l`` of group ``g`` is environment ``g * lanes + l``; the last group may have idle lanes.

    Args:
        model: the constants it belongs to.
        keep_lambda: whether multipliers are stored, which more than one iteration needs.
        gathers: whether there is memory for the corrections of Jacobi iterations.
        extrapolates: whether there is memory for the two last iterations, which Chebyshev acceleration needs.
        packs: whether there is memory for positions in rows with their weights.
    """

    def __init__(
        self,
        model: Model,
        keep_lambda: bool = True,
        gathers: bool = False,
        extrapolates: bool = False,
        packs: bool = False,
    ) -> None:
        self.model = model
        self.keep_lambda = keep_lambda
        self.has_multipliers = keep_lambda
        """Whether the solver of the last step stored multipliers."""
        self._gathers, self._extrapolates, self._packs = gathers, extrapolates, packs
        groups, particles, grips = model.group_count, model.particle_count, model.grip_count
        slots = groups * model.lanes
        self._check_memory(keep_lambda, gathers, extrapolates, packs)
        with wp.ScopedDevice(model.device):
            shape = (groups, particles, 3)
            self.positions = wp.empty(shape, dtype=model.vec)
            """[m], shape (groups, n, 3), one vector of lanes per coordinate."""
            self.previous = wp.empty(shape, dtype=model.vec)
            """Positions at the start of the last substep [m], shape (groups, n, 3)."""
            self.velocities = wp.empty(shape, dtype=model.vec)
            """[m/s], shape (groups, n, 3)."""
            self.inv_mass = wp.empty((groups, particles), dtype=model.vec)
            """[1/kg], shape (groups, n); 0 where a particle is held or pinned."""
            self.free_inv_mass = wp.empty((groups, particles), dtype=model.vec)
            """The same, but for pinned particles only 0: what one returns to when it is let go."""
            self._make_multipliers()
            self.memory = wp.zeros((groups, max(model.memory_count, 1)), dtype=model.vec)
            """What constraints remember from substep to substep, such as permanent strains, in solve order."""
            self._make_scratch()
            self.contacts = contact_lists(model)
            """Which particles touch or may do so soon; results do not depend on it."""
            self.held = wp.full((slots, grips), -1, dtype=wp.int32)
            """Particle in each grip, -1 for none, shape (slots, grips), int32."""
            self.grip_positions = wp.zeros((slots, grips, 3), dtype=model.scalar)
            """[m], shape (slots, grips, 3)."""
            self.grip_targets = wp.zeros((slots, grips, 3), dtype=model.scalar)
            """Scratch: where held particles are to be at the end of the step [m]."""
            moving = len(model.moving_colliders)
            self.poses = wp.zeros((slots, moving, 7), dtype=model.scalar)
            """Origin [m] and orientation (x, y, z, w) of the colliders that move, shape (slots, moving, 7)."""
            self.frames = wp.zeros((groups, moving, FRAMES), dtype=model.vec)
            """Scratch: where they are in a substep, see :mod:`pbd_gym.kernels.poses`."""
            self.diverged = wp.zeros(slots, dtype=wp.int32)
            """1 where the last step produced a NaN or ran away, shape (slots,), int32."""
        self.positions_scalar = self._by_scalar(self.positions)
        """The same memory as ``positions``, shape (groups, n, 3, lanes)."""
        self.velocities_scalar = self._by_scalar(self.velocities)
        self.inv_mass_scalar = self._by_scalar(self.inv_mass)
        self.memory_scalar = self._by_scalar(self.memory)
        self.free_inv_mass_scalar = self._by_scalar(self.free_inv_mass)
        self.parameters = Parameters(model)
        """What differs from environment to environment."""
        self._pinned: np.ndarray | None = None
        self.frames_scalar = self._by_scalar(self.frames)

    def data(self) -> Any:
        """Return the arrays as what the step kernel takes."""
        type_ = state_type(self.model.vec)
        data = type_()
        for name in type_.vars:
            setattr(data, name, self.parameters.rows if name == "parameters" else getattr(self, name))
        return data

    def make_room(
        self, keep_lambda: bool = False, gathers: bool = False, extrapolates: bool = False, packs: bool = False
    ) -> None:
        """Make the memory that a solver needs and that there is none of: it would write past the end of what there is.

        So it is when the ``iterations`` of a solver were raised from one, and when another solver goes on with a state.

        Args:
            keep_lambda, gathers, extrapolates, packs: as for the class; what there is already stays.

        Raises:
            MemoryError: if it would not fit.
        """
        before = (self.keep_lambda, self._gathers, self._extrapolates, self._packs)
        wanted = (
            self.keep_lambda or keep_lambda,
            self._gathers or gathers,
            self._extrapolates or extrapolates,
            self._packs or packs,
        )
        if wanted == before:
            return
        self._check_memory(*wanted)
        self.keep_lambda, self._gathers, self._extrapolates, self._packs = wanted
        with wp.ScopedDevice(self.model.device):
            self._make_scratch()
            if self.keep_lambda != before[0]:
                self._make_multipliers()

    def _check_memory(self, *options: bool) -> None:
        """Raise a MemoryError with the whole report if the batch does not fit, before an allocation fails half-way."""
        model = self.model
        if model.group_count == 1:
            return
        small = copy.copy(model)  # the same constants, in the same memory
        small.num_envs, small.group_count = model.lanes, 1
        needed = count_memory(small, model.num_envs, type(self)(small, *options))
        if needed.free is not None and needed.total - sum(needed.shared.values()) > needed.free:
            raise MemoryError(
                f"this batch needs {needed.total / 2**30:.1f} GiB but {needed.free / 2**30:.1f} GiB are free on "
                f"{needed.device}: {needed.fits:,} environments would fit\n{needed}"
            )

    def _make_multipliers(self) -> None:
        self.lam = wp.zeros((self.model.group_count, self._multiplier_count), dtype=self.model.vec)
        """Multipliers of the last substep, in solve order, shape (groups, m) or (groups, 1)."""

    def _make_scratch(self) -> None:
        """Make what is of no interest between steps."""
        model, vec = self.model, self.model.vec
        groups, particles = model.group_count, model.particle_count
        shape, least = (groups, particles, 3), (groups, 1, 1)
        self.delta = wp.zeros(shape if self._gathers or model.contact_count else least, dtype=vec)
        """Scratch: corrections that a Jacobi iteration gathers [m]; zero between steps."""
        self.recent, self.older = (wp.empty(shape if self._extrapolates else least, dtype=vec) for _ in "ab")
        """Scratch: positions of the last two iterations [m]."""
        self.packed = wp.empty((groups, 2, particles, 4) if self._packs else (groups, 1, 1, 1), dtype=vec)
        """Scratch: positions and those before a substep [m], with a weight behind each; for one lane on a CPU."""
        kept = (groups, self._multiplier_count if self._extrapolates else 1)
        self.lam_recent, self.lam_older = (wp.empty(kept, dtype=vec) for _ in "ab")
        """Scratch: multipliers of the last two iterations."""

    @property
    def _multiplier_count(self) -> int:
        return max(self.model.constraint_count, 1) if self.keep_lambda else 1

    def _by_scalar(self, array: Any) -> Any:
        return wp.array(
            ptr=array.ptr, shape=(*array.shape, self.model.lanes), dtype=self.model.scalar, device=self.model.device
        )
