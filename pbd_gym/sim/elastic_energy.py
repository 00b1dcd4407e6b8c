"""Elastic energy of one environment, from the formulas of its constraints, in NumPy: for read-outs and tests."""

from __future__ import annotations

import numpy as np

from pbd_gym.kernels.solve.clusters import PINNED_FACTOR
from pbd_gym.sim.state import State
from pbd_gym.sim.traced import TracedKind


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
        batch = model.scene.constraints[kind.name]
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
