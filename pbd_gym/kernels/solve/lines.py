"""Lines: chains of distance constraints whose corrections are solved together, exactly.

Gauss-Seidel propagates a correction by one particle per sweep, so a fine thread stretches. The segments k of a line,
between its particles k and k + 1, form the system

    (w_k + w_{k+1} + alpha_k) dl_k - w_k (n_{k-1} . n_k) dl_{k-1} - w_{k+1} (n_k . n_{k+1}) dl_{k+1}
        = -C_k - alpha_k l_k

with directions n, inverse masses w, multipliers l and ``alpha = compliance / h^2``: XPBD's linear system (Macklin et
al. 2016, doi:10.1145/2994258.2994272, eq. 18 and 26) for all segments at once. It is tridiagonal, and Thomas's
algorithm solves it in one forward and one backward pass. Deul et al. 2018, Direct position-based solver for stiff rods,
doi:10.1111/cgf.13326. A held or pinned particle has w = 0 and cuts the line in two.

A particle that a curved collider carries has no inverse mass along the normal there:
:mod:`pbd_gym.kernels.colliders.supports`. Lines wrapped round colliders are measured along the surface, with belt
friction: ``native/wraps.h``. A particle that tension presses on other particles counts as heavier in that direction,
and the line yields before contacts do: :mod:`pbd_gym.kernels.contacts.leans`.

Damping acts on the velocities at the end of a substep (:func:`pbd_gym.kernels.solve.projection.damp`), with the same
matrix, whose inverse masses are multiplied by ``1 + gamma``, and ``-gamma n_k . (d_{k+1} - d_k)`` on the right, where d
are the displacements in the substep.

The system uses the directions before the correction. Tension f pulls a particle back sideways by ``f / length`` per
metre of deviation. Where ``h^2 w f / length`` is above a third, a light particle is thrown beyond its neighbours within
a substep, and farther in the next: a body that hangs on the line explodes. The missing term is the geometric stiffness
(Tournier et al. 2015, Stable constrained dynamics, doi:10.1145/2766969). A taut line is therefore solved in rounds.
Each takes the force densities ``q = -l / length`` found so far, applies them implicitly,

    (M + L) d = -L x,    where L is the Laplacian of the line weighted by q,

which is tridiagonal too and never overshoots, and solves for the remaining correction at the new positions. Forces act
between particles, so momentum is conserved. The correction of the last round is scaled down where it is too stiff
itself. Lines that a curved collider carries, and all lines in Jacobi's method, are solved once.
"""

from __future__ import annotations

from typing import Any

from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.native import call


def line_text(options: SweepOptions, scalar: Any) -> str:
    """Return the C++ statement that solves a line: ``native/lines.h``.

    Args:
        options: options to compile for; ``longest_line`` is the capacity in segments.
        scalar: ``wp.float32`` or ``wp.float64``; the text is the same.
    """
    flags = [options.keep_lambda, options.supports, options.leans, options.grip_forces, options.wrenches]
    flags.append(options.compensated)
    chosen = f"pbd::LineOptions<{max(options.longest_line, 1)}, {', '.join(str(int(flag)) for flag in flags)}>"
    return call("solve_line", chosen, arguments="it, table, body, inv_h, iteration, size, stiffness")


def line_damping_text(options: SweepOptions, scalar: Any) -> str:
    """Return the C++ statement that damps a line: ``native/line_damping.h``.

    Args:
        options: options to compile for.
        scalar: ``wp.float32`` or ``wp.float64``; the text is the same.
    """
    room = max(options.longest_line, 1)
    return call("damp_line", room, options.grip_forces, arguments="it, table, inv_h, stiffness")
