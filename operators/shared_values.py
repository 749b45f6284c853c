"""Expressions that several views compute of the same rows are computed once an epoch.

Equal expressions are one *number*; what an epoch has computed is kept in its context under that number and
the columns it is of. An expression that no other equals is not kept: that would cost more than it gains.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .expr import Expr, columns_of
from .fingerprint import canonical

if TYPE_CHECKING:
    from .node import EpochContext

SHARED_ROWS_MAX = 4096
"""Rows up to which values are kept: of more, computing costs little beside everything else."""

SHARED_MAX = 1024
"""Values kept in an epoch."""

KNOWN_MAX = 8192
"""Expressions whose number is known; when there are more, all are forgotten."""


@dataclass(slots=True)
class _Alike:
    """Equal expressions: their number, the columns they read, and how many there are."""

    number: int
    reads: tuple[int, ...]
    count: int = 0


_known: dict[int, tuple[Expr, _Alike]] = {}
"""By identity; the expression is held, so that the identity stays its own."""
_alike: dict[str, _Alike] = {}
_numbers = itertools.count()
"""Never given twice, also after all is forgotten: an epoch may have values under the old ones."""


def shared_name(
    expr: Expr, columns: Sequence[pa.Array], length: int, context: EpochContext
) -> tuple[object, ...] | None:
    """Under what the values of `expr` are kept; None if they are not.

    Values that no view is of are not: a query is computed once.
    """
    if context.errors is None or length > SHARED_ROWS_MAX:
        return None
    entry = _known.get(id(expr))
    if entry is None or entry[0] is not expr:
        entry = _enter(expr)
    alike = entry[1]
    if alike.count < 2:
        return None
    return (alike.number, length, *[id(columns[i]) for i in alike.reads])


def keep(
    context: EpochContext, name: tuple[object, ...], columns: Sequence[pa.Array], value: Any
) -> tuple[Any, Sequence[pa.Array]]:
    """Keeps a value until the epoch ends, and the columns, so that their identities stay theirs."""
    if len(context.computed) >= SHARED_MAX:
        context.computed.clear()
    kept = context.computed[name] = (value, columns)
    return kept


def _enter(expr: Expr) -> tuple[Expr, _Alike]:
    if len(_known) >= KNOWN_MAX:
        _known.clear()
        _alike.clear()
    text = canonical(expr)
    alike = _alike.get(text)
    if alike is None:
        alike = _alike[text] = _Alike(next(_numbers), tuple(sorted(columns_of(expr))))
    alike.count += 1
    entry = _known[id(expr)] = (expr, alike)
    return entry
