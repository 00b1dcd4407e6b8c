"""Formulas of constraint kinds evaluated on a scene's numbers in NumPy, in double precision.

For read-outs and yardsticks.

It evaluates the formulas that kernels compile: C, its gradients, and the first and second derivatives of ``C^2 / 2``,
which are traced like the gradients; and the elastic energy of an environment.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from pbd_gym.constraints.kind import Kind
from pbd_gym.formulas import Graph, Matrix, Number, Vec3, evaluate, gradients
from pbd_gym.kernels.solve.clusters import PINNED_FACTOR
from pbd_gym.kernels.solve.projection import GIVEN, Residual, needs
from pbd_gym.sim.state import State

_ROUNDING = 1e-12
"""Magnitude below which a field counts as 0: a sheet that is flat up to rounding has no bend at rest."""


class TracedKind:
    """Formula of a kind, traced for given constraints of that kind.

    Args:
        kind: kind with a formula.
        values: arrays that the kind's ``prepare`` returned, one row per constraint.
        size: size of the environment.
    """

    def __init__(self, kind: Kind, values: dict[str, np.ndarray], size: float = 1.0) -> None:
        assert kind.formula is not None and kind.width is not None
        self.kind, self.width, self.count = kind, kind.width, len(values["compliance"])
        self._graph, self._values = Graph(), values
        self._symbols: dict[str, Any] = {"size": size, "inv_size": 1.0 / size, "first_iteration": False}
        symbol, graph = self._graph.symbol, self._graph
        x = self._vectors("x")
        self._inputs = [coordinate for point in x for coordinate in point]
        given: dict[str, Any] = {
            "size": symbol("size"), "inv_size": symbol("inv_size"), "before": self._vectors("before"),
            "memory": symbol("memory"), "inv_h": graph.const(1.0), "first_iteration": graph.flag("first_iteration"),
        }  # fmt: skip
        names = needs(kind.formula)
        arguments = {name: given[name] if name in GIVEN else self._field(name, kind.fields[name]) for name in names}
        found = kind.formula(x, **arguments)
        self._residual = found if isinstance(found, Residual) else Residual(found)

    def values(self, points: np.ndarray, memory: Any = 0.0) -> np.ndarray:
        """Return C of each constraint, shape (m,).

        Args:
            points: positions of their particles [m], shape (m, width, 3).
            memory: memory of each constraint, shape (m,).
        """
        return self._evaluate([self._residual.value], points, memory)[:, 0]

    def gradients(self, points: np.ndarray) -> np.ndarray:
        """Return the gradient of C by each particle, shape (m, width, 3); see :meth:`values`."""
        scale = self._graph.const(1.0).same(self._residual.scale)
        found = self._evaluate([*self._pulls(), scale], points)
        return (found[:, :-1] / found[:, -1:]).reshape(self.count, self.width, 3)

    def energy_derivatives(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first and second derivatives of ``C^2 / 2``, shapes (m, 3 width) and (m, 3 width, 3 width).

        Parts that a formula excludes from differentiation, such as the place where two edges come closest, count as
        constant.

        Args:
            points: positions of their particles [m], shape (m, width, 3).
        """
        found = self._evaluate(self._derivatives, points)
        size = 3 * self.width
        hessian = found[:, size:].reshape(-1, size, size)
        return found[:, :size], 0.5 * (hessian + hessian.transpose(0, 2, 1))

    @functools.cached_property
    def _derivatives(self) -> list[Number]:
        """Return the first and second derivatives of ``C^2 / 2`` by each coordinate."""
        value, scale = self._residual.value, self._graph.const(1.0).same(self._residual.scale)
        # Of an energy C = sqrt(2 psi) the scale is C: nothing is divided at rest.
        first = [pull if scale is value else pull * value / scale for pull in self._pulls()]
        return [*first, *(derivative for force in first for derivative in gradients(force, self._inputs))]

    def _pulls(self) -> list[Number]:
        """Return the gradients, times the scale of the formula, by each coordinate."""
        points = [Vec3(*self._inputs[k : k + 3]) for k in range(0, len(self._inputs), 3)]
        return [coordinate for pull in self._residual.gradients(points) for coordinate in pull]

    def _evaluate(self, outputs: Sequence[Number], points: np.ndarray, memory: Any = 0.0) -> np.ndarray:
        """Return the values of some numbers, shape (m, k)."""
        symbols = {**self._symbols, "memory": memory}
        for name in ("x", "before"):
            for k, axis in np.ndindex(self.width, 3):
                symbols[f"{name}{k}_{'xyz'[axis]}"] = points[:, k, axis]
        found = evaluate(outputs, symbols)
        return np.stack([np.broadcast_to(one, (self.count,)) for one in found], axis=1)

    def _vectors(self, name: str) -> list[Vec3]:
        graph = self._graph
        return [Vec3(*(graph.symbol(f"{name}{k}_{axis}") for axis in "xyz")) for k in range(self.width)]

    def _field(self, name: str, shape: tuple[int, ...]) -> Any:
        """Return a field as the formula expects it; see :attr:`pbd_gym.constraints.kind.Kind.fields`."""
        array = self._values[name].reshape(self.count, -1)
        if self.count and np.abs(array).max() < _ROUNDING:
            entries: tuple[Number, ...] = (self._graph.const(0.0),) * array.shape[1]
        else:
            entries = tuple(self._graph.symbol(f"{name}[{k}]") for k in range(array.shape[1]))
            self._symbols |= {f"{name}[{k}]": array[:, k] for k in range(array.shape[1])}
        if len(shape) == 2:
            return Matrix(tuple(entries[k : k + shape[1]] for k in range(0, len(entries), shape[1])))
        return entries[0] if not shape else Vec3(*entries) if shape == (3,) else entries


def elastic_energy(state: State, env: int = 0) -> float:
    """Return the energy ``sum C^2 / (2 compliance)`` [J] that the constraints of an environment store.

    Rigid constraints, whose compliance is 0, store none, nor do one-sided ones that are slack. The environment's size
    and stiffness, and permanent strains, are taken into account.
    """
    model = state.model
    positions = state.get_positions()[env].astype(np.float64)
    parameters = state.get_parameters()
    size = float(parameters["size"][env])
    softness = np.array([1.0 / parameters["stiffness"][label][env] for label in model.labels])
    memory, total = state.get_memory()[env].astype(np.float64), 0.0
    for kind in model.kinds:
        batch = model.constraints[kind.name]
        values = {name: np.concatenate(parts) for name, parts in batch.values.items()}
        compliance = values["compliance"] * softness[np.concatenate(batch.labels)] * size**kind.compliance_power
        if kind.chain:
            squares, compliance = _segment_squares(list(batch.indices), values, compliance, size, positions)
        elif kind.width is None:
            squares = _cluster_squares(state, env, list(batch.indices), values["rest"] * size, positions)
        else:
            count = len(compliance) * kind.remembers
            points = positions[np.concatenate(batch.indices)]
            residuals = TracedKind(kind, values, size).values(points, memory[:count])
            memory = memory[count:]
            if kind.one_sided:
                residuals = np.where(values["side"] * residuals < 0.0, 0.0, residuals)
            squares = residuals**2
        soft = compliance > 0.0
        total += 0.5 * float((squares[soft] / compliance[soft]).sum())
    return total


def _segment_squares(
    rows: list[np.ndarray], values: dict[str, np.ndarray], compliance: np.ndarray, size: float, positions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``C^2`` and the compliance of each segment of lines; see :mod:`pbd_gym.constraints.line`."""
    ends = np.cumsum([len(row) for row in rows]) - 1
    lengths = np.concatenate([np.linalg.norm(np.diff(positions[row], axis=0), axis=1) for row in rows])
    rest, relative = (np.delete(values[name], ends) for name in ("rest_length", "relative_compliance"))
    return (lengths - size * rest) ** 2, np.repeat(compliance, [len(row) - 1 for row in rows]) * relative


def _cluster_squares(
    state: State, env: int, rows: list[np.ndarray], rest: np.ndarray, positions: np.ndarray
) -> np.ndarray:
    """Return ``C^2 = sum m |x - g|^2`` of each cluster; see :mod:`pbd_gym.kernels.solve.clusters`."""
    count, members = len(rows), np.concatenate(rows)
    cluster = np.repeat(np.arange(count), [len(row) for row in rows])
    group, lane = divmod(env, state.model.lanes)
    inverse = state.free_inv_mass_scalar.numpy()[group, :, lane].astype(np.float64)
    pinned = state.get_pinned()[env] | (inverse == 0.0)
    mass = np.divide(1.0, inverse, out=state.model.scene.mass.astype(np.float64), where=inverse > 0.0)
    mass = (mass / np.bincount(members, minlength=len(mass)).clip(1))[members]
    weight = mass * np.where(pinned[members], PINNED_FACTOR, 1.0)

    def summed(values: np.ndarray) -> np.ndarray:
        found = np.zeros((count, *values.shape[1:]))
        np.add.at(found, cluster, values)
        return found

    def centred(points: np.ndarray) -> np.ndarray:
        return points - (summed(weight[:, None] * points) / summed(weight)[:, None])[cluster]

    here, there = centred(positions[members]), centred(rest)
    u, _, v = np.linalg.svd(summed(weight[:, None, None] * here[:, :, None] * there[:, None, :]))
    u[..., -1] *= np.sign(np.linalg.det(u @ v))[:, None]
    away = here - np.einsum("mij,mj->mi", (u @ v)[cluster], there)
    return summed(mass * (away**2).sum(axis=1))
