"""The registry of SQL functions: one decorated definition adds a function everywhere.

Binder and overload choice, evaluation, EXPLAIN, `pg_proc` and the table in `docs/sql.md` all read
these entries. Operators are functions too, under their symbol (`+`, `||`, `->>`, `~~` for LIKE).

A scalar *kernel* takes `(args, length, context)`: one Arrow array an argument, all of `length` rows
(constants are already broadcast), and returns one array of the declared type and length. Strict
functions (`strict=True`, the default) get NULL results wherever an argument is NULL without their
kernel seeing to it: `evaluate.py` masks afterwards, and rows with a NULL argument never make it fail.
A kernel failing on some rows raises a SqlError with `rows` set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from ...storage.types import Type

if TYPE_CHECKING:
    from ..node import EpochContext

Kernel = Callable[[Sequence[pa.Array], int, "EpochContext"], pa.Array]
TypeRule = Callable[[tuple[Type, ...]], Type]


@dataclass(frozen=True)
class ScalarFunction:
    """One overload. `args` are base types; `variadic` repeats the last one.

    The pseudo-types of `args` and `result` are the names "any", "anyelement", "anyarray",
    "anycompatible" as `Type(name)`. `result` may be a rule from the argument types (numeric scale).
    """

    name: str
    args: tuple[Type, ...]
    result: Type | TypeRule
    kernel: Kernel = field(compare=False, repr=False)
    strict: bool = True
    variadic: bool = False
    volatility: str = "immutable"
    """immutable, stable or volatile; only the first folds to a constant, volatile is refused in views."""
    doc: str = field(default="", compare=False)

    def result_type(self, args: tuple[Type, ...]) -> Type:
        return self.result if isinstance(self.result, Type) else self.result(args)


@dataclass(frozen=True)
class TableFunction:
    """A set-returning function. `kernel` returns (row of origin as int64, one array a result column)."""

    name: str
    args: tuple[Type, ...]
    columns: tuple[tuple[str, Type], ...] | Callable[[tuple[Type, ...]], tuple[tuple[str, Type], ...]]
    kernel: Callable[[Sequence[pa.Array], int, EpochContext], tuple[pa.Array, list[pa.Array]]] = field(
        compare=False, repr=False
    )
    variadic: bool = False
    doc: str = field(default="", compare=False)
    pieces: (
        Callable[[Sequence[pa.Array], int, EpochContext], Iterator[tuple[pa.Array, list[pa.Array]]]] | None
    ) = field(default=None, compare=False, repr=False)
    """The kernel's result in pieces of bounded size, for functions that make many rows of small arguments."""


SCALARS: dict[str, list[ScalarFunction]] = {}
TABLE_FUNCTIONS: dict[str, list[TableFunction]] = {}


def scalar(
    name: str,
    args: Sequence[Type],
    result: Type | TypeRule,
    *,
    strict: bool = True,
    variadic: bool = False,
    volatility: str = "immutable",
) -> Callable[[Kernel], Kernel]:
    """Registers the decorated kernel as one overload of `name`; its docstring is the documentation."""

    def register(kernel: Kernel) -> Kernel:
        doc = (kernel.__doc__ or "").strip()
        entry = ScalarFunction(name, tuple(args), result, kernel, strict, variadic, volatility, doc)
        SCALARS.setdefault(name, []).append(entry)
        return kernel

    return register
