"""Formulas: plain Python functions of traced numbers, from which gradients and kernel code follow.

A formula is written with the functions of this package, and with arithmetic on the numbers and vectors it is given:

>>> from pbd_gym.formulas import Graph, norm, vector
>>> graph = Graph()
>>> a, b = vector(graph, "a"), vector(graph, "b")
>>> stretch = norm(b - a) - 1.0

:func:`gradients` differentiates it, :func:`emit` writes it in C++, and :func:`evaluate` computes it with NumPy.
"""

from pbd_gym.formulas.algebra import combine, factor_out, without_factor
from pbd_gym.formulas.emit import emit
from pbd_gym.formulas.evaluate import evaluate
from pbd_gym.formulas.gradient import gradients
from pbd_gym.formulas.graph import (
    Function,
    Graph,
    Number,
    Scalar,
    atan2,
    by_precision,
    clamp,
    maximum,
    minimum,
    sqrt,
    stop_gradient,
    where,
)
from pbd_gym.formulas.vectors import Matrix, Vec3, contract, cross, det, dot, norm, trace, vector

__all__ = [
    "Function",
    "Graph",
    "Matrix",
    "Number",
    "Scalar",
    "Vec3",
    "atan2",
    "by_precision",
    "clamp",
    "combine",
    "contract",
    "cross",
    "det",
    "dot",
    "emit",
    "evaluate",
    "factor_out",
    "gradients",
    "maximum",
    "minimum",
    "norm",
    "sqrt",
    "stop_gradient",
    "trace",
    "vector",
    "where",
    "without_factor",
]
