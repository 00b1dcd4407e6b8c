"""Implicit Euler solved by Newton's method: the yardstick of XPBD, which approximates the same step.

The step from (x, v) over h is the minimum of

    (y - p)^T M (y - p) / (2 h^2) + E(y),    p = x + h v + h^2 g,

where ``M (y - p) = -h^2 grad E(y)`` (Martin et al. 2011, Example-based elastic materials, doi:10.1145/2010324.1964967;
Gast et al. 2015, Optimization integrator for large time steps, doi:10.1109/TVCG.2015.2459687). E is the energy
``C^2 / (2 compliance)`` of the constraints of a scene, with first and second derivatives traced from their formulas. It
is slow and exact: the engine differs from it at the same step by the remaining error of a single sweep.

    step = ImplicitEuler(scene)
    for _ in range(100):
        step.advance(1 / 300)
    print(step.positions)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints import kinds
from pbd_gym.constraints.distance import KIND as DISTANCE
from pbd_gym.runtime.checks import FARTHEST, finite, integers, number
from pbd_gym.runtime.extras import load_optional
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.traced import TracedKind

MOST_ITERATIONS = 200
"""Largest number of Newton steps in which a minimum must be found."""
_LONGEST = 1e3
"""Time step beyond which inertia is neglected [s]."""


@dataclass
class _Term:
    """Energies of one constraint kind: the sum of C^2 / (2 compliance)."""

    traced: TracedKind
    indices: np.ndarray
    """Shape (m, width)."""
    compliance: np.ndarray
    side: np.ndarray | None
    """1 for C <= 0, -1 for C >= 0, 0 for both, shape (m,); None for all of them."""

    def _acting(self, values: np.ndarray) -> np.ndarray:
        """Return the stiffness of each constraint [1/compliance], 0 for slack ones, shape (m,)."""
        acting = 1.0 / self.compliance
        return acting if self.side is None else np.where(self.side * values < 0.0, 0.0, acting)

    def energy(self, x: np.ndarray) -> float:
        """Return the sum of the energies [J]."""
        values = self.traced.values(x[self.indices])
        return 0.5 * float((self._acting(values) * values**2).sum())

    def derivatives(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return first [N] and second [N/m] derivatives of the energies, shapes (m, 3 width), (m, 3 width, 3 width)."""
        points = x[self.indices]
        first, second = self.traced.energy_derivatives(points)
        acting = self._acting(self.traced.values(points)) if self.side is not None else 1.0 / self.compliance
        return acting[:, None] * first, acting[:, None, None] * second


class ImplicitEuler:
    """One environment of a scene, advanced by implicit Euler. Requires SciPy.

    Colliders and contacts between particles are ignored.

    Args:
        scene: particles, pins, gravity and constraints, all compliant.
        damping: rate at which free particles lose velocity [1/s], as in the engine's solver. tolerance: length of a
        Newton step [m] below which the iteration ends.

    Raises:
        ImportError: without SciPy.
        TypeError: for anything but numbers. ValueError: for a constraint without compliance, or of a kind without an
        energy here: shape matching, and fluids.
    """

    def __init__(self, scene: Scene, damping: float = 0.0, tolerance: float = 1e-9) -> None:
        self._sparse = load_optional("scipy.sparse", "for Newton's method", "bench", "scipy")
        self._linalg = load_optional("scipy.sparse.linalg", "for Newton's method", "bench", "scipy")
        self.scene = scene
        self.damping = number("damping", damping, 0.0)
        self.tolerance = number("tolerance", tolerance, positive=True)
        self.positions = scene.positions.copy()
        """[m], shape (n, 3)."""
        self.velocities = scene.velocities.copy()
        """[m/s], shape (n, 3)."""
        self.iterations = 0
        """Total Newton steps of all time steps so far."""
        self._terms = _terms(scene)
        self._held = np.zeros(0, dtype=np.int64)
        self.hold([])

    def hold(self, particles: ArrayLike) -> None:
        """Hold the given particles with hands, and release the others.

        Args:
            particles: shape (k,), int.

        Raises:
            ValueError: for particles that do not exist.
        """
        held = np.asarray(integers("particles", particles) if np.size(particles) else [], dtype=np.int64).reshape(-1)
        if held.size and (held.min() < 0 or held.max() >= self.scene.particle_count):
            raise ValueError(f"particles must be from 0 to {self.scene.particle_count - 1}, got {particles!r}")
        self._held = held
        fixed = self.scene.inv_mass == 0.0
        fixed[held] = True
        self.free = np.flatnonzero(~fixed)
        """Particles that are neither held nor pinned, shape (f,)."""
        self._mass = np.repeat(self.scene.mass[self.free], 3)
        self._arrange()

    def advance(self, h: float, motion: ArrayLike = 0.0) -> None:
        """Advance by one time step.

        Args:
            h: the time step [s].
            motion: displacement of held particles in it [m], broadcast to (held, 3).

        Raises:
            RuntimeError: if Newton's method finds no minimum.
            ValueError: for a time step that is not above zero, or a wrong shape.
        """
        number("h", h, positive=True)
        moved = finite("motion", motion, (len(self._held), 3), largest=FARTHEST)
        before, v = self.positions, self.velocities * np.exp(-self.damping * h)
        predicted = before.copy()
        predicted[self.free] += h * (v[self.free] + h * self.scene.gravity)
        predicted[self._held] += moved
        self.positions = self.minimize(predicted, h)
        self.velocities = (self.positions - before) / h

    def settle(self, h: float = 0.01) -> None:
        """Move to rest, a minimum of the elastic energy and the weight, by growing time steps without velocity.

        Args:
            h: the first time step [s].

        Raises:
            RuntimeError: if Newton's method finds no minimum.
        """
        while h < _LONGEST:
            self.velocities = np.zeros_like(self.positions)
            self.advance(h)
            h *= 2.0
        self.velocities = np.zeros_like(self.positions)

    def objective(self, x: np.ndarray, predicted: np.ndarray, h: float) -> float:
        """Return the objective of a time step [J]."""
        away = (x - predicted)[self.free].ravel()
        return float(0.5 * (self._mass / h**2) @ away**2) + sum(term.energy(x) for term in self._terms)

    def minimize(self, predicted: np.ndarray, h: float) -> np.ndarray:
        """Return the positions after a time step [m], shape (n, 3), by Newton's method with a line search.

        Where the Hessian is not positive definite, each constraint's part of it is made positive definite: Teran et al.
        2005, Robust quasistatic finite elements and flesh simulation, doi:10.1145/1073368.1073394.

        Args:
            predicted: positions of particles without constraints, and of held ones [m], shape (n, 3).
            h: the time step [s].

        Raises:
            RuntimeError: if there is no minimum after :data:`MOST_ITERATIONS`.
        """
        x = predicted.copy()
        inertia = self._mass / h**2
        for _ in range(MOST_ITERATIONS):
            self.iterations += 1
            parts = [term.derivatives(x) for term in self._terms]
            force = np.zeros_like(x)
            for term, (first, _) in zip(self._terms, parts, strict=True):
                np.add.at(force, term.indices, first.reshape(*term.indices.shape, 3))
            gradient = inertia * (x - predicted)[self.free].ravel() + force[self.free].ravel()
            direction = self._direction([second for _, second in parts], inertia, gradient)
            longest = np.abs(direction).max(initial=0.0)
            x = self._search(x, predicted, h, direction, float(gradient @ direction))
            if longest < self.tolerance:
                return x
        raise RuntimeError(f"Newton's method has not converged in {MOST_ITERATIONS} steps")

    def _search(
        self, x: np.ndarray, predicted: np.ndarray, h: float, direction: np.ndarray, slope: float
    ) -> np.ndarray:
        """Return x after the share of a Newton step that lowers the objective (Armijo)."""
        trial = x.copy()
        trial[self.free] += direction.reshape(-1, 3)
        if np.abs(direction).max(initial=0.0) < 1e3 * self.tolerance:  # its change is lost in rounding there
            return trial
        before, length = self.objective(x, predicted, h), 1.0
        while self.objective(trial, predicted, h) > before + 1e-4 * length * slope and length > 1e-12:
            length *= 0.5
            trial = x.copy()
            trial[self.free] += length * direction.reshape(-1, 3)
        return trial

    def _direction(self, blocks: list[np.ndarray], inertia: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return the Newton step, which leads downhill, shape (3 f,)."""
        if not len(gradient):
            return gradient
        solve = self._factors(blocks, inertia)
        if solve is None:
            projected = []
            for block in blocks:
                values, vectors = np.linalg.eigh(block)
                projected.append(np.einsum("mij,mj,mkj->mik", vectors, np.maximum(values, 0.0), vectors))
            solve = self._factors(projected, inertia)
        if solve is None:  # rounding: inertia alone is positive
            return -gradient / inertia
        return np.asarray(-solve(gradient))

    def _factors(self, blocks: list[np.ndarray], inertia: np.ndarray) -> Any:
        """Return a solver for the Hessian, or None if it is not positive definite."""
        entries = np.concatenate(
            [block.ravel()[keep] for block, keep in zip(blocks, self._kept, strict=True)] + [inertia]
        )
        data = np.bincount(self._slots, weights=entries, minlength=len(self._pattern[0]))
        rows, ends = self._pattern
        matrix = self._sparse.csc_matrix((data, rows, ends), shape=(len(inertia), len(inertia)))
        # Without pivoting the signs of the diagonal of U are those of the eigenvalues (Sylvester's law of inertia).
        options = {"SymmetricMode": True}
        try:
            factors = self._linalg.splu(matrix, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
        except RuntimeError:  # exactly singular
            return None
        positive = (factors.perm_r == factors.perm_c).all() and (factors.U.diagonal() > 0.0).all()
        return factors.solve if positive else None

    def _arrange(self) -> None:
        """Compute the place of each block's entries in the sparse matrix of the free coordinates."""
        place = np.full((self.scene.particle_count, 3), -1, dtype=np.int64)
        place[self.free] = np.arange(3 * len(self.free)).reshape(-1, 3)
        count = 3 * len(self.free)
        keys = []
        self._kept = []
        for term in self._terms:
            at = place[term.indices].reshape(len(term.indices), -1)
            rows, columns = np.broadcast_arrays(at[:, :, None], at[:, None, :])
            keep = ((rows >= 0) & (columns >= 0)).ravel()
            keys.append((columns.ravel() * count + rows.ravel())[keep])
            self._kept.append(keep)
        diagonal = np.arange(count) * (count + 1)
        known, self._slots = np.unique(np.concatenate([*keys, diagonal]), return_inverse=True)
        self._pattern = known % max(count, 1), np.searchsorted(known, np.arange(count + 1) * count)


def _terms(scene: Scene) -> list[_Term]:
    """Read the energies of a scene from its constraints.

    Raises:
        ValueError: for a constraint without compliance, or a kind without an energy.
    """
    known, found = kinds(), []
    for name, batch in scene.constraints.items():
        kind, side = known[name], None
        values: dict[str, Any] = {key: np.concatenate(parts) for key, parts in batch.values.items()}
        if kind.chain:
            kind, values, indices = DISTANCE, *_segments(list(batch.indices), values)
        elif kind.formula is None or kind.remembers:
            raise ValueError(f"constraints of kind {name} have no energy here")
        else:
            indices = np.concatenate(batch.indices)
            side = values["side"] if kind.one_sided else None
        if (values["compliance"] <= 0.0).any():
            raise ValueError(f"Newton's method needs compliant constraints: some of kind {name} are rigid")
        found.append(_Term(TracedKind(kind, values), indices, values["compliance"], side))
    return found


def _segments(lines: list[np.ndarray], values: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return lines as distance constraints: their values, and pairs of particles, shape (m, 2)."""
    ends = np.cumsum([len(line) for line in lines]) - 1
    compliance = np.repeat(values["compliance"], [len(line) - 1 for line in lines])
    rest, relative = (np.delete(values[name], ends) for name in ("rest_length", "relative_compliance"))
    pairs = np.concatenate([np.stack([line[:-1], line[1:]], axis=1) for line in lines])
    return {"rest_length": rest, "compliance": compliance * relative}, pairs
