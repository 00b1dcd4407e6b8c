"""Strain-based cloth and solids: one constraint for each component of the strain of a triangle or tetrahedron.

A component needs the images f and g of one or two material directions under the deformation gradient: differences of
positions with fixed weights. *Stretch* is about the length of one, *shear* about the angle between two. Each component
has a compliance and a multiplier of its own, so a woven or fibrous material has one stiffness for each.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.kind import Kind
from pbd_gym.constraints.tet_fem import rest_edges
from pbd_gym.constraints.triangle_fem import inverse_rest
from pbd_gym.formulas import Number, Scalar, Vec3, dot, gradients, maximum, minimum, norm, where
from pbd_gym.kernels.solve.projection import Residual
from pbd_gym.runtime.checks import not_negative

_VANISHING = 1e-3
"""Sine squared of the angle, or squared length, below which the gradient is so small that C fades out with it."""


def strain(
    x: Sequence[Vec3],
    along: Sequence[Number],
    across: Sequence[Number],
    shear: Number,
    normalized: Number,
    inv_size: Number,
) -> Residual:
    """Return one component of the strain; :func:`make_kind` states what C is in each case.

    A gradient that vanishes while C does not would require an infinite step: that of the cosine where f and g are
    parallel, and that of ``f . f - 1`` where f is zero. There C is made to vanish as well, so that a step is at most
    about thirty lengths long.
    """
    sides = [corner - x[0] for corner in x[1:]]
    f, g = (
        reduce(add, (weight * inv_size * side for weight, side in zip(weights, sides, strict=True)))
        for weights in (along, across)
    )
    ff, gg, fg = dot(f, f), dot(g, g), dot(f, g)
    lengths = norm(f) * norm(g)

    def choose(cosine: Scalar, product: Scalar, length: Scalar, square: Scalar) -> Number:
        return where(
            shear > 0.5,
            where(normalized > 0.5, cosine, ff.same(product)),
            where(normalized > 0.5, length, ff.same(square)),
        )

    value = choose(fg / maximum(lengths, 1e-30), fg, norm(f) - 1.0, ff - 1.0)
    scale = choose(lengths, 1.0, norm(f), 1.0)
    by_f = Vec3(*gradients(value, list(f), scale))
    steepness = choose(dot(by_f, by_f) / maximum(gg, 1e-30), 1.0, 1.0, ff)
    return Residual(value * minimum(steepness / _VANISHING, 1.0), scale=scale, gradient_of=value)


def make_kind(name: str, components: Mapping[str, tuple[int, int]], rest: Callable[..., np.ndarray]) -> Kind:
    """Make the kind of the strain components of one type of element.

    ``C = |f| - 1`` for stretch and ``f . g / (|f| |g|)`` for shear where ``normalized``, with which a stretch does not
    pass for a shear, else ``f . f - 1`` and ``f . g``, twice the components of the Green strain. All are pure numbers.
    With weights a and b, ``f = sum_k a_k (x_k - x_0)`` and g likewise, gradients at x_k are ``a_k dC/df + b_k dC/dg``:
    ``dC/df`` is ``f / |f|``, ``(g / |g| - C f / |f|) / |f|``, ``2 f`` and ``g`` in the four cases. Energy
    ``C^2 / (2 compliance)``, compliance in 1/J. Mueller, Chentanez, Kim, Macklin 2014, Strain based dynamics,
    doi:10.2312/sca.20141133, section 3; multiplier of Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.

    Args:
        name: name of the kind.
        components: for each name of a component the columns of the inverse rest matrix that give f and g.
        rest: from positions, indices and further parameters to the inverse rest matrices [1/m], shape (m, k, k).
    """
    size = max(max(pair) for pair in components.values()) + 1

    def prepare(
        positions: np.ndarray,
        indices: np.ndarray,
        component: ArrayLike,
        compliance: ArrayLike = 0.0,
        normalized: bool = True,
        **parameters: Any,
    ) -> dict[str, np.ndarray]:
        """Check and complete the numbers of new constraints.

        Args:
            positions: of all particles of the scene [m], shape (n, 3); the rest shape.
            indices: particles of each element, shape (m, k); once for each component it is to have.
            component: which component of the strain each constraint is about, one name or shape (m,).
            compliance: inverse stiffness [1/J], one number or shape (m,); 0 is rigid. An element of rest area A (or
                volume V) and stiffness k [N/m] (or [Pa]) has 1 / (k A) (or 1 / (k V)).
            normalized: whether lengths are compared instead of their squares, and angles instead of products.
            **parameters: of the rest shape.

        Returns:
            Arrays by name, the first axis of length m.

        Raises:
            ValueError: for an unknown component, an element without area or volume, a compliance that is negative, a
                number that is not finite, or a wrong shape.
            TypeError: for a parameter that the rest shape does not have.
        """
        count = len(indices)
        names = np.broadcast_to(np.asarray(component), (count,))
        unknown = sorted(set(names.tolist()) - set(components))
        if unknown:
            raise ValueError(f"component must be one of {', '.join(components)}, got {unknown[0]!r}")
        soft = not_negative("compliance", compliance, (count,))
        inverse = rest(positions, indices, **parameters)
        columns = np.array([components[str(key)] for key in names], dtype=np.int64).reshape(count, 2)
        each = np.arange(count)
        shear = columns[:, 0] != columns[:, 1]
        return {
            "along": inverse[each, :, columns[:, 0]],
            "across": inverse[each, :, columns[:, 1]] * shear[:, None],
            "shear": shear.astype(np.float64),
            "normalized": np.full(count, float(normalized)),
            "compliance": soft,
        }

    fields = {"along": (size,), "across": (size,), "shear": (), "normalized": ()}
    return Kind(name, size + 1, prepare, fields, strain)


def _triangle_rest(
    positions: np.ndarray,
    indices: np.ndarray,
    warp: ArrayLike = (1.0, 0.0, 0.0),
    material_positions: ArrayLike | None = None,
) -> np.ndarray:
    return inverse_rest(positions, indices, warp, material_positions)[0]


TRIANGLE = make_kind("strain_triangle", {"warp": (0, 0), "shear": (1, 0), "weft": (1, 1)}, _triangle_rest)
"""One component of the strain of a triangle: ``"warp"``, ``"weft"`` or ``"shear"``.

Besides the parameters of :func:`make_kind` it takes ``warp`` and
``material_positions``, as in :func:`pbd_gym.constraints.triangle_fem.inverse_rest`.
"""


def _tet_rest(positions: np.ndarray, indices: np.ndarray) -> np.ndarray:
    return np.linalg.inv(rest_edges(positions, indices))


TET = make_kind(
    "strain_tet", {"x": (0, 0), "xy": (1, 0), "y": (1, 1), "xz": (2, 0), "yz": (2, 1), "z": (2, 2)}, _tet_rest
)
"""A strain of a tetrahedron: a stretch, ``"x"``, ``"y"``, ``"z"``, or shear, ``"xy"``, ``"xz"``, ``"yz"``.

The material directions are the world axes at the time the elements are added. Strain alone does not distinguish an
inverted tetrahedron from a proper one; ``tet_volume`` does. See :func:`make_kind`.
"""
