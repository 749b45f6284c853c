"""UNION, INTERSECT, EXCEPT and VALUES: columns of several queries brought to one type."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ..operators.distinct import Distinct
from ..operators.expr import Cast, ColumnRef, Expr, Literal, OuterColumn, Parameter, Subquery, walk_expr
from ..operators.node import Node
from ..operators.project import Project
from ..operators.set_operation import SetOperation
from ..operators.sorting import SortKey
from ..operators.union import Union
from ..operators.values import Values
from ..sql.bind import ExpressionBinder
from ..sql.bind_aggregates import direction
from ..sql.coerce import common_type
from ..sql.dialect import position_of
from ..sql.environment import VALUES, Ast, BoundQuery, Environment
from ..sql.positions import start_of
from ..sql.scope import Scope, columns_from
from ..storage.errors import FeatureNotSupported, SqlError, SyntaxFault, UndefinedColumn
from ..storage.schema import Column, Schema
from ..storage.types import TEXT, Type
from .building import UNIT, projected
from .rewriting import finish
from .translate_limit import limited
from .translate_order import Target, named_target, ordinal

SET_OPERATIONS = (exp.Union, exp.Intersect, exp.Except)


def translate_set_operation(
    ast: Ast, environment: Environment, parent: Scope | None, keep_unknown: bool, ordered: bool
) -> BoundQuery:
    """A set operation whose WITH is already in `environment`."""
    from .translate import translate_bound

    word = type(ast).__name__.upper()
    branches = [translate_bound(part, environment, parent, True) for part in _branches(ast)]
    types = _common_types(ast, branches, word, keep_unknown)
    binder = ExpressionBinder(Scope(), environment, VALUES)
    nodes = [coerced_output(branch.node, types, binder) for branch in branches]
    first = branches[0]
    node = _operation(ast, nodes)
    keys = tuple(_order_keys(ast, first))
    node = limited(ast, node, keys, environment, ordered)
    origins = tuple((0, 0) for _ in types)
    return BoundQuery(
        node, first.names, node.schema.types, origins, columns_from(first.names, node.schema.types)
    )


def _branches(ast: Ast) -> list[Ast]:
    """The operands: two, or more for a left-nested chain of UNION ALL."""
    left, right = ast.this, ast.expression
    chain = isinstance(left, exp.Union) and isinstance(ast, exp.Union)
    if chain and not left.args.get("distinct") and not ast.args.get("distinct") and not _decorated(left):
        return [*_branches(left), right]
    return [left, right]


def _decorated(ast: Ast) -> bool:
    return any(ast.args.get(name) is not None for name in ("order", "limit", "offset", "with_"))


def _operation(ast: Ast, nodes: list[Node]) -> Node:
    distinct = bool(ast.args.get("distinct"))
    if isinstance(ast, exp.Union):
        union = Union(tuple(nodes))
        return Distinct(union) if distinct else union
    operation = "intersect" if isinstance(ast, exp.Intersect) else "except"
    return SetOperation(nodes[0], nodes[1], operation, not distinct)


def _common_types(
    ast: Ast, branches: Sequence[BoundQuery], word: str, keep_unknown: bool
) -> tuple[Type, ...]:
    count = len(branches[0].types)
    asts = _branches(ast)
    for branch, part in zip(branches[1:], asts[1:], strict=True):
        if len(branch.types) != count:
            words = f"each {word} query must have the same number of columns"
            raise SyntaxFault(words, position=target_position(part, 0))
    types: list[Type] = []
    for i in range(count):
        # As PostgreSQL, pair by pair from the left: a third branch meets the type the first two agreed on.
        agreed = branches[0].types[i]
        for branch, part in zip(branches[1:], asts[1:], strict=True):
            agreed = common_type([agreed, branch.types[i]], word, target_position(part, i))
            if agreed.name == "unknown" and not keep_unknown:
                agreed = TEXT
        types.append(agreed)
    return tuple(types)


def target_position(query: Ast, index: int) -> int:
    """Where output column `index` of a query is written."""
    while isinstance(query, (*SET_OPERATIONS, exp.Subquery)):
        query = query.this
    items = query.expressions
    if isinstance(query, exp.Values):
        items = items[0].expressions if items else []
    return start_of(items[index]) if index < len(items) else position_of(query)


def _order_keys(ast: Ast, first: BoundQuery) -> list[SortKey]:
    """ORDER BY of a set operation: names and positions of its columns only."""
    order = ast.args.get("order")
    targets = [
        Target(name, ColumnRef(i, t))
        for i, (name, t) in enumerate(zip(first.names, first.types, strict=True))
    ]
    keys: list[SortKey] = []
    for item in order.expressions if order is not None else ():
        index = named_target(item.this, targets, "ORDER BY")
        if index is None:
            index = ordinal(item.this, targets, "ORDER BY")
        if index is None:
            raise _bad_order(ast, item.this)
        keys.append(SortKey(index, *direction(item)))
    return keys


def _bad_order(ast: Ast, item: Ast) -> SqlError:
    position = start_of(item)
    if isinstance(item, exp.Column) and item.args.get("table") is None:
        return UndefinedColumn(f'column "{item.this.name}" does not exist', position=position)
    return FeatureNotSupported(
        "invalid UNION/INTERSECT/EXCEPT ORDER BY clause",
        detail="Only result column names can be used, not expressions or functions.",
        hint="Add the expression/function to every SELECT, or move the UNION into a FROM clause.",
        position=position,
    )


def coerced_output(
    node: Node,
    types: Sequence[Type],
    binder: ExpressionBinder,
    context: str = "implicit",
    places: Sequence[int] = (),
) -> Node:
    """`node` with its columns in `types`. Untyped literals and parameters take the type where they stand."""
    if node.schema.types == tuple(types):
        return node
    if isinstance(node, Values):
        rows = tuple(
            tuple(binder.coerce(expr, type_, context) for expr, type_ in zip(row, types, strict=True))
            for row in node.rows
        )
        return Values(_retyped(node.schema, types), rows)
    if isinstance(node, Union):
        return Union(tuple(coerced_output(branch, types, binder, context) for branch in node.branches))
    if isinstance(node, Project):
        exprs = [
            _coerced(binder, expr, type_, context, places[i] if places else 0)
            for i, (expr, type_) in enumerate(zip(node.exprs, types, strict=True))
        ]
        return Project(node.input, tuple(exprs), node.names, node.hidden)
    refs = [ColumnRef(i, column.type) for i, column in enumerate(node.schema)]
    exprs = [_coerced(binder, ref, type_, context, places[i] if places else 0)
             for i, (ref, type_) in enumerate(zip(refs, types, strict=True))]  # fmt: skip
    return projected(node, exprs, node.schema.names)


def _coerced(binder: ExpressionBinder, expr: Expr, type_: Type, context: str, position: int) -> Expr:
    if expr.type == type_:
        return expr
    if expr.type.name == "unknown" and not isinstance(expr, (Literal, Parameter)):
        return Cast(expr, type_)
    return binder.coerce(expr, type_, context, position)


def _retyped(schema: Schema, types: Sequence[Type]) -> Schema:
    return Schema(
        tuple(Column(c.name, t, c.nullable, c.hidden) for c, t in zip(schema.columns, types, strict=True))
    )


def translate_values(ast: Ast, environment: Environment, parent: Scope | None, ordered: bool) -> BoundQuery:
    """VALUES (…), (…). A column of untyped literals is text, whatever is made of it."""
    binder = ExpressionBinder(Scope((), parent), environment, VALUES)
    rows = [tuple(binder.bind_all(_items(row))) for row in ast.expressions]
    width = len(rows[0])
    for row, written in zip(rows, ast.expressions, strict=True):
        if len(row) != width:
            raise SyntaxFault("VALUES lists must all be the same length", position=_first_position(written))
    names = tuple(f"column{i}" for i in range(1, width + 1))
    columns = [_column(binder, [row[i] for row in rows], ast, i) for i in range(width)]
    types = tuple(column[0].type for column in columns)
    node = values_node(names, types, [tuple(column[i] for column in columns) for i in range(len(rows))])
    keys = tuple(_order_keys(ast, BoundQuery(node, names, types, ())))
    node = limited(ast, node, keys, environment, ordered)
    return BoundQuery(node, names, types, tuple((0, 0) for _ in types), columns_from(names, types))


def _items(row: Ast) -> list[Ast]:
    return row.expressions if isinstance(row, exp.Tuple) else [row]


def _first_position(row: Ast) -> int:
    items = _items(row)
    return position_of(items[0]) if items else position_of(row)


def _column(binder: ExpressionBinder, exprs: list[Expr], ast: Ast, index: int) -> tuple[Expr, ...]:
    """One column of VALUES in its common type."""
    wanted = _values_type(exprs, ast, index)
    if wanted.name == "unknown":
        wanted = TEXT
    places = [position_of(_items(row)[index]) for row in ast.expressions]
    return tuple(binder.coerce(e, wanted, "implicit", place) for e, place in zip(exprs, places, strict=True))


def _values_type(exprs: list[Expr], ast: Ast, index: int) -> Type:
    """The common type; the error is at the first value that does not fit, as in PostgreSQL."""
    try:
        return common_type([expr.type for expr in exprs], "VALUES")
    except SqlError:
        for count in range(2, len(exprs) + 1):
            place = position_of(_items(ast.expressions[count - 1])[index])
            common_type([expr.type for expr in exprs[:count]], "VALUES", place)
        raise


def values_node(names: tuple[str, ...], types: tuple[Type, ...], rows: list[tuple[Expr, ...]]) -> Node:
    """Values, or for rows that read outer columns or subqueries a projection each."""
    schema = Schema(tuple(Column(name, type_) for name, type_ in zip(names, types, strict=True)))
    parts = (part for row in rows for expr in row for part in walk_expr(expr))
    if not any(isinstance(part, (OuterColumn, Subquery)) for part in parts):
        return Values(schema, tuple(rows))
    branches = tuple(Project(UNIT, tuple(finish(expr, 0) for expr in row), names) for row in rows)
    return branches[0] if len(branches) == 1 else Union(branches)


__all__ = ["coerced_output", "translate_set_operation", "translate_values", "values_node"]
