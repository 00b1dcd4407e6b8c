"""Newton's method for one step of implicit Euler: what XPBD approximates, solved without its approximations.

The step from (x, v) over h is the minimum of ``(y - p)^T M (y - p) / (2 h^2) + U(y)`` over the free particles, with
the prediction ``p = x + h v + h^2 g`` and the elastic energy U: there ``M (y - p) = -h^2 dU/dy`` (Martin et al. 2011,
Example-based elastic materials, doi:10.1145/2010324.1964967). Energies are those that the constraint kinds of the
engine stand for, with exact Hessians, written from the formulas and sharing no code with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix, csc_matrix, diags
from scipy.sparse.linalg import splu

from pbd_gym.scene.scene import Scene

# J(F + E) is a cubic: its second derivative is eps_ikm eps_jln F_mn.
_PERMUTATION = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    _PERMUTATION[_i, _j, _k], _PERMUTATION[_i, _k, _j] = 1.0, -1.0


@dataclass(frozen=True)
class Springs:
    """Energy ``(|x_i - x_j| - l0)^2 / (2 compliance)`` of distance constraints."""

    indices: np.ndarray
    """Shape (m, 2)."""
    rest_length: np.ndarray
    compliance: np.ndarray

    def constraint(self, x: np.ndarray) -> np.ndarray:
        """Return C [m], shape (m,)."""
        return np.linalg.norm(x[self.indices[:, 0]] - x[self.indices[:, 1]], axis=1) - self.rest_length

    def energy(self, x: np.ndarray) -> np.ndarray:
        """Return the energy of each [J], shape (m,)."""
        return self.constraint(x) ** 2 / (2.0 * self.compliance)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return the derivative of each energy by its particles [N], shape (m, 2, 3)."""
        d = x[self.indices[:, 0]] - x[self.indices[:, 1]]
        length = np.linalg.norm(d, axis=1)
        pull = ((length - self.rest_length) / (self.compliance * length))[:, None] * d
        return np.stack([pull, -pull], axis=1)

    def hessian(self, x: np.ndarray) -> np.ndarray:
        """Return the second derivatives [N/m], shape (m, 6, 6)."""
        d = x[self.indices[:, 0]] - x[self.indices[:, 1]]
        length = np.linalg.norm(d, axis=1)[:, None, None]
        along = d[:, :, None] * d[:, None, :] / length**2
        across = np.eye(3) - along
        block = (along + (1.0 - self.rest_length[:, None, None] / length) * across) / self.compliance[:, None, None]
        return np.block([[block, -block], [-block, block]])


@dataclass(frozen=True)
class Tets:
    """Part of the stable neo-Hookean energy of tetrahedra: ``V (a/2 (|F|^2 - 2 J - 1) + b/2 (J - 1)^2)``.

    With a = b = mu that is the deviatoric part ``mu/2 (|F|^2 + J^2 - 4 J)`` that the engine calls shape, and with
    a = 0, b = lambda the hydrostatic part that it calls volume.
    """

    indices: np.ndarray
    """Shape (m, 4)."""
    inv_rest: np.ndarray
    """Inverse of the matrix of rest edges [1/m], shape (m, 3, 3)."""
    volume: np.ndarray
    a: np.ndarray
    b: np.ndarray

    def _deformation(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        corners = x[self.indices]
        f = (corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1) @ self.inv_rest
        cofactor = 0.5 * np.einsum("ikm,jln,ekl,emn->eij", _PERMUTATION, _PERMUTATION, f, f)
        return f, cofactor, np.einsum("eij,eij->e", f, cofactor) / 3.0

    def _basis(self) -> np.ndarray:
        """Derivative of F by the particles: dF_ij / dx_kl = delta_il b_kj, shape (m, 4, 3)."""
        return np.concatenate([-self.inv_rest.sum(1, keepdims=True), self.inv_rest], axis=1)

    def energy(self, x: np.ndarray) -> np.ndarray:
        """Return the energy of each [J], shape (m,)."""
        f, _, j = self._deformation(x)
        return self.volume * (0.5 * self.a * ((f**2).sum((1, 2)) - 2 * j - 1) + 0.5 * self.b * (j - 1) ** 2)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return the derivative of each energy by its particles [N], shape (m, 4, 3)."""
        f, cofactor, j = self._deformation(x)
        a, b = self.a[:, None, None], self.b[:, None, None]
        stress = a * (f - cofactor) + b * (j - 1)[:, None, None] * cofactor
        return self.volume[:, None, None] * np.einsum("elj,ekj->ekl", stress, self._basis())

    def hessian(self, x: np.ndarray) -> np.ndarray:
        """Return the second derivatives [N/m], shape (m, 12, 12)."""
        f, cofactor, j = self._deformation(x)
        second = np.einsum("ikm,jln,emn->eijkl", _PERMUTATION, _PERMUTATION, f)
        by_f = (
            self.a[:, None, None, None, None] * np.einsum("ik,jl->ijkl", np.eye(3), np.eye(3))
            + self.b[:, None, None, None, None] * cofactor[:, :, :, None, None] * cofactor[:, None, None]
            + (self.b * (j - 1) - self.a)[:, None, None, None, None] * second
        )
        basis = self._basis()
        found = np.einsum("epqrs,ekq,els->ekplr", by_f, basis, basis) * self.volume[:, None, None, None, None]
        return found.reshape(-1, 12, 12)


Term = Springs | Tets


def terms_of(scene: Scene) -> list[Term]:
    """Read the energies of a scene from what was added to it, in the order of its kinds.

    Raises:
        ValueError: for a kind that has no energy here.
    """
    terms: list[Term] = []
    for kind, batch in scene.constraints.items():
        indices = np.concatenate(batch.indices)
        values: dict[str, Any] = {name: np.concatenate(parts) for name, parts in batch.values.items()}
        if kind == "distance":
            terms.append(Springs(indices, values["rest_length"], values["compliance"]))
        elif kind in ("tet_neo_hookean_shape", "tet_neo_hookean_volume"):
            volume = 1.0 / (6.0 * np.linalg.det(values["inv_rest"]))
            young = 1.0 / (values["compliance"] * volume)
            mu, bulk = young * values["lame"].T
            a, b = (mu, mu) if kind.endswith("shape") else (0.0 * bulk, bulk)
            terms.append(Tets(indices, values["inv_rest"], volume, a, b))
        else:
            raise ValueError(f"no energy for constraints of kind {kind!r}")
    return terms


class ImplicitEuler:
    """One step of implicit Euler of a scene as a minimisation.

    Args:
        scene: masses, pins, gravity and constraints.
        positions: before the step [m], shape (n, 3).
        velocities: before the step [m/s], shape (n, 3).
        h: the step [s].
    """

    def __init__(self, scene: Scene, positions: np.ndarray, velocities: np.ndarray, h: float) -> None:
        self.terms = terms_of(scene)
        self.free = scene.inv_mass > 0
        self.mass = 1.0 / scene.inv_mass[self.free]
        self.h = h
        fall = h * velocities + h * h * scene.gravity
        self.predicted = positions + np.where(self.free[:, None], fall, 0.0)
        dof = np.flatnonzero(np.repeat(self.free, 3))
        self._dof_number = np.full(3 * len(positions), -1)
        self._dof_number[dof] = np.arange(len(dof))
        self._inertia = np.repeat(self.mass, 3) / h**2

    def energy(self, x: np.ndarray) -> float:
        """Return what the step minimises [J]."""
        shift = (x - self.predicted)[self.free].ravel()
        return float(0.5 * self._inertia @ shift**2 + sum(term.energy(x).sum() for term in self.terms))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return its derivative by the free coordinates [N], shape (3 f,)."""
        force = np.zeros_like(x)
        for term in self.terms:
            np.add.at(force, term.indices, term.gradient(x))
        return self._inertia * (x - self.predicted)[self.free].ravel() + force[self.free].ravel()

    def hessian(self, x: np.ndarray) -> csc_matrix:
        """Return its second derivative [N/m], shape (3 f, 3 f), sparse."""
        count = len(self._inertia)
        total = diags(self._inertia).tocsc()
        for term in self.terms:
            number = self._dof_number[(3 * term.indices[:, :, None] + np.arange(3)).reshape(len(term.indices), -1)]
            rows, columns = np.broadcast_arrays(number[:, :, None], number[:, None, :])
            both = (rows >= 0) & (columns >= 0)
            blocks = term.hessian(x)[both]
            total = total + coo_matrix((blocks, (rows[both], columns[both])), shape=(count, count)).tocsc()
        return total

    def scaled_hessian(self, x: np.ndarray) -> np.ndarray:
        """Return ``h^2 M^-1/2 H M^-1/2``, which is the identity where nothing is elastic, shape (3 f, 3 f), dense."""
        root = np.sqrt(self._inertia)
        return self.hessian(x).toarray() / np.outer(root, root)

    def moved(self, x: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return x with the free particles moved by ``direction``, shape (3 f,)."""
        result = x.copy()
        result[self.free] += direction.reshape(-1, 3)
        return result

    def newton_step(self, x: np.ndarray) -> np.ndarray:
        """Return x after one full step of Newton's method."""
        return self.moved(x, self._direction(x, self.gradient(x)))

    def solve(self, start: np.ndarray | None = None, limit: int = 100) -> tuple[np.ndarray, list[float]]:
        """Minimise by Newton's method with a backtracking line search.

        Args:
            start: of the search [m], shape (n, 3); the prediction by default.
            limit: of the number of steps.

        Returns:
            Positions after the step, shape (n, 3), and the norm of the gradient before each iteration [N].

        Raises:
            RuntimeError: if the gradient has not come down to rounding after ``limit`` iterations.
        """
        x = self.predicted.copy() if start is None else start.copy()
        norms: list[float] = []
        for _ in range(limit):
            gradient = self.gradient(x)
            norms.append(float(np.linalg.norm(gradient)))
            # Each coordinate is known to eps, and the gradient to that times its slope.
            rounding = 4.0 * np.finfo(np.float64).eps * float(abs(self.hessian(x)).sum(axis=1).max()) * np.abs(x).max()
            if norms[-1] <= rounding * np.sqrt(len(gradient)):
                return x, norms
            direction = self._direction(x, gradient)
            slope, before, length = float(gradient @ direction), self.energy(x), 1.0
            trial = self.moved(x, direction)
            # Near the minimum the decrease of energy drowns in its rounding; that of the gradient shows longer.
            if np.linalg.norm(self.gradient(trial)) > 0.5 * norms[-1]:
                while self.energy(trial) > before + 1e-4 * length * slope:
                    length *= 0.5
                    trial = self.moved(x, length * direction)
            x = trial
        raise RuntimeError(f"Newton's method has not converged: gradients {norms}")

    def _direction(self, x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Solve for the Newton step; where the Hessian does not lead downhill, inertia is added until it does."""
        hessian, shift = self.hessian(x), 0.0
        while True:
            direction = -splu((hessian + diags(shift * self._inertia)).tocsc()).solve(gradient)
            if gradient @ direction < 0.0:
                return direction
            shift = max(1.0, 4.0 * shift)
