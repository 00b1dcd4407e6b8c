"""Choice of a task's solver: the solver part of its configuration."""

from __future__ import annotations

from dataclasses import Field, dataclass, fields, replace
from typing import Any

from pbd_gym.runtime.checks import switch
from pbd_gym.sim.solver import Method, check_method

SWITCHES = ("piercings", "sleep", "hands_wait", "compensate")
"""Arguments that are on or off."""


@dataclass(frozen=True, kw_only=True)
class SolverConfig:
    """Base of task configurations, which supports ``gym.make(id, method="jacobi", iterations=4)``.

    The defaults are best for small steps, which the tasks use; see docs/accuracy.md for the others. Start states are
    found with the defaults.
    """

    iterations: int = 1
    """Sweeps over all constraints in each substep."""
    method: Method = "gauss-seidel"
    """Type of iteration: ``"gauss-seidel"``, ``"symmetric"`` or ``"jacobi"``, as in :class:`pbd_gym.Solver`."""
    relaxation: float = 1.0
    """Factor of Jacobi's corrections, above 0 and below 2."""
    chebyshev: float = 0.0
    """Estimate of the spectral radius by which iterations are extrapolated, at least 0 and below 1; 0 for none."""
    piercings: bool = False
    """Whether edges that have been pulled through cloth are counted, for ``info["piercings"]``. It takes a twentieth of
    the time for a crumpled towel, a sixth for one of 16 x 16 particles. The benchmark's protocol counts them.
    """
    sleep: bool = True
    """Whether environments of cloth sleep while they are at rest and nothing holds them, as in
    :class:`pbd_gym.Solver`."""
    hands_wait: bool = False
    """Whether hands wait where the cloth or rope that they hold does not follow, as in :class:`pbd_gym.Solver`."""
    compensate: bool = False
    """Whether the softening of bodies by a substep is compensated, as in :class:`pbd_gym.Solver`."""


def solver_options(config: Any) -> dict[str, Any]:
    """Return the solver arguments in a configuration, except its substeps.

    Raises:
        ValueError: for a number out of its range, or an unknown method.
        TypeError: for one of a wrong type.
    """
    found = {f.name: getattr(config, f.name) for f in _of_solver(config)}
    switches = {name: switch(name, found.pop(name, False)) for name in SWITCHES}
    check_method(**found)
    return {"damping": config.damping, **found, **switches}


def with_default_solver(config: Any) -> Any:
    """Return a configuration of the same task with the defaults of :class:`SolverConfig`, but for ``compensate``."""
    return replace(config, **{f.name: f.default for f in _of_solver(config) if f.name != "compensate"})


def _of_solver(config: Any) -> list[Field[Any]]:
    """Return the fields of :class:`SolverConfig` in a configuration."""
    return [f for f in fields(SolverConfig) if hasattr(config, f.name)]
