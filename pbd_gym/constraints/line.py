"""Lines: threads of a weave, ropes and seams, whose segments are all solved at once."""

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.kind import Kind
from pbd_gym.kernels.solve.lines import line_damping_text, line_text
from pbd_gym.runtime.checks import not_negative


def prepare(
    positions: np.ndarray,
    indices: list[np.ndarray],
    compliance: ArrayLike = 0.0,
    rest_length: ArrayLike | None = None,
) -> dict[str, np.ndarray]:
    """Check and complete the numbers of new lines.

    Args:
        positions: of all particles of the scene [m], shape (n, 3).
        indices: particles of each line in order, m arrays of shape (k,), k at least 2.
        compliance: inverse stiffness of the segments [m/N], one number or shape (sum of k - 1,), those of the first
            line first.
        rest_length: of the segments [m], likewise; by default the distances the particles have now.

    Returns:
        Arrays by name: ``compliance``, the largest of a line, shape (m,); ``relative_compliance``, that of each segment
        over it, and ``rest_length``, shape (sum of k,), with a 0 after the last segment of each line.

    Raises:
        ValueError: for a number that is negative or not finite, or a wrong shape.
    """
    counts = np.array([len(members) - 1 for members in indices], dtype=int)
    if rest_length is None:
        sides = [np.linalg.norm(np.diff(positions[members], axis=0), axis=1) for members in indices]
        rest_length = np.concatenate([np.zeros(0), *sides])
    values = {}
    for name, value in (("rest_length", rest_length), ("compliance", compliance)):
        values[name] = not_negative(name, value, (int(counts.sum()),))
    ends = np.cumsum(counts)
    largest = np.array([part.max(initial=0.0) for part in np.split(values["compliance"], ends)[:-1]])
    spread = np.repeat(largest, counts)
    relative = np.divide(values["compliance"], spread, out=np.ones_like(spread), where=spread > 0)
    return {
        "compliance": largest,
        "relative_compliance": np.insert(relative, ends, 0.0),
        "rest_length": np.insert(values["rest_length"], ends, 0.0),
    }


KIND = Kind(
    "line",
    None,
    prepare,
    member_fields={"rest_length": (), "relative_compliance": ()},
    text=line_text,
    damping_text=line_damping_text,
    chain=True,
)
"""``C_k(x) = |x_{k+1} - x_k| - l_k`` [m] of every segment k of a line, for all k together.

Energy ``sum C_k^2 / (2 compliance_k)``, compliance in m/N. :mod:`pbd_gym.kernels.solve.lines` has the linear system and
its solution. A correction reaches the ends of a line at once, where distance constraints pass it on by one particle in
each iteration, so that fine cloth and long ropes keep their lengths.
"""
