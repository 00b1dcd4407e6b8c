"""Shape matching: clusters of particles that keep their shape while they rotate and move freely."""

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.kind import Kind
from pbd_gym.kernels.solve.clusters import cluster_damping_text, cluster_text
from pbd_gym.runtime.checks import not_negative


def prepare(positions: np.ndarray, indices: list[np.ndarray], compliance: ArrayLike = 0.0) -> dict[str, np.ndarray]:
    """Check and complete the numbers of new clusters.

    Args:
        positions: of all particles of the scene [m], shape (n, 3); a cluster's current positions are its rest shape.
        indices: particles of each cluster, m arrays of shape (k,).
        compliance: inverse stiffness per mass [s^2], one number or shape (m,); 0 is rigid. Particles of one cluster
            swing about their goals with the angular frequency ``1 / sqrt(compliance)``.

    Returns:
        Arrays by name: ``compliance``, shape (m,), and ``rest``, positions relative to the first particle of the
        cluster [m], shape (sum of k, 3).

    Raises:
        ValueError: for a cluster without extent, a compliance that is negative, a number that is not finite, or a
            wrong shape.
    """
    values = not_negative("compliance", compliance, (len(indices),))
    rest = [positions[members] - positions[members[0]] for members in indices]
    for number, offsets in enumerate(rest):
        if not offsets.any():
            raise ValueError(f"all particles of cluster {number} are in one place: it has no shape to keep")
    return {"compliance": values, "rest": np.concatenate([np.zeros((0, 3)), *rest])}


KIND = Kind(
    "shape_matching", None, prepare, member_fields={"rest": (3,)}, text=cluster_text, damping_text=cluster_damping_text
)
"""``C(x) = sqrt(sum m |x - g|^2)`` [sqrt(kg) m] with the goals g, the rest shape in the best-fitting rigid motion.

Energy ``C^2 / (2 compliance)``, compliance in s^2; :mod:`pbd_gym.kernels.solve.clusters` derives gradients and steps.
One cluster is the shape matching of Mueller et al. 2005; clusters that overlap are its region-based form. The rotation
is that of :mod:`pbd_gym.kernels.lanes.rotation`, so a flat or inverted cluster returns to its shape.
"""
