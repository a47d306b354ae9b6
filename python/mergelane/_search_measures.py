# SPDX-License-Identifier: MIT
"""What a search compares: expressions over the statistics of a design's runs and over its cost."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Union

from . import _core
from ._core import InputError
from ._reading import meaning

if TYPE_CHECKING:
    import numpy

__all__ = ["Bound", "Design", "Measures"]

_Value = Union[float, "numpy.ndarray"]

_OF_THE_MACHINE = {"area": "square millimetres of caches, MSHRs, networks and what mechanisms declare",
                   "storage": "bytes of the structures that mechanisms declare"}
_OF_A_RUN = {"cycles": "core cycles", "microseconds": "the same in time", "energy": "joules"}


class Design:
    """A machine and its runs, one for each workload: what expressions are about."""

    def __init__(self, gpu: str, overrides: list[str], table: str) -> None:
        self.gpu, self.overrides, self.table = gpu, overrides, table
        self.cycles: list[int] = []
        self.counted: list[Mapping[str, int]] = []
        self._known: dict[str, _Value] = {}

    def with_runs(self, runs: list[tuple[int, Mapping[str, int]]]) -> Design:
        self.cycles = [cycles for cycles, _ in runs]
        self.counted = [counted for _, counted in runs]
        return self

    def value(self, name: str) -> _Value:
        if name not in self._known:
            self._known[name] = self._value(name)
        return self._known[name]

    def _value(self, name: str) -> _Value:
        import numpy

        if name == "area":
            return sum(mm2 for _, mm2 in _core.areas(self.gpu, self.overrides, self.table))
        if name == "storage":
            return float(sum(size for _, size in _core.storage(self.gpu, self.overrides)))
        if name == "cycles":
            return numpy.array(self.cycles, dtype=float)
        if name == "microseconds":
            return numpy.array(self.cycles, dtype=float) / int(_core.machine(self.gpu, self.overrides)["values"]["gpu.core_mhz"][0])
        if name == "energy":
            return numpy.array([_core.energy(self.gpu, self.overrides, self.table, dict(counted), cycles)
                                for cycles, counted in zip(self.cycles, self.counted)])
        # A mechanism that is off counts nothing.
        return numpy.array([counted.get(name, 0) for counted in self.counted], dtype=float)


def _geomean(values: Any) -> float:
    import numpy

    return float(numpy.exp(numpy.mean(numpy.log(values))))


def _functions() -> dict[str, Callable[..., Any]]:
    import numpy

    return {"geomean": _geomean, "mean": lambda v: float(numpy.mean(v)), "sum": lambda v: float(numpy.sum(v)), "max": lambda v: float(numpy.max(v)),
            "min": lambda v: float(numpy.min(v)), "log": numpy.log, "sqrt": numpy.sqrt, "abs": numpy.abs}


_FUNCTIONS = ("geomean", "mean", "sum", "max", "min", "log", "sqrt", "abs", "base")
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b, ast.Div: lambda a, b: a / b, ast.Pow: lambda a, b: a ** b}


def _parsed(text: Any, what: str) -> ast.expr:
    if not isinstance(text, str):
        raise InputError(f"{what} is {text!r}; write an expression as a text, for example \"geomean(base(cycles) / cycles)\"")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        raise InputError(f"{what}: '{text}' is no expression ({getattr(problem, 'msg', problem)}); write for example \"geomean(base(cycles) / cycles)\"") from None


def _dotted(node: ast.expr) -> str | None:
    """The name of a statistic, which may have dots."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return before and f"{before}.{node.attr}"
    return None


class Bound:
    """`A <= B` or `A >= B`."""

    def __init__(self, text: Any, measures: Measures, what: str) -> None:
        node = _parsed(text, what)
        if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], (ast.LtE, ast.GtE)):
            raise InputError(f"{what}: '{text}' is no bound; write EXPRESSION <= EXPRESSION or >=, for example \"area <= 1.05 * base(area)\"")
        self.text = str(text)
        left, right = node.left, node.comparators[0]
        self._less, self._more = (left, right) if isinstance(node.ops[0], ast.LtE) else (right, left)
        self._measures, self._what = measures, f"{what} '{text}'"
        self.needs_runs = False
        for side in (left, right):
            self.needs_runs = measures.check(side, self._what) or self.needs_runs

    def excess(self, design: Design, baseline: Design) -> float:
        """By how much it is violated; 0 or less: it holds."""
        return self._measures.scalar(self._less, design, baseline, self._what) - self._measures.scalar(self._more, design, baseline, self._what)


class Measures:
    """Named expressions, and the evaluation of expressions that use them."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._named: dict[str, ast.expr] = {}
        for name, text in given.items():
            if not name.isidentifier() or name in _FUNCTIONS or name in _OF_THE_MACHINE or name in _OF_A_RUN:
                raise InputError(f"measures: '{name}' cannot be the name of a measure; use letters, digits and underscores, and no name that has a meaning: "
                                 f"{', '.join([*_FUNCTIONS, *_OF_THE_MACHINE, *_OF_A_RUN])}")
            self._named[name] = _parsed(text, f"measure {name}")
        for name, node in self._named.items():
            self.check(node, f"measure {name}", (name,))

    def parse(self, text: Any, what: str) -> ast.expr:
        node = _parsed(text, what)
        self.check(node, what)
        return node

    def check(self, node: ast.expr, what: str, within: tuple[str, ...] = ()) -> bool:
        """Refuses what cannot be evaluated. Whether its value needs runs."""
        name = _dotted(node)
        if name is not None:
            return self._check_name(name, what, within)
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return False
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            return self.check(node.operand, what, within)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            left = self.check(node.left, what, within)
            return self.check(node.right, what, within) or left
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1 and not node.keywords:
            if node.func.id not in _FUNCTIONS:
                raise InputError(f"{what}: {_core.unknown_word('function', node.func.id, list(_FUNCTIONS))}")
            return self.check(node.args[0], what, within)
        raise InputError(f"{what}: '{ast.unparse(node)[:80]}' is not understood; expressions have numbers, statistics, measures, + - * / **, and the functions "
                         f"{', '.join(_FUNCTIONS)} of one argument")

    def _check_name(self, name: str, what: str, within: tuple[str, ...]) -> bool:
        if name in self._named:
            if name in within:
                raise InputError(f"{what}: measure {name} uses itself; write it with statistics")
            return self.check(self._named[name], what, (*within, name))
        if name in _OF_THE_MACHINE:
            return False
        if name not in _OF_A_RUN:
            try:
                meaning(name)
            except InputError as problem:
                names = [*self._named, *_OF_THE_MACHINE, *_OF_A_RUN]
                raise InputError(f"{what}: {problem if '.' in name else _core.unknown_word('name', name, names)}") from None
        return True

    def scalar(self, node: ast.expr, design: Design, baseline: Design, what: str) -> float:
        import numpy

        with numpy.errstate(all="ignore"):
            try:
                value = numpy.asarray(self._value(node, design, baseline), dtype=float)
            except (ArithmeticError, ValueError) as problem:
                if isinstance(problem, InputError):
                    raise
                raise InputError(f"{what} has no value ({problem}); choose one that all designs have") from None
        if value.size != 1:
            raise InputError(f"{what} has a value for each of {value.size} workloads; make one of them with geomean, mean, sum, max or min")
        number = float(value.reshape(()) if value.ndim == 0 else value.ravel()[0])
        if not math.isfinite(number):
            raise InputError(f"{what} is {number}; choose one that is finite for all designs")
        return number

    def _value(self, node: ast.expr, design: Design, baseline: Design) -> Any:
        name = _dotted(node)
        if name is not None:
            return self._value(self._named[name], design, baseline) if name in self._named else design.value(name)
        if isinstance(node, ast.Constant):
            return float(node.value)
        if isinstance(node, ast.UnaryOp):
            value = self._value(node.operand, design, baseline)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp):
            import numpy

            left, right = (numpy.asarray(self._value(side, design, baseline), dtype=float) for side in (node.left, node.right))
            return _OPERATORS[type(node.op)](left, right)
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id == "base":
            return self._value(node.args[0], baseline, baseline)
        return _functions()[node.func.id](self._value(node.args[0], design, baseline))
