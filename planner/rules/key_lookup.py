"""A condition that gives every column of a relation's key a constant reads those rows only.

For one-off statements: a view's inputs are whole relations. Equal to the filter, since no other row
can satisfy it; the rest of the condition stays in a filter above.
"""

from __future__ import annotations

from itertools import product

from ...operators.expr import Call, Cast, ColumnRef, Expr, InList, Literal, columns_of, walk_expr
from ...operators.filter import Filter
from ...operators.node import Node, rewrite
from ...operators.scan import Scan
from ...sql.catalog import Catalog
from ...sql.entries import MaterializedView, Table
from ...storage.types import Type
from ..conditions import all_of, as_equal, conjuncts, equality
from ..key_lookup import KeyLookup

_INTEGERS = ("int2", "int4", "int8")
KEYS_MAX = 10_000
"""More keys than this (of IN lists) are looked for by scanning."""


def key_lookup(node: Node, catalog: Catalog) -> Node:
    return rewrite(node, lambda n: _looked_up(n, catalog) if isinstance(n, Filter) else n)


def _looked_up(node: Filter, catalog: Catalog) -> Node:
    scan = node.input
    if not isinstance(scan, Scan) or isinstance(scan, KeyLookup) or not scan.key_:
        return node
    if not isinstance(catalog.by_id(scan.relation), Table | MaterializedView):
        return node
    visible = scan.columns if scan.columns is not None else tuple(range(len(scan.schema_)))
    constants: dict[int, list[Expr]] = {}
    used: dict[int, Expr] = {}
    for part in conjuncts(node.predicate):
        found = _constants(part, scan)
        if found is not None and visible[found[0]] not in constants:
            constants[visible[found[0]]] = found[1]
            used[visible[found[0]]] = part
    if any(column not in constants for column in scan.key_):
        return node
    keys = tuple(product(*(constants[column] for column in scan.key_)))
    if len(keys) > KEYS_MAX:
        return node
    lookup = KeyLookup(scan.relation, scan.schema_, scan.key_, scan.append_only_, scan.columns, keys)
    taken = {id(used[column]) for column in scan.key_}
    rest = [part for part in conjuncts(node.predicate) if id(part) not in taken]
    return Filter(lookup, all_of(rest)) if rest else lookup


def _constants(part: Expr, scan: Scan) -> tuple[int, list[Expr]] | None:
    """(column, the values it may have) of `column = constant` or `column IN (constants)`."""
    if isinstance(part, InList) and not part.negated and isinstance(part.arg, ColumnRef):
        if all(_constant(item) for item in part.items):
            return part.arg.index, list(dict.fromkeys(part.items))
        return None
    sides = equality(part)
    if sides is None:
        return None
    for column, value in (sides, sides[::-1]):
        if not isinstance(column, ColumnRef) or not _constant(value):
            continue
        alike = as_equal(value, column.type)
        if alike is not None:
            return column.index, [alike]
        if _wider(column.type, value.type):
            return column.index, [_widened(value, column.type)]
    return None


def _wider(column: Type, value: Type) -> bool:
    """Whether every whole number of the value's type is one of the column's: clients send short ones."""
    return column.name in _INTEGERS and value.name in _INTEGERS[: _INTEGERS.index(column.name)]


def _widened(value: Expr, type_: Type) -> Expr:
    return Literal(value.value, type_) if isinstance(value, Literal) else Cast(value, type_)


def _constant(expr: Expr) -> bool:

    volatile = any(isinstance(e, Call) and e.function.volatility == "volatile" for e in walk_expr(expr))
    return not columns_of(expr) and not volatile
