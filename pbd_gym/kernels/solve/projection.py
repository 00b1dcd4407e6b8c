"""The projection of a constraint, traced from its formula: positions in, corrected positions and multiplier out.

C, gradients, weights, multiplier and corrections are one graph: common parts are computed once, and a factor that one
part multiplies by and the next divides by cancels.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pbd_gym.formulas import (
    Graph,
    Matrix,
    Number,
    Scalar,
    Vec3,
    by_precision,
    combine,
    dot,
    factor_out,
    gradients,
    maximum,
    sqrt,
    where,
    without_factor,
)
from pbd_gym.kernels.data.options import SweepOptions

GIVEN = ("size", "inv_size", "before", "memory", "inv_h", "first_iteration")
"""Arguments that a formula may take besides positions and the fields of its kind."""


@dataclass(frozen=True)
class Residual:
    """Result of a formula for which C alone is not enough."""

    value: Number
    """Value of C."""
    scale: Scalar = 1.0
    """Factor of the gradients: ``q = scale grad C``. With the right scale neither q nor the step needs a division, so
    the step is finite where the gradient is 0/0.
    """
    gradient_of: Number | None = None
    """Number with the gradient of C, if C is written differently to keep its digits, or is held back; by default C."""
    potential: Number | None = None
    """Number with the gradient q, scale included, instead."""
    gradient: Sequence[Vec3] | None = None
    """Hand-written q of each particle, instead."""
    memory: Number | None = None
    """New value of the constraint's memory, if it has one."""

    def gradients(self, positions: Sequence[Vec3]) -> list[Vec3]:
        """Return q of each particle.

        Raises:
            ValueError: for a gradient that does not have one vector for each particle.
        """
        if self.gradient is not None:
            if len(self.gradient) != len(positions):
                raise ValueError(f"the gradient has {len(self.gradient)} vectors for {len(positions)} particles")
            return list(self.gradient)
        inputs = [coordinate for point in positions for coordinate in point]
        if self.potential is not None:
            found = gradients(self.potential, inputs)
        else:
            found = gradients(self.value if self.gradient_of is None else self.gradient_of, inputs, self.scale)
        return [Vec3(*found[k : k + 3]) for k in range(0, len(found), 3)]


def energy(psi: Number, twice: Number | None = None) -> Residual:
    """Return ``C = sqrt(2 psi)``, so that ``C^2 / 2`` is an energy.

    The gradient of C is that of psi over C, at rest 0/0. With C as the scale the step uses the gradient of psi alone,
    which is zero at rest and needs no threshold.

    Args:
        psi: the energy, up to a constant.
        twice: twice the energy without that constant, by default ``2 psi``; rounding may leave it below zero.
    """
    value = sqrt(maximum(2.0 * psi if twice is None else twice, 0.0))
    return Residual(value, scale=value, potential=psi)


class Inputs:
    """Inputs of a kernel's formulas: symbols of one trace.

    Args:
        options: options that the kernel is compiled for.
    """

    def __init__(self, options: SweepOptions) -> None:
        self.options = options
        self.graph = graph = Graph()
        one, none = graph.const(1.0), graph.const(0.0)
        self.size = graph.symbol("size") if options.varied else one
        self.inv_size = graph.symbol("inv_size") if options.varied else one
        self.inv_h = graph.symbol("inv_h", uniform=True)
        self.memory = graph.symbol("it.memory()")
        self.first_iteration = graph.flag("(iteration == 0)") if options.keep_lambda else one > none
        self.old = graph.symbol("old") if options.keep_lambda else none
        self.alpha = self.field("compliance", ()) * graph.symbol("inv_h2", uniform=True)
        if options.varied:
            self.alpha = self.alpha * graph.symbol("stiffness")

    def positions(self, width: int) -> list[Vec3]:
        """Return the positions of the particles of a constraint."""
        return [Vec3(*(self.graph.symbol(f"{axis}{k}") for axis in "xyz")) for k in range(width)]

    def before(self, width: int) -> list[Vec3]:
        """Return the particles' positions at the start of the substep."""
        return [Vec3(*(self.graph.symbol(f"it.before({k}, {i})") for i in range(3))) for k in range(width)]

    def weights(self, width: int) -> list[Number]:
        """Return the particles' inverse masses."""
        return [self.graph.symbol(f"w{k}") for k in range(width)]

    def field(self, name: str, shape: tuple[int, ...]) -> Any:
        """Return a field of a kind: a number, a tuple, a vector if it has three entries, or a matrix."""
        if not shape:
            return self.graph.symbol(f"it.number(table.{name})", uniform=True)
        width = shape[-1]
        rows = [
            tuple(self.graph.symbol(f"it.entry(table.{name}, {row * width + k})", uniform=True) for k in range(width))
            for row in range(shape[0] if len(shape) == 2 else 1)
        ]
        if len(shape) == 2:
            return Matrix(tuple(rows))
        return Vec3(*rows[0]) if width == 3 else rows[0]

    def residual(self, formula: Callable[..., Any], width: int, fields: Mapping[str, tuple[int, ...]]) -> Residual:
        """Trace a formula.

        Args:
            formula: function of positions, of fields by name, and of anything in :data:`GIVEN` by name.
            width: particles of a constraint.
            fields: shape of each field.

        Raises:
            TypeError: for a formula that returns anything but a number or a :class:`Residual`.
        """
        given: dict[str, Any] = {}
        for name in needs(formula):
            if name == "before":
                given[name] = self.before(width)
            else:
                given[name] = getattr(self, name) if name in GIVEN else self.field(name, fields[name])
        found = formula(self.positions(width), **given)
        if isinstance(found, Residual):
            return found
        if not isinstance(found, Number):
            raise TypeError(f"formula {formula.__name__} must return a number or a Residual, got {found!r}")
        return Residual(found)


def needs(formula: Callable[..., Any]) -> list[str]:
    """Return the names of a formula's arguments besides positions."""
    return list(inspect.signature(formula).parameters)[1:]


def solve(
    inputs: Inputs, value: Number, scale: Number, weight: Number, alpha: Number, kept: Number | None = None
) -> Number:
    """Return s, by which particle k moves by ``w_k q_k s`` and the multiplier grows by ``scale s``.

    With gradients g, inverse masses w and alpha = compliance / h^2, XPBD's step is
    ``delta_lambda = -(C + alpha lambda) / (sum w |g|^2 + alpha)``. Macklin et al. 2016,
    doi:10.1145/2994258.2994272, eq. 18. With q = scale g, ``s = delta_lambda / scale`` needs no division by ``scale``,
    which may be zero where g is 0/0. Damping comes after contacts, see :func:`damp`.

    One sweep leaves a constraint softer than its material, because later constraints still move its particles: as if
    alpha were larger by ``(1 - kept) sum w |g|^2`` (:mod:`pbd_gym.sim.substeps`). With ``kept`` that is taken off
    alpha, down to zero.

    Args:
        inputs: inputs of the trace.
        value: C.
        scale: scale of the gradients.
        weight: ``sum w |q|^2``.
        alpha: compliance over the square of the time step.
        kept: the part of ``sum w |g|^2`` that counts beside the compliance; None for all of it.
    """
    error = value + alpha * inputs.old
    square = scale * scale
    per_square = without_factor(weight, square) if square.value is None else None
    if per_square is not None:  # gradients of constant length: one factor of the scale cancels
        total = per_square + alpha if kept is None else maximum(per_square, kept * per_square + alpha)
        return -error / maximum(total * scale, 1e-30)
    stiff = alpha * square
    total = weight + stiff if kept is None else maximum(weight, kept * weight + stiff)
    return -error * scale / maximum(total, by_precision(weight, 1e-20, 1e-30))


def solve_damping(inputs: Inputs, scale: Number, weight: Number, advance: Number, alpha: Number) -> Number:
    """Return s, by which damping changes the displacement of particle k in the substep by ``w_k q_k s``.

    Damping in proportion to the stiffness with the time constant tau (Rayleigh) has the multiplier
    ``-gamma g.(x - x_prev) / ((1 + gamma) sum w |g|^2 + alpha)`` with gamma = tau / h: XPBD's alpha beta / h with
    beta = tau / compliance, so that it also damps rigid constraints (Macklin et al. 2016,
    doi:10.1145/2994258.2994272, eq. 26).

    Args:
        inputs: inputs of the trace.
        scale: scale of the gradients.
        weight: ``sum w |q|^2``.
        advance: ``sum q . (x - x_prev)``.
        alpha: compliance over the square of the time step.
    """
    gamma = inputs.field("damping_time", ()) * inputs.inv_h
    total = weight + gamma * weight + alpha * (scale * scale)
    return -gamma * advance / maximum(total, by_precision(weight, 1e-20, 1e-30))


def relaxation(inputs: Inputs) -> Number:
    """Return the share of its correction that a constraint may apply in a Jacobi iteration."""
    return inputs.graph.symbol("body.relaxation", uniform=True) * inputs.field("share", ())


def one_sided(inputs: Inputs, s: Number, value: Number, scale: Number) -> Number:
    """Return the step of a constraint that acts on one side only: contacts push, tethers pull.

    Where the new multiplier would have the sign of ``side``, it becomes zero instead. Where the constraint is slack and
    no earlier iteration has used it, nothing happens at all: damping alone does not activate it.

    The multiplier is that of all iterations of a substep, so a later iteration can take back an earlier excess
    (projected Gauss-Seidel: Erleben 2013, Numerical methods for linear complementarity problems in physics-based
    animation, SIGGRAPH course notes). ``side`` is 1 for ``C <= 0``, -1 for ``C >= 0``, and 0 for a constraint that acts
    on both sides.
    """
    side, old = inputs.field("side", ()), inputs.old
    limited = where(side * (old + s * scale) > 0.0, -old / maximum(scale, 1e-30), s)
    held = where(side * old < 0.0, limited, 0.0)
    return where(side * value < 0.0, held, limited)


def _weighed(
    inputs: Inputs, residual: Residual, points: Sequence[Vec3], weights: Sequence[Number]
) -> tuple[list[tuple[Number, list[Number]]], Number]:
    """Return q of each particle, as a factor and the rest, and ``sum w |q|^2``."""
    shared = [factor_out(list(vector)) for vector in residual.gradients(points)]
    weight = inputs.graph.const(0.0)
    terms = [
        (1.0, w * (factor * factor * dot(rest, rest)))
        for w, factor, rest in ((w, factor, Vec3(*rest)) for w, (factor, rest) in zip(weights, shared, strict=True))
    ]
    coefficient, weight = combine(terms)
    return shared, coefficient * weight


def _alpha(inputs: Inputs, power: int) -> Number:
    """Return the compliance of an environment over the square of the time step."""
    return inputs.alpha * (inputs.size**power if power >= 0 else inputs.inv_size**-power)


def damp(inputs: Inputs, residual: Residual, width: int, power: int, limited: bool) -> list[tuple[str, list[Number]]]:
    """Return the effect of damping on one constraint, for :func:`pbd_gym.formulas.emit`.

    It works on the velocities at the end of a substep, after constraints and contacts, and writes them as ``previous =
    x - h v``. Within the sweep it would brake the effect of gravity and of earlier constraints that later ones are
    about to undo: a body at rest would sag. This way a body at rest is not damped, and each constraint only removes
    energy, one after the other. Velocity passes: Mueller et al. 2020, Detailed rigid body simulation with extended
    position based dynamics, doi:10.1111/cgf.14105.

    A one-sided constraint damps no more than it pushes, and not at all where it is slack.

    Args:
        inputs: inputs of the trace.
        residual: residual of the constraint.
        width: particles of a constraint.
        power: of an environment's size that the compliance grows with.
        limited: whether it acts on one side only.
    """
    points, weights, before = inputs.positions(width), inputs.weights(width), inputs.before(width)
    scale, value = residual.value.same(residual.scale), residual.value
    shared, weight = _weighed(inputs, residual, points, weights)
    gradients = [factor * Vec3(*rest) for factor, rest in shared]
    parts = [dot(q, x - p) for q, x, p in zip(gradients, points, before, strict=True)]
    alpha = _alpha(inputs, power)
    s = solve_damping(inputs, scale, weight, sum(parts[1:], parts[0]), alpha)
    if limited:
        side = inputs.field("side", ())
        pushing = value / maximum(alpha * scale, 1e-30)  # minus the multiplier, over the scale
        s = where(side * (s - pushing) > 0.0, pushing, s)
        s = where(side * value < 0.0, 0.0, s)
    done: list[tuple[str, list[Number]]] = []
    for k, (w, p, (factor, rest)) in enumerate(zip(weights, before, shared, strict=True)):
        push = Vec3(*rest) * (s * factor)
        if inputs.options.grip_forces:
            done.append((f"it.pull({k}, {{}}, {{}}, {{}}, w{k});", list(push)))
        done.append((f"it.set_before({k}, {{}}, {{}}, {{}});", list(p - push * w)))
    return done


def rescue(
    inputs: Inputs, residual: Residual, collapsed: Number, width: int, power: int
) -> list[tuple[str, list[Number]]]:
    """Return the effect of leading one constraint out of a collapse, for :func:`pbd_gym.formulas.emit`.

    It is a separate projection after that of the constraint, without a multiplier shared by iterations.

    Args:
        inputs: inputs of the trace.
        residual: residual of the energy that leads out.
        collapsed: below zero where the constraint has collapsed; elsewhere nothing moves.
        width: particles of a constraint.
        power: of an environment's size that the compliance grows with.
    """
    points, weights = inputs.positions(width), inputs.weights(width)
    shared, weight = _weighed(inputs, residual, points, weights)
    s = solve(inputs, residual.value, residual.value.same(residual.scale), weight, _alpha(inputs, power))
    done: list[tuple[str, list[Number]]] = []
    for k, (w, point, (factor, rest)) in enumerate(zip(weights, points, shared, strict=True)):
        if inputs.options.jacobi:
            onto, share = Vec3(*(inputs.graph.symbol(f"it.gathered({k}, {i})") for i in range(3))), relaxation(inputs)
        else:
            onto, share = point, inputs.graph.const(1.0)
        moved = onto + Vec3(*rest) * (s * w * factor * share)
        chosen = [where(collapsed < 0.0, new, old) for new, old in zip(moved, onto, strict=True)]
        done.append((f"it.scatter({k}, {{}}, {{}}, {{}}, w{k});", chosen))
    return done


def project(
    inputs: Inputs, residual: Residual, width: int, power: int, limited: bool
) -> list[tuple[str, list[Number]]]:
    """Return the effect of projecting one constraint, for :func:`pbd_gym.formulas.emit`.

    Args:
        inputs: inputs of the trace.
        residual: residual of the constraint.
        width: particles of a constraint.
        power: of an environment's size that the compliance grows with.
        limited: whether it acts on one side only.
    """
    options, graph = inputs.options, inputs.graph
    points, weights = inputs.positions(width), inputs.weights(width)
    scale, value = residual.value.same(residual.scale), residual.value
    shared, weight = _weighed(inputs, residual, points, weights)
    alpha = _alpha(inputs, power)
    kept = inputs.field("kept", ()) if options.compensated and not limited else None
    s = solve(inputs, value, scale, weight, alpha, kept)
    if limited:
        s = one_sided(inputs, s, value, scale)
    if options.jacobi:
        s = s * relaxation(inputs)
    done: list[tuple[str, list[Number]]] = []
    if residual.memory is not None:
        done.append(("it.remember({});", [residual.memory]))
    if options.keep_lambda:
        done.append(("it.set_multiplier({});", [inputs.old + s * scale]))
    for k, (w, point, (factor, rest)) in enumerate(zip(weights, points, shared, strict=True)):
        if options.grip_forces:
            done.append((f"it.pull({k}, {{}}, {{}}, {{}}, w{k});", list(Vec3(*rest) * (s * factor))))
        step = s * w * factor
        onto = point
        if options.jacobi:
            onto = Vec3(*(graph.symbol(f"it.gathered({k}, {i})") for i in range(3)))
        done.append((f"it.scatter({k}, {{}}, {{}}, {{}}, w{k});", list(onto + Vec3(*rest) * step)))
    return done
