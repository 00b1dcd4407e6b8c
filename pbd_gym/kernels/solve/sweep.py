"""The sweep over the constraints of one kind: what all kinds share of a Gauss-Seidel or Jacobi iteration.

A sweep goes over the colours, and within each over its constraints, of which it projects 1 in every lane or, in a lone
environment on a CPU, several at once (:mod:`pbd_gym.kernels.lanes.batches`). The projection itself is traced from the
formula of the kind (:mod:`pbd_gym.kernels.solve.projection`); its C++ (:mod:`pbd_gym.kernels.lanes.snippets`) reads and
writes particles through macros, so the same text serves each of these cases. Clusters of any size loop over their
members
instead: :mod:`pbd_gym.kernels.solve.clusters`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import warp as wp

from pbd_gym.formulas import emit
from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.parameters import COMPLIANCE, INV_SIZE, SIZE
from pbd_gym.kernels.lanes.batches import batch_loops
from pbd_gym.kernels.lanes.snippets import precision, with_lanes
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.solve.projection import Inputs, project


def element_text(
    formula: Callable[..., Any],
    width: int,
    fields: Mapping[str, tuple[int, ...]],
    options: SweepOptions,
    scalar: Any,
    compliance_power: int = 0,
    one_sided: bool = False,
) -> str:
    """Return C++ statements that project constraint ``c``, which has a fixed number of particles.

    Args:
        formula: from traced positions and fields to C, see :class:`pbd_gym.constraints.Kind`.
        width: particles of one constraint.
        fields: shape of each field that the formula may read.
        options: what to compile for.
        scalar: ``wp.float32`` or ``wp.float64``.
        compliance_power: power of an environment's size that the compliance grows with.
        one_sided: whether the field ``side`` says on which side the constraint acts.
    """
    inputs = Inputs(options)
    residual = inputs.residual(formula, width, fields)
    statements = emit(project(inputs, residual, width, compliance_power, one_sided), precision(scalar))
    gather = "\n".join(f"GATHER({k}, x{k}, y{k}, z{k}, w{k})" for k in range(width))
    return f"constexpr int WIDTH = {width};\nconst int* const at = indices + WIDTH * c;\n{gather}\n{statements}\n"


_SWEEP = """
#define DAMPED {damped}
#define JACOBI {jacobi}
constexpr int ROW = {row};
{{
    const auto& table = model.{name};
    const int* const bounds = table.bounds.data;
    const int* const indices = (const int*)table.indices.data;
    T* const x = (T*)body.x.data;
    T* const delta = (T*)body.delta.data;
    T* const lam = (T*)body.lam.data + LANES * table.first;
    T* const memory = (T*)body.memory.data + LANES * table.first_memory;
    T* const pull = (T*)body.pull.data;
    const T* const w = (const T*)body.inv_mass.data;
    const T* const previous = (const T*)body.previous.data;
    const T* const parameters = (const T*)body.parameters.data;
    const T inv_h2 = inv_h * inv_h;
    const int colors = table.bounds.shape[0] - 1;
    const bool reversed = {symmetric} && iteration % 2 == 1;
    // All colours, or one of them, which are counted over all kinds.
    const int lone = only - table.first_color;
    const int from = only < 0 ? 0 : lone < 0 ? colors : lone, to = only < 0 || lone >= colors ? colors : lone + 1;
    for (int k = from; k < to; ++k) {{
        const int color = reversed && only < 0 ? colors - 1 - k : k;
        const int begin = bounds[color], end = bounds[color + 1];
        int n = begin + thread;
{batches}
{lone}
        for (; n < end; n += thread_count) {{
            const int c = reversed ? begin + end - 1 - n : n;
            EACH_LANE {{
{projection}
            }}
        }}
{done}
        PBD_SYNC();
    }}
}}
#undef DAMPED
#undef JACOBI
"""

_PARAMETERS = """
#if {varied}
    const V size = SHARED(parameters + {size} * LANES), inv_size = SHARED(parameters + {inv_size} * LANES);
    const V stiffness = STIFFNESS(parameters + {compliance} * LANES);
#else
    const V size = V(T(1));
#endif
    V old = V(T(0));
#if {keep_lambda}
    if (iteration > 0)  // multipliers start at zero once per substep, not once per iteration
        old = LOAD(lam + LANES * c);
#endif
"""
"""What a projection reads besides its particles and its own numbers."""

_ONE = """
#define GATHER(k, px, py, pz, weight) \\
    const Index a##k = at[k]; \\
    const V px = LOAD(x + (ROW * a##k + 0) * LANES), py = LOAD(x + (ROW * a##k + 1) * LANES), \\
        pz = LOAD(x + (ROW * a##k + 2) * LANES), weight = LOAD(w + a##k * LANES);
#define BEFORE(k, axis) LOAD(previous + (ROW * a##k + axis) * LANES)
#define STIFFNESS(from) LOAD((from) + table.label.data[c] * LANES)
// Where a coordinate of a particle goes: into what a Jacobi sweep gathers, or at once to its place.
#if JACOBI
#define PLACE(a, axis) (delta + (3 * a + axis) * LANES)
#else
#define PLACE(a, axis) (x + (ROW * a + axis) * LANES)
#endif
#define GATHERED(k, axis) LOAD(PLACE(a##k, axis))
#define SCATTER(k, px, py, pz, weight) \\
    STORE(PLACE(a##k, 0), px); STORE(PLACE(a##k, 1), py); STORE(PLACE(a##k, 2), pz);
// What would have moved a particle that is held, per inverse mass.
#define ADD_PULL(a, px, py, pz, weight) \\
    if (ANY((weight) <= T(0))) { \\
        T* const sum = pull + 3 * (a) * LANES; \\
        const V fixed = (weight) <= T(0) ? V(T(1)) : V(T(0)); \\
        STORE(sum, LOAD(sum) + fixed * (px)); \\
        STORE(sum + LANES, LOAD(sum + LANES) + fixed * (py)); \\
        STORE(sum + 2 * LANES, LOAD(sum + 2 * LANES) + fixed * (pz)); \\
    }
#define PULL(k, px, py, pz, weight) ADD_PULL(a##k, px, py, pz, weight)
"""
"""Access to the particles of one constraint."""

_DONE = """
#undef GATHER
#undef SCATTER
#undef BEFORE
#undef STIFFNESS
#undef GATHERED
#undef ADD_PULL
#undef PULL
#undef PLACE
"""


def make_sweep(wide: Wide, data: Any, options: SweepOptions, name: str, text: str, width: int = 0) -> Any:
    """Build the sweep over all constraints of a kind, for one group; or over those of one colour.

    Args:
        wide: lane count and precision.
        data: the struct of the whole model, with a table called ``name``.
        options: what to compile for.
        name: of the kind.
        text: C++ statements on lanes that project constraint ``c``.
        width: particles of a constraint, of which several of a colour are projected together; 0 for one at a time.
    """
    scalar: Any = wide.scalar
    body_: Any = body_type(wide.vec)
    flags = {flag: int(getattr(options, flag)) for flag in ("damped", "jacobi", "symmetric", "keep_lambda", "varied")}
    columns = {"size": int(SIZE), "inv_size": int(INV_SIZE), "compliance": int(COMPLIANCE)}
    projection = _PARAMETERS.format(**columns, **flags) + text
    batches = batch_loops(wide, projection, _DONE, width) if width else ""
    row = 4 if options.packed else 3
    texts = {"batches": batches, "lone": _ONE, "projection": projection, "done": _DONE}
    code = _SWEEP.format(name=name, row=row, **texts, **flags)

    @wp.func_native(with_lanes(wide, code))
    def sweep(
        model: data, body: body_, inv_h: scalar, iteration: int, only: int, thread: int, thread_count: int
    ) -> None: ...

    return sweep
