"""C++ of traced expressions: the same statements for SIMD lanes, for batches of constraints, and for CUDA.

The text is in the language of ``kernels/native/sweep.h``: a ``V`` is one number for each lane, an ``N`` one that all
lanes share, and ``T`` the scalar type. The type behind ``V`` is chosen when the text is compiled.

An expression that is used once is written in place, and any other gets a name. This decides where a product and a sum
become one fused operation, which a compiler may do only within a statement; as there is only one text, the rounding is
the same for every number of lanes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pbd_gym.formulas.gradient import topological
from pbd_gym.formulas.graph import BOOLEAN, Function, Number

_SUM, _PRODUCT, _ATOM = 1, 2, 3
"""Binding strength of an expression."""

_ONCE = frozenset({"max", "atan2", "call"})
"""Operations whose operands need names, because the text repeats them."""


def emit(outputs: Sequence[tuple[str, Sequence[Number]]], precision: str) -> str:
    """Return C++ statements that compute numbers and do something with them.

    Args:
        outputs: statements in order, each with a ``{}`` for every number that it needs.
        precision: ``"float32"`` or ``"float64"``.
    """
    writer = _Writer([node for _, nodes in outputs for node in nodes], precision)
    for statement, nodes in outputs:
        text = statement.format(*(writer.inline(node)[0] for node in nodes))
        writer.lines.append(text)
    return "\n".join(writer.lines)


class _Writer:
    """Writer of statements that remembers the names of computed numbers."""

    def __init__(self, outputs: Sequence[Number], precision: str) -> None:
        self.precision = precision
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        order = topological(outputs)
        uses = Counter(arg.index for node in order for arg in node.args)
        uses.update(node.index for node in outputs)
        self.named = {node.index for node in order if uses[node.index] > 1 and node.op not in ("const", "by_precision")}
        for node in order:
            for arg in node.args:
                # A product that all lanes share is rounded before it meets factors that they do not share: in some
                # texts the two have one type and would be fused, in others not.
                if node.op in _ONCE or (arg.uniform and not node.uniform):
                    self.named.add(arg.index)
        self.named -= {node.index for node in order if _is_plain(node)}

    def name(self, node: Number) -> str:
        """Return the name of a number, and write its statement if there is none yet."""
        if node.index not in self.names:
            text = self.expression(node)[0]
            self.names[node.index] = name = f"n{node.index}"
            kind = "auto" if node.op in BOOLEAN else "N" if node.uniform else "V"
            self.lines.append(f"const {kind} {name} = {text};")
        return self.names[node.index]

    def inline(self, node: Number) -> tuple[str, int]:
        """Return an expression for a number, and how tightly it binds."""
        if node.op == "item":
            return self.call(node.args[0])[node.data], _ATOM
        return (self.name(node), _ATOM) if node.index in self.named else self.expression(node)

    def bracketed(self, node: Number, least: int) -> str:
        """Return an expression for a number, in brackets unless it binds at least as tightly as required."""
        text, binding = self.inline(node)
        return text if binding >= least else f"({text})"

    def expression(self, node: Number) -> tuple[str, int]:
        """Return the expression of an operation on its operands."""
        op, args = node.op, node.args
        if op in ("symbol", "flag"):
            return node.data, _ATOM
        if op in ("const", "by_precision"):
            value = node.data if op == "const" else node.data[self.precision == "float64"]
            return f"T({value!r})", _ATOM
        if op in ("add", "sub"):
            sign = "+" if op == "add" else "-"
            return f"{self.bracketed(args[0], _SUM)} {sign} {self.bracketed(args[1], _PRODUCT)}", _SUM
        if op == "mul":
            return f"{self.bracketed(args[0], _PRODUCT)} * {self.bracketed(args[1], _ATOM)}", _PRODUCT
        if op == "div":
            return f"{self.bracketed(args[0], _PRODUCT)} / {self.bracketed(args[1], _ATOM)}", _PRODUCT
        if op == "neg":
            return f"-{self.bracketed(args[0], _ATOM)}", _PRODUCT
        if op == "sqrt":
            return f"root({self.inline(args[0])[0]})", _ATOM
        if op == "atan2":
            return f"angle({self.inline(args[0])[0]}, {self.inline(args[1])[0]})", _ATOM
        if op == "max":
            first, second = (self.typed(arg, node) for arg in args)
            return f"({first} > {second} ? {first} : {second})", _ATOM
        if op == "less":
            return f"({self.bracketed(args[0], _SUM)} < {self.bracketed(args[1], _SUM)})", _ATOM
        if op == "select":
            yes, no = (self.typed(arg, node) for arg in args[1:])
            return f"({self.inline(args[0])[0]} ? {yes} : {no})", _ATOM
        if op == "stop":
            return self.inline(args[0])
        raise ValueError(f"no C++ for {op}")

    def typed(self, node: Number, like: Number) -> str:
        """Return an expression of the same type as another number's."""
        text, binding = self.inline(node)
        if not like.uniform and node.uniform:
            return f"V({text})"
        if like.uniform and node.op in ("const", "by_precision"):
            return f"N({text})"
        return text if binding == _ATOM else f"({text})"

    def call(self, node: Number) -> list[str]:
        """Return the names of the outputs of a function, and write its statements if there are none yet."""
        function: Function = node.data
        names = [f"n{node.index}_{output}" for output in function.outputs]
        if node.index not in self.names:
            self.names[node.index] = names[0]
            given = [self.inline(arg)[0] for arg in node.args]
            self.lines += [
                f"V {', '.join(names)};",
                "{",
                *(f"const V {name} = V({text});" for name, text in zip(function.inputs, given, strict=True)),
                function.text(self.precision),
                *(f"{name} = {output};" for name, output in zip(names, function.outputs, strict=True)),
                "}",
            ]
        return names


def _is_plain(node: Number) -> bool:
    """Return whether the text of a node is as short as a name."""
    return node.op in ("const", "by_precision", "item", "flag") or (node.op == "symbol" and node.data.isidentifier())
