"""The sweep over clusters: constraints that pull any number of particles towards a common, moved rest shape.

Each particle of a cluster has a goal ``g = c + R (q - o)``, with c its centre of mass now, o that of its rest positions
q, and R the rotation that fits best: of all rigid motions, the one with the least ``sum m |x - g|^2``, m being mass.

As a constraint of XPBD that is ``C = sqrt(sum m |x - g|^2)`` [sqrt(kg) m] with the energy ``C^2 / (2 compliance)``.
Since the best motion is a minimum, its own change drops out of the gradient, which is ``m (x - g) / C``. For a single
cluster,
``sum w |grad|^2 = 1`` and the step is ``x += (g - x) / (1 + compliance / h^2)``: the classical shape matching with its
factor ``alpha = 1 / (1 + compliance / h^2)``. It is also the exact step of implicit Euler, since it changes neither c
nor R.

A particle that belongs to n clusters lends each of them 1/n of its mass: a body is then as stiff as its compliance
says, however much its clusters overlap. A Jacobi iteration lets each cluster move its own share of the mass and takes
the mean, which is the region-based scheme; Gauss-Seidel moves the whole particles in turn.

Sums of ``m (x - g)`` and of ``m x cross (x - g)`` vanish over a cluster, so that it changes no momentum.

Mueller, Heidelberger, Teschner, Gross 2005, Meshless deformations based on shape matching, doi:10.1145/1073204.1073216;
Rivers, James 2007, FastLSM, doi:10.1145/1276377.1276480; Macklin et al. 2016, doi:10.1145/2994258.2994272.
"""

from __future__ import annotations

from typing import Any

from pbd_gym.formulas import emit
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.lanes.rotation import SQUARINGS_OF_MANY
from pbd_gym.kernels.native import constant, precision
from pbd_gym.kernels.solve.projection import Inputs, relaxation, solve, solve_damping

PINNED_FACTOR = constant("PINNED_FACTOR")
"""Factor by which a pinned or held particle's mass is scaled in the fit."""


def cluster_text(options: SweepOptions, scalar: Any) -> str:
    """Return C++ statements that pull cluster ``c`` towards its goals.

    Args:
        options: options to compile for.
        scalar: ``wp.float32`` or ``wp.float64``.
    """
    inputs = Inputs(options)
    value, weight = (inputs.graph.symbol(f"cluster.{name}") for name in ("value", "reached"))
    s = solve(inputs, value, value, weight, inputs.alpha)
    if options.jacobi:
        s = s * relaxation(inputs)
    outputs = [("cluster.move({});", [s])]
    if options.keep_lambda:
        outputs.insert(0, ("it.set_multiplier({});", [inputs.old + s * value]))
    return _found(options, scalar, False) + emit(outputs, precision(scalar))


def cluster_damping_text(options: SweepOptions, scalar: Any) -> str:
    """Return C++ statements that damp the velocities of cluster ``c`` relative to its rigid motion.

    Args:
        options: options to compile for.
        scalar: ``wp.float32`` or ``wp.float64``.
    """
    inputs = Inputs(options)
    value, weight, advanced = (inputs.graph.symbol(f"cluster.{name}") for name in ("value", "reached", "advanced"))
    s = solve_damping(inputs, value, weight, advanced, inputs.alpha)
    return _found(options, scalar, True) + emit([("cluster.damp({});", [s])], precision(scalar))


def _found(options: SweepOptions, scalar: Any, damping: bool) -> str:
    """Return the C++ statement that measures a cluster."""
    chosen = f"{SQUARINGS_OF_MANY[scalar]}, {int(damping)}, {int(options.grip_forces)}"
    return f"const auto cluster = pbd::cluster_of<pbd::ClusterOptions<{chosen}>>(it, table, size);\n"
