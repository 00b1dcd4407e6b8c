"""Lines: chains of distance constraints whose corrections are solved together, exactly.

Gauss-Seidel moves a correction by one particle a sweep, so a fine thread stretches. The segments k of a line, between
its particles k and k + 1, make up the system

    (w_k + w_{k+1} + alpha_k) dl_k - w_k (n_{k-1} . n_k) dl_{k-1} - w_{k+1} (n_k . n_{k+1}) dl_{k+1}
        = -C_k - alpha_k l_k

with directions n, inverse masses w, multipliers l and ``alpha = compliance / h^2``: XPBD's linear system (Macklin et
al. 2016, doi:10.1145/2994258.2994272, eq. 18 and 26) for all segments at once. It is tridiagonal, and Thomas's
algorithm solves it in one pass forth and one back. Deul et al. 2018, Direct position-based solver for stiff rods,
doi:10.1111/cgf.13326. A particle that is held or pinned has w = 0 and cuts the line in two.

A particle that a curved collider carries has no weight along the normal there:
:mod:`pbd_gym.kernels.colliders.supports`. Lines go round colliders by their lengths along these, with a belt's
friction: ``native/wraps.h``. One that tension presses on other particles counts as heavier there, and the line yields
before contacts do: :mod:`pbd_gym.kernels.contacts.leans`.

Damping works on the velocities at the end of a substep (:func:`pbd_gym.kernels.solve.projection.damp`), by the same
matrix, of which the part that comes from the weights is multiplied by ``1 + gamma``, with ``-gamma n_k . (d_{k+1} -
d_k)`` on the right, d being the displacements in the substep.

The system takes directions as they are before the correction. Tension f pulls a particle back sideways by ``f /
length`` for every metre that it is off. Where ``h^2 w f / length`` is above a third, a light particle is thrown beyond
its neighbours within a substep, and farther in the next: what hangs on the line explodes. The missing term is the
geometric stiffness (Tournier et al. 2015, Stable constrained dynamics, doi:10.1145/2766969). A line that is taut is
therefore solved for in rounds. Each takes the force densities ``q = -l / length`` found so far, lets the particles go
where these take them implicitly,

    (M + L) d = -L x,    with L the Laplacian of the line that is weighted by q,

which is tridiagonal too and never overshoots, and solves there for what is left of the correction. Forces act between
particles: momentum is kept. What the last round finds is cut where it is too stiff itself. Lines that a curved collider
carries are solved for once, and so are all by Jacobi's method.
"""

from __future__ import annotations

from typing import Any

from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.native import call


def line_text(options: SweepOptions, scalar: Any) -> str:
    """Return the C++ statement that solves a line: ``native/lines.h``.

    Args:
        options: what to compile for; ``longest_line`` is the number of segments there is room for.
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
