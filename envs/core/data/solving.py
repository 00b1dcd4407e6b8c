"""Which solver a task runs: the part of a configuration that says so."""

from __future__ import annotations

from dataclasses import Field, dataclass, fields, replace
from typing import Any

from pbd_gym.runtime.checks import switch
from pbd_gym.sim.solver import Method, check_method


@dataclass(frozen=True, kw_only=True)
class SolverConfig:
    """Base of the configurations of tasks, with which ``gym.make(id, method="jacobi", iterations=4)`` works.

    The defaults are best for small steps, as the tasks take them; see docs/accuracy.md for the others. Start states are
    found with the defaults.
    """

    iterations: int = 1
    """Sweeps over all constraints in each substep."""
    method: Method = "gauss-seidel"
    """What an iteration does: ``"gauss-seidel"``, ``"symmetric"`` or ``"jacobi"``, as in :class:`pbd_gym.Solver`."""
    relaxation: float = 1.0
    """Factor of Jacobi's corrections, above 0 and below 2."""
    chebyshev: float = 0.0
    """Estimate of the spectral radius by which iterations are extrapolated, at least 0 and below 1; 0 for none."""
    piercings: bool = False
    """Whether edges that have been pulled through cloth are counted, for ``info["piercings"]``. It takes a twentieth of
    the time of a crumpled towel, of one of 16 x 16 particles a sixth. The benchmark's protocol counts them."""


def solver_options(config: Any) -> dict[str, Any]:
    """Return the arguments of a solver that a configuration has, but for its substeps.

    Raises:
        ValueError: for a number out of its range, or an unknown method.
        TypeError: for one of a wrong type.
    """
    found = {f.name: getattr(config, f.name) for f in _of_solver(config)}
    method = {name: value for name, value in found.items() if name != "piercings"}
    check_method(**method)
    return {"damping": config.damping, **method, "piercings": switch("piercings", found.get("piercings", False))}


def with_default_solver(config: Any) -> Any:
    """Return a configuration of the same task that has the defaults of :class:`SolverConfig`."""
    return replace(config, **{f.name: f.default for f in _of_solver(config)})


def _of_solver(config: Any) -> list[Field[Any]]:
    """Return the fields of :class:`SolverConfig` that a configuration has."""
    return [f for f in fields(SolverConfig) if hasattr(config, f.name)]
