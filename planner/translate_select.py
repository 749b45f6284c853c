"""SELECT: one query level, clause by clause in the order of evaluation.

    FROM → WHERE → GROUP BY, aggregates, HAVING → windows → set-returning functions → select list
         → DISTINCT → ORDER BY, LIMIT

Every expression is bound over the row of FROM first. Each of the middle steps then adds the columns it
computes to the node and puts references to them into the expressions that are still to come.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from ..operators.distinct import Distinct
from ..operators.expr import ColumnRef, Expr
from ..operators.node import Node
from ..operators.sorting import SortKey
from ..operators.topn import TopN
from ..sql.bind import ExpressionBinder
from ..sql.bind_columns import RowExpr
from ..sql.bind_names import output_name
from ..sql.dialect import position_of
from ..sql.environment import HAVING, SELECT, WHERE, Ast, BoundQuery, Environment
from ..sql.intermediate import Direction
from ..sql.scope import Scope, ScopeColumn
from ..storage.errors import SqlError, SyntaxFault
from .building import filtered, projected
from .rewriting import replace_expr
from .translate_aggregate import aggregated, is_aggregated
from .translate_from import FromPart, translate_from
from .translate_grouping import Grouping, bind_grouping
from .translate_limit import limited
from .translate_order import Target, bind_distinct_on, bind_order_by
from .translate_sets import with_sets
from .translate_window import with_windows


@dataclass(frozen=True, slots=True)
class Parts:
    """The bound clauses of one SELECT, over the row of `node`.

    `targets` are the select list and, `hidden`, what only ORDER BY or DISTINCT ON need. `order` and
    `distinct_on` are positions in `targets`.
    """

    node: Node
    targets: tuple[Target, ...]
    grouping: Grouping
    having: Expr | None
    order: tuple[tuple[int, Direction], ...]
    distinct_on: tuple[int, ...] | None


def translate_select(
    ast: Ast, environment: Environment, parent: Scope | None, keep_unknown: bool, ordered: bool
) -> BoundQuery:
    """A SELECT whose WITH is already in `environment`.

    `keep_unknown` leaves untyped literals of the select list to the caller (UNION, INSERT). Without
    `ordered` an ORDER BY without LIMIT is dropped.
    """
    part = translate_from(ast, environment, parent)
    scope = Scope(part.items, parent)
    parts = _bound_clauses(ast, part, scope, environment, keep_unknown)
    node, exprs, having = _grouped(parts, scope, environment)
    if having is not None:
        node = filtered(node, having)
    node, exprs = with_windows(node, exprs)
    node, exprs = with_sets(node, exprs)
    output = _spread(node, exprs, parts.targets)
    keys = _sort_keys(parts, output)
    node = _distinct(ast, output, parts, keys)
    node = limited(ast, node, keys, environment, ordered, scope)
    return _shown(node, output, parts)


def _bound_clauses(
    ast: Ast, part: FromPart, scope: Scope, environment: Environment, keep_unknown: bool
) -> Parts:
    node = part.node
    where = ast.args.get("where")
    if where is not None:
        binder = ExpressionBinder(scope, environment, WHERE)
        node = filtered(node, binder.boolean(where.this, "WHERE"))
    windows = {window.this.name: window for window in ast.args.get("windows") or ()}
    binder = ExpressionBinder(scope, environment, SELECT, windows)
    targets = [target for item in ast.expressions for target in select_items(binder, item)]
    grouping = bind_grouping(ast, binder, targets)
    having_ast = ast.args.get("having")
    having = None
    if having_ast is not None:
        having = replace(binder, clause=HAVING).boolean(having_ast.this, "HAVING")
    distinct = ast.args.get("distinct")
    on = distinct.args.get("on") if distinct is not None else None
    order = bind_order_by(ast, binder, targets, distinct is not None and on is None)
    distinct_on = bind_distinct_on(on, binder, targets, order) if on is not None else None
    settled = tuple(
        target if keep_unknown and not target.hidden else replace(target, expr=binder.settle(target.expr))
        for target in targets
    )
    return Parts(node, settled, grouping, having, tuple(order), distinct_on)


def select_items(binder: ExpressionBinder, item: Ast) -> list[Target]:
    """The output columns that one item of the select list makes (`*` makes many)."""
    if isinstance(item, exp.Star):
        try:
            return _star(binder, binder.scope.star(), item)
        except SqlError as error:
            raise error.at(position_of(item)) from None
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        table, database = item.args["table"], item.args.get("db")
        schema = database.name if database is not None else ""
        return _star(binder, binder.scope.item_star(table.name, position_of(item), schema), item)
    if isinstance(item, exp.Dot) and isinstance(item.expression, exp.Star):
        return _row_star(binder, item)
    value = item.this if isinstance(item, exp.Alias) else item
    name = item.alias if isinstance(item, exp.Alias) else output_name(value)
    expr = binder.bind(value)
    return [Target(name, expr, _origin(binder, value, expr), position_of(value))]


def _star(binder: ExpressionBinder, columns: list[ScopeColumn], item: Ast) -> list[Target]:
    position = position_of(item)
    note = binder.environment.note
    return [Target(column.name, note(column.expr, position), column.origin) for column in columns]


def _row_star(binder: ExpressionBinder, item: Ast) -> list[Target]:
    """`(row).*`."""
    row = binder.bind(item.this)
    if not isinstance(row, RowExpr):
        raise SyntaxFault(f"type {row.type} is not composite", position=position_of(item))
    return [Target(name, expr) for name, expr in zip(row.names, row.args, strict=True)]


def _origin(binder: ExpressionBinder, value: Ast, expr: Expr) -> tuple[int, int]:
    """Where a bare column comes from."""
    if not isinstance(value, exp.Column) or not isinstance(expr, ColumnRef):
        return (0, 0)
    for item in binder.scope.items:
        for column in item.columns:
            if column.expr == expr and column.origin != (0, 0):
                return column.origin
    return (0, 0)


def _grouped(
    parts: Parts, scope: Scope, environment: Environment
) -> tuple[Node, tuple[Expr, ...], Expr | None]:
    """(node, targets, HAVING) after grouping, if there is any."""
    exprs = tuple(target.expr for target in parts.targets)
    having = () if parts.having is None else (parts.having,)
    if not is_aggregated(parts.grouping, (*exprs, *having), parts.having is not None):
        return parts.node, exprs, None
    node, groups = with_sets(parts.node, parts.grouping.exprs)
    made = {old: new for old, new in zip(parts.grouping.exprs, groups, strict=True) if old != new}
    rest = tuple(replace_expr(expr, lambda part, _level: made.get(part)) for expr in (*exprs, *having))
    node, rewritten = aggregated(node, replace(parts.grouping, exprs=groups), rest, scope, environment)
    if parts.having is None:
        return node, rewritten, None
    return node, rewritten[:-1], rewritten[-1]


@dataclass(frozen=True, slots=True)
class Output:
    """The projected select list. A row value takes several columns: `places[i]` are those of target i."""

    node: Node
    places: tuple[tuple[int, ...], ...]


def _spread(node: Node, exprs: tuple[Expr, ...], targets: tuple[Target, ...]) -> Output:
    """The projection to `exprs`, row values taken apart into their fields."""
    flat: list[Expr] = []
    names: list[str] = []
    places: list[tuple[int, ...]] = []
    for expr, target in zip(exprs, targets, strict=True):
        fields = expr.args if isinstance(expr, RowExpr) else (expr,)
        places.append(tuple(range(len(flat), len(flat) + len(fields))))
        flat += fields
        names += expr.names if isinstance(expr, RowExpr) else [target.name]
    return Output(projected(node, flat, names), tuple(places))


def _sort_keys(parts: Parts, output: Output) -> tuple[SortKey, ...]:
    return tuple(
        SortKey(place, descending, nulls_first)
        for i, (descending, nulls_first) in parts.order
        for place in output.places[i]
    )


def _distinct(ast: Ast, output: Output, parts: Parts, keys: tuple[SortKey, ...]) -> Node:
    """DISTINCT and DISTINCT ON over the projected targets."""
    if parts.distinct_on is not None:
        partition = tuple(place for i in parts.distinct_on for place in output.places[i])
        return TopN(output.node, partition, keys, 1)
    return Distinct(output.node) if ast.args.get("distinct") is not None else output.node


def _shown(node: Node, output: Output, parts: Parts) -> BoundQuery:
    """The output without its hidden columns."""
    shown = [i for i, target in enumerate(parts.targets) if not target.hidden]
    schema = node.schema
    kept = [place for i in shown for place in output.places[i]]
    if len(kept) < len(schema):
        node = projected(node, [ColumnRef(i, schema[i].type) for i in kept], [schema[i].name for i in kept])
    return _described(node, [parts.targets[i] for i in shown], [len(output.places[i]) for i in shown])


def _described(node: Node, targets: list[Target], widths: list[int]) -> BoundQuery:
    """The output of `node`, whose columns are those of `targets`, `widths` each."""
    columns: list[ScopeColumn] = []
    start = 0
    types = node.schema.types
    for target, width in zip(targets, widths, strict=True):
        refs = tuple(ColumnRef(i, types[i]) for i in range(start, start + width))
        row = target.expr
        expr = RowExpr(refs, row.names) if isinstance(row, RowExpr) else refs[0]
        columns.append(ScopeColumn(target.name, expr, False, target.origin))
        start += width
    return BoundQuery(
        node,
        tuple(target.name for target in targets),
        tuple(column.expr.type for column in columns),
        tuple(target.origin for target in targets),
        tuple(columns),
    )
