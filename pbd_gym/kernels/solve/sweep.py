"""The sweep over the constraints of one kind: the part of a Gauss-Seidel or Jacobi iteration that all kinds share.

A sweep visits the colours, and within each its constraints; it projects one at a time in every lane or, in a lone
environment on a CPU, several at once. The projection itself is traced from the formula of the kind
(:mod:`pbd_gym.kernels.solve.projection`). Its C++ reads and writes particles through an access (``native/sweep.h``), so
that the same text serves each of these cases. Clusters of any size loop over their members instead:
:mod:`pbd_gym.kernels.solve.clusters`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import warp as wp

from pbd_gym.formulas import emit
from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.parameters import COMPLIANCE, INV_SIZE, SIZE
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.native import call, lanes_type, precision, scalar_name
from pbd_gym.kernels.solve.projection import Inputs, damp, project, rescue


def element_text(
    formula: Callable[..., Any],
    width: int,
    fields: Mapping[str, tuple[int, ...]],
    options: SweepOptions,
    scalar: Any,
    compliance_power: int = 0,
    one_sided: bool = False,
    damping: bool = False,
    rescue: tuple[Callable[..., Any], Callable[..., Any]] | None = None,
) -> str:
    """Return C++ statements that project or damp constraint ``c``, which has a fixed number of particles.

    Args:
        formula: from traced positions and fields to C, see :class:`pbd_gym.constraints.Kind`.
        width: particles of one constraint.
        fields: shape of each field that the formula may read.
        options: options to compile for.
        scalar: ``wp.float32`` or ``wp.float64``.
        compliance_power: power of an environment's size that the compliance grows with.
        one_sided: whether the field ``side`` says on which side the constraint acts.
        damping: whether to damp.
        rescue: for constraints that can collapse, a formula that is below zero there, and one for :func:`rescue_text`.
    """
    inputs = Inputs(options)
    residual = inputs.residual(formula, width, fields)
    done = (damp if damping else project)(inputs, residual, width, compliance_power, one_sided)
    gather = "\n".join(f"V x{k}, y{k}, z{k}, w{k}; it.gather({k}, x{k}, y{k}, z{k}, w{k});" for k in range(width))
    if rescue is None or damping:
        return f"{gather}\n{emit(done, precision(scalar))}\n"
    done.append(("standing = {};", [inputs.residual(rescue[0], width, fields).value]))
    after = rescue_text(rescue[1], width, fields, options, scalar, compliance_power)
    return f"{gather}\nV standing;\n{{\n{emit(done, precision(scalar))}\n}}\n{after}"


def rescue_text(
    formula: Callable[..., Any],
    width: int,
    fields: Mapping[str, tuple[int, ...]],
    options: SweepOptions,
    scalar: Any,
    compliance_power: int,
) -> str:
    """Return C++ statements that follow a projection, for kinds that can collapse.

    If nothing has collapsed in any lane they are skipped by a branch. A constraint has collapsed where the number
    ``standing`` is below zero.

    Args:
        formula: from traced positions and fields to C of the energy that leads out.
        width: particles of one constraint.
        fields: shape of each field that the formulas may read.
        options: options to compile for.
        scalar: ``wp.float32`` or ``wp.float64``.
        compliance_power: power of an environment's size that the compliance grows with.
    """
    inputs = Inputs(replace(options, keep_lambda=False))
    residual = inputs.residual(formula, width, fields)
    done = rescue(inputs, residual, inputs.graph.symbol("standing"), width, compliance_power)
    statements = emit(done, precision(scalar))
    gather = "\n".join(f"it.gather({k}, x{k}, y{k}, z{k}, w{k});" for k in range(width))
    return f"if (pbd::any(standing < T(0))) {{\n{gather}\n{statements}\n}}\n"


def _sweep_options(options: SweepOptions, width: int) -> str:
    """Return the C++ name of a sweep's options."""
    return f"pbd::SweepOptions<{width}, {int(options.packed)}, {int(options.jacobi)}, {int(options.symmetric)}>"


def _given(options: SweepOptions) -> str:
    """Return the statements that define the other inputs of a projection, besides its particles and its own numbers."""
    text = "using V = typename decltype(it)::V;\nusing N = typename decltype(it)::N;\n"
    if options.varied:
        text += f"const V size = it.parameter({int(SIZE)}), inv_size = it.parameter({int(INV_SIZE)});\n"
        text += f"const V stiffness = it.labelled_parameter({int(COMPLIANCE)});\n"
    else:
        text += "const V size = V(T(1)), stiffness = size;\n"
    if options.keep_lambda:  # multipliers start at zero once per substep, not once per iteration
        text += "const V old = iteration > 0 ? it.multiplier() : V(T(0));\n"
    return text


def make_sweep(wide: Wide, data: Any, options: SweepOptions, name: str, text: str, width: int = 0) -> Any:
    """Build the sweep over all constraints of a kind, for one group; or over those of one colour.

    Args:
        wide: lane count and precision.
        data: the struct of the whole model, with a table called ``name``.
        options: options to compile for.
        name: name of the kind.
        text: C++ statements that project the constraint or constraints of the access ``it``.
        width: particles of a constraint; 0 for any number.
    """
    scalar: Any = wide.scalar
    body_: Any = body_type(wide.vec)
    chosen = _sweep_options(options, width)
    arguments = "table, body, iteration, only, thread, thread_count, project"
    code = f"""
using T = {scalar_name(scalar)};
using pbd::root;
using pbd::angle;
const auto& table = model.{name};
const T inv_h2 = inv_h * inv_h;
const auto project = [&](auto it) {{
PBD_CONTRACT_ON
{_given(options)}{text}}};
{call("sweep", lanes_type(wide.lanes, scalar), chosen, arguments=arguments)}
"""

    @wp.func_native(code)
    def sweep(
        model: data, body: body_, inv_h: scalar, iteration: int, only: int, thread: int, thread_count: int
    ) -> None: ...

    return sweep
