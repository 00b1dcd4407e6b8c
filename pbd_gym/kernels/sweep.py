"""The sweep over the constraints of one kind: what all kinds share of a Gauss-Seidel or Jacobi iteration.

A kind says in C++ on lanes (:mod:`pbd_gym.kernels.lanes`) what its constraint is worth and where its gradients point;
the sweep gathers positions, takes the XPBD step with compliance, damping and multiplier, and scatters corrections.
Gathering and scattering are written out for constraints with a fixed number of particles here, and as loops for
clusters of any size in :mod:`pbd_gym.kernels.clusters`.
"""

import functools
from dataclasses import dataclass
from typing import Any

import warp as wp

from pbd_gym.kernels.lanes import with_lanes
from pbd_gym.kernels.parameters import COMPLIANCE, INV_SIZE, SIZE
from pbd_gym.kernels.wide import Wide


@dataclass(frozen=True)
class SweepOptions:
    """What a kernel is compiled for; everything else costs nothing."""

    keep_lambda: bool = False
    """Whether multipliers are stored: more than one iteration needs them."""
    damped: bool = False
    """Whether some constraint has a damping time."""
    jacobi: bool = False
    """Whether corrections are gathered and applied after the sweep, instead of at once."""
    symmetric: bool = False
    """Whether every second iteration sweeps backwards."""
    chebyshev: bool = False
    """Whether iterations are extrapolated."""
    particle_contacts: bool = False
    """Whether particles collide with one another."""
    shared: int = 0
    """Particles for whose positions and weights a CUDA block has shared memory; 0 leaves them in global memory."""
    varied: bool = False
    """Whether environments differ in their parameters."""


@functools.cache
def body_type(vec: Any) -> Any:
    """Warp struct of what sweeps read and write of one group: rows of the state."""
    scalar = vec._wp_scalar_type_

    @wp.struct
    class Body:
        x: wp.array2d[vec]
        """positions [m], shape (n, 3)"""
        previous: wp.array2d[vec]
        """positions at the start of the substep [m], shape (n, 3)"""
        inv_mass: wp.array1d[vec]
        """[1/kg], shape (n,)"""
        parameters: wp.array1d[vec]
        """see :mod:`pbd_gym.kernels.parameters`"""
        lam: wp.array1d[vec]
        """multipliers, shape (m,)"""
        memory: wp.array1d[vec]
        """what constraints remember from substep to substep, shape (memory,)"""
        delta: wp.array2d[vec]
        """corrections that a Jacobi sweep gathers [m], shape (n, 3)"""
        relaxation: scalar
        """factor of Jacobi corrections"""

    return Body


SOLVE = """
    const V weight = {weight};
    V numerator = -(value + alpha * old) * scale;
    V denominator = weight + alpha * scale * scale;
#if DAMPED
    const T gamma = table.damping_time.data[c] * inv_h;
    numerator -= gamma * ({advance});
    denominator += gamma * weight;
#endif
    V s = numerator / FLOOR(denominator, sizeof(T) == 4 ? 1e-20 : 1e-30);
"""
"""From ``value``, C, and ``q1x ...``, gradients times ``scale``, to s with ``dx_k = w_k q_k s``.

With gradients g, inverse masses w and alpha = compliance / h^2, XPBD's step is
``delta_lambda = -(C + alpha lambda + gamma g.(x - x_prev)) / ((1 + gamma) sum w |g|^2 + alpha)``; gamma = tau / h for
damping in proportion to the stiffness with the time constant tau (Rayleigh; XPBD's alpha beta / h with beta = tau /
compliance, so that it also damps rigid constraints). Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 18 and 26.
With q = scale g, ``s = delta_lambda / scale`` needs no division by ``scale``, which may be zero where g is 0/0.
"""


def _gather(width: int) -> str:
    """Return statements that load particles ``k`` of constraint ``c``."""
    parts = [f"    const Index a{k} = at[{k}];" for k in range(width)]
    for k in range(width):
        loads = ", ".join(f"{axis}{k} = LOAD(x + (3 * a{k} + {i}) * LANES)" for i, axis in enumerate("xyz"))
        parts.append(f"    const V {loads}, w{k} = LOAD(w + a{k} * LANES);")
    return "\n".join(parts)


def _scatter(width: int) -> str:
    """Return statements that move the particles."""
    parts = []
    for k in range(width):
        for i, axis in enumerate("xyz"):
            slot = f"(3 * a{k} + {i}) * LANES"
            move = f"q{k}{axis} * s{k}"
            parts.append(f"    MOVE({slot}, {axis}{k}, {move});")
        parts.insert(3 * k + k, f"    const V s{k} = s * w{k};")
    return "\n".join(parts)


@dataclass(frozen=True)
class Text:
    """C++ on lanes of what differs between sweeps."""

    measure: str
    """Statements from constraint ``c`` to ``value`` (C, a V) and ``scale`` (V)."""
    weight: str
    """The sum ``sum w |q|^2`` over its particles, with q the gradient times ``scale``."""
    advance: str
    """The sum ``sum q . (x - previous)`` over its particles."""
    scatter: str
    """Statements that ``MOVE(slot, old, move)`` each coordinate by ``w q s``."""
    solve: str = SOLVE
    """Statements from the above to ``s``."""


def element_text(width: int, code: str, solve: str) -> Text:
    """Return the text of constraints with a fixed number of particles.

    Args:
        width: particles of one constraint.
        code: C++ statements from positions ``x0, y0, z0, ...`` (V), numbers ``table.field.data[c]`` and ``alpha`` (V)
            to ``value`` (C), and gradients times ``scale`` (1 unless set) as ``q1x, q1y, q1z, ...`` for all particles
            but 0, whose gradient is minus the sum of the others.
        solve: like :data:`SOLVE`.
    """
    gradients = ", ".join(f"q{k}{axis}" for k in range(1, width) for axis in "xyz")
    first = ", ".join(f"q0{axis} = -({' + '.join(f'q{k}{axis}' for k in range(1, width))})" for axis in "xyz")
    return Text(
        measure=f"""
    const int* const at = indices + {width} * c;
{_gather(width)}
    V value, scale = V(T(1)), {gradients};
    {{
{code}
    }}
    const V {first};
""",
        weight=" + ".join(f"w{k} * (q{k}x * q{k}x + q{k}y * q{k}y + q{k}z * q{k}z)" for k in range(width)),
        advance=" + ".join(
            f"q{k}{axis} * ({axis}{k} - LOAD(previous + (3 * a{k} + {i}) * LANES))"
            for k in range(width)
            for i, axis in enumerate("xyz")
        ),
        scatter=_scatter(width),
        solve=solve,
    )


_SWEEP = """
#define DAMPED {damped}
#define JACOBI {jacobi}
#if JACOBI
#define MOVE(slot, old, move) STORE(delta + (slot), LOAD(delta + (slot)) + (move))
#else
#define MOVE(slot, old, move) STORE(x + (slot), (old) + (move))
#endif
{{
    const auto& table = model.{name};
    const int* const bounds = table.bounds.data;
    const int* const indices = (const int*)table.indices.data;
    T* const x = (T*)body.x.data;
    T* const delta = (T*)body.delta.data;
    T* const lam = (T*)body.lam.data + LANES * table.first;
    T* const memory = (T*)body.memory.data + LANES * table.first_memory;
    const T* const w = (const T*)body.inv_mass.data;
    const T* const previous = (const T*)body.previous.data;
    const T* const parameters = (const T*)body.parameters.data;
    const T inv_h2 = inv_h * inv_h;
    const int colors = table.bounds.shape[0] - 1;
    const bool reversed = {symmetric} && iteration % 2 == 1;
    for (int k = 0; k < colors; ++k) {{
        const int color = reversed ? colors - 1 - k : k;
        const int begin = bounds[color], end = bounds[color + 1];
        for (int n = begin + thread; n < end; n += thread_count) {{
            const int c = reversed ? begin + end - 1 - n : n;
            EACH_LANE {{
#if {varied}
    const V size = LOAD(parameters + {size} * LANES), inv_size = LOAD(parameters + {inv_size} * LANES);
    V alpha = table.compliance.data[c] * inv_h2 * LOAD(parameters + ({compliance} + table.label.data[c]) * LANES);
#else
    const V size = V(T(1)), inv_size = T(1) / size;
    V alpha = V(table.compliance.data[c] * inv_h2);
#endif
    V old = V(T(0));
#if {keep_lambda}
    if (iteration > 0)  // multipliers start at zero once per substep, not once per iteration
        old = LOAD(lam + LANES * c);
#endif
{measure}
{solve}
#if JACOBI
    s *= body.relaxation * table.share.data[c];
#endif
#if {keep_lambda}
    STORE(lam + LANES * c, old + s * scale);
#endif
{scatter}
            }}
        }}
#if defined(__CUDA_ARCH__)
        __syncthreads();
#endif
    }}
}}
#undef DAMPED
#undef JACOBI
#undef MOVE
"""


def make_sweep(wide: Wide, data: Any, options: SweepOptions, name: str, text: Text) -> Any:
    """Build the sweep over all constraints of a kind, for one group.

    Args:
        wide: lane count and precision.
        data: the struct of the whole model, with a table called ``name``.
        options: what to compile for.
        name: of the kind.
        text: what its constraints are.
    """
    scalar, body_ = wide.scalar, body_type(wide.vec)
    code = _SWEEP.format(
        name=name,
        measure=text.measure,
        solve=text.solve.replace("{weight}", text.weight).replace("{advance}", text.advance),
        scatter=text.scatter,
        **{flag: int(getattr(options, flag)) for flag in ("damped", "jacobi", "symmetric", "keep_lambda", "varied")},
        **{name: int(column) for name, column in (("size", SIZE), ("inv_size", INV_SIZE), ("compliance", COMPLIANCE))},
    )

    @wp.func_native(with_lanes(wide, code))
    def sweep(model: data, body: body_, inv_h: scalar, iteration: int, thread: int, thread_count: int): ...

    return sweep
