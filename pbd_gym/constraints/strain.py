"""What strain-based constraints share: one constraint for each component of the strain of a triangle or tetrahedron.

A component needs the images f and g of one or two material directions under the deformation gradient: differences of
positions with fixed weights. *Stretch* is about the length of one, *shear* about the angle between two. Each component
has a compliance and a multiplier of its own, so a woven or fibrous material has one stiffness for each.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.kind import Kind
from pbd_gym.runtime.checks import finite

# One text: the mode is that of the constraint, the same in all lanes, so that it may be branched on.
_STRAIN = """
    const int mode = (int)NUMBER(mode);
    if (mode == 0) {  // |f| - 1
        scale = SQRT(fx * fx + fy * fy + fz * fz);
        value = scale - T(1);
        px = fx; py = fy; pz = fz;
    } else if (mode == 1) {  // cosine of the angle of f and g
        const V ff = fx * fx + fy * fy + fz * fz, gg = gx * gx + gy * gy + gz * gz, fg = fx * gx + fy * gy + fz * gz;
        scale = SQRT(ff) * SQRT(gg);
        value = fg / FLOOR(scale, 1e-30);
        const V on_f = fg / FLOOR(ff, 1e-30), on_g = fg / FLOOR(gg, 1e-30);
        px = gx - on_f * fx; py = gy - on_f * fy; pz = gz - on_f * fz;
        rx = fx - on_g * gx; ry = fy - on_g * gy; rz = fz - on_g * gz;
    } else if (mode == 2) {  // f . f - 1
        value = fx * fx + fy * fy + fz * fz - T(1);
        px = T(2) * fx; py = T(2) * fy; pz = T(2) * fz;
    } else {  // f . g
        value = fx * gx + fy * gy + fz * gz;
        px = gx; py = gy; pz = gz; rx = fx; ry = fy; rz = fz;
    }
"""


def _code(corners: int) -> str:
    """Return the statements for elements of ``corners`` particles besides particle 0."""
    number = range(corners)
    parts = [f"    const V {name}{k} = ENTRY({name}, {k}) * inv_size;" for k in number for name in ("along", "across")]
    for axis in "xyz":
        parts += [f"    const V u{k}{axis} = {axis}{k + 1} - {axis}0;" for k in number]
        f, g = (" + ".join(f"{name}{k} * u{k}{axis}" for k in number) for name in ("along", "across"))
        parts.append(f"    const V f{axis} = {f}, g{axis} = {g};")
    parts.append("    V px, py, pz, rx = V(T(0)), ry = V(T(0)), rz = V(T(0));" + _STRAIN)
    parts += [f"    q{k + 1}{axis} = along{k} * p{axis} + across{k} * r{axis};" for k in number for axis in "xyz"]
    return "\n".join(parts)


def make_kind(name: str, components: Mapping[str, tuple[int, int]], rest: Callable[..., np.ndarray]) -> Kind:
    """Make the kind of the strain components of one sort of element.

    ``C = |f| - 1`` for stretch and ``f . g / (|f| |g|)`` for shear where ``normalized``, with which a stretch does not
    pass for a shear, else ``f . f - 1`` and ``f . g``, twice the components of the Green strain. All are pure numbers.
    With weights a and b, ``f = sum_k a_k (x_k - x_0)`` and g likewise, gradients at x_k are ``a_k dC/df + b_k dC/dg``:
    ``dC/df`` is ``f / |f|``, ``(g / |g| - C f / |f|) / |f|``, ``2 f`` and ``g`` in the four cases. Energy
    ``C^2 / (2 compliance)``, compliance in 1/J. Mueller, Chentanez, Kim, Macklin 2014, Strain based dynamics,
    doi:10.2312/sca.20141133, section 3; multiplier of Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.

    Args:
        name: of the kind.
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
        soft = finite("compliance", np.asarray(compliance, dtype=np.float64), (count,))
        if (soft < 0).any():
            raise ValueError("compliance must not be negative")
        inverse = rest(positions, indices, **parameters)
        columns = np.array([components[str(key)] for key in names], dtype=np.int64).reshape(count, 2)
        each = np.arange(count)
        shear = columns[:, 0] != columns[:, 1]
        return {
            "along": inverse[each, :, columns[:, 0]],
            "across": inverse[each, :, columns[:, 1]] * shear[:, None],
            "mode": shear + (0.0 if normalized else 2.0),
            "compliance": soft,
        }

    text = _code(size)
    fields = {"along": (size,), "across": (size,), "mode": ()}
    return Kind(name, size + 1, prepare, fields, lambda scalar: text, branches=True)
