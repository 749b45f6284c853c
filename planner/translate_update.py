"""UPDATE and DELETE."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ..operators.expr import ColumnRef, Expr, Subquery, SubqueryKind
from ..operators.join import Join, JoinKind
from ..operators.node import Node
from ..sql import statements as st
from ..sql.bind import ExpressionBinder
from ..sql.bind_columns import RowExpr
from ..sql.catalog import Table
from ..sql.dialect import position_of
from ..sql.environment import UPDATE, WHERE, Ast, Environment
from ..sql.positions import start_of
from ..sql.scope import Scope, ScopeItem
from ..storage.errors import DuplicateAlias, FeatureNotSupported, SyntaxFault
from .building import filtered, keep, projected
from .column_defaults import default_of, generated_over
from .dml import TableWrite, WriteKind
from .translate import with_tables
from .translate_from import scan_part, translate_from
from .translate_order import Target
from .translate_target import (
    assign,
    bind_returning,
    check_assignable,
    column_position,
    is_default,
    table_item,
    target_table,
)

_WORDS = 'column "%s" can only be updated to DEFAULT'


def translate_update(statement: st.Update, environment: Environment) -> TableWrite:
    environment = with_tables(statement.with_, environment, None)
    table = target_table(statement.table, environment, "update")
    node, items = _matched(table, statement.alias, statement.from_, statement.where, environment)
    binder = ExpressionBinder(Scope(items), environment, UPDATE)
    old = keep(node)[: len(table.schema)]
    row = assignments(binder, table, statement.assignments, old, environment)
    row = generated_over(table, row, environment)
    width = len(table.schema)
    rest = keep(node)[width:]
    names = (*table.schema.names, *table.schema.names, *node.schema.names[width:])
    node = projected(node, (*old, *row, *rest), names)
    moved = (table_item(table, statement.alias, width), *(item.shifted(width) for item in items[1:]))
    targets = bind_returning(statement.returning, moved, len(names), environment)
    return _write(table, WriteKind.UPDATE, node, targets if statement.returning else None)


def translate_delete(statement: st.Delete, environment: Environment) -> TableWrite:
    environment = with_tables(statement.with_, environment, None)
    table = target_table(statement.table, environment, "delete")
    node, items = _matched(table, statement.alias, statement.using, statement.where, environment)
    targets = bind_returning(statement.returning, items, len(node.schema), environment)
    return _write(table, WriteKind.DELETE, node, targets if statement.returning else None)


def _write(table: Table, kind: WriteKind, node: Node, targets: list[Target] | None) -> TableWrite:
    if targets is None:
        return TableWrite(table, kind, node)
    return TableWrite(
        table, kind, node, None,
        tuple(t.expr for t in targets), tuple(t.name for t in targets),
        tuple(t.expr.type for t in targets), tuple(t.origin for t in targets),
    )  # fmt: skip


def _matched(
    table: Table, alias: str, others: Ast | None, where: Ast | None, environment: Environment
) -> tuple[Node, tuple[ScopeItem, ...]]:
    """The rows of the table, joined with the other items, that WHERE finds."""
    node: Node = scan_part(table).node
    items: tuple[ScopeItem, ...] = (table_item(table, alias),)
    if others is not None:
        part = translate_from(others, environment, None)
        for item in part.items:
            if item.visible and item.alias == items[0].alias:
                raise DuplicateAlias(f'table name "{item.alias}" specified more than once')
        node = Join(node, part.node, JoinKind.INNER)
        items = (*items, *(item.shifted(len(table.schema)) for item in part.items))
    if where is None:
        return node, items
    binder = ExpressionBinder(Scope(items), environment, WHERE)
    return filtered(node, binder.boolean(where, "WHERE")), items


def assignments(
    binder: ExpressionBinder,
    table: Table,
    assigned: Sequence[st.Assignment],
    old: Sequence[Expr],
    environment: Environment,
) -> list[Expr]:
    """The whole new row: `old` with the columns that SET names replaced."""
    row = list(old)
    seen: set[int] = set()
    for assignment in assigned:
        values = _values(binder, assignment)
        for column, (value, ast) in zip(assignment.columns, values, strict=True):
            position = column_position(table, column)
            if position in seen:
                raise SyntaxFault(f'multiple assignments to same column "{column.name}"')
            seen.add(position)
            if value is None:
                row[position] = default_of(table, position, environment)
                continue
            check_assignable(table, position, _WORDS, False)
            row[position] = assign(binder, value, table, position, start_of(ast))
    return row


def _values(binder: ExpressionBinder, assignment: st.Assignment) -> list[tuple[Expr | None, Ast]]:
    """One (value, where it is written) per column; the value None for DEFAULT."""
    ast = assignment.value
    count = len(assignment.columns)
    if count == 1 and not isinstance(ast, exp.Tuple):
        return [(None if is_default(ast) else binder.bind(ast), ast)]
    if isinstance(ast, exp.Subquery):
        return [(value, ast) for value in _fields(binder, ast, count)]
    if not isinstance(ast, exp.Tuple):
        raise FeatureNotSupported(
            "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression",
            position=position_of(ast),
        )
    _check_count(count, len(ast.expressions), ast)
    return [(None if is_default(item) else binder.bind(item), item) for item in ast.expressions]


def _fields(binder: ExpressionBinder, ast: Ast, count: int) -> list[Expr]:
    """(a, b) = (SELECT x, y …): a scalar subquery for each."""
    query = binder.environment.translate(ast.this, binder.environment, binder.scope)
    _check_count(count, len(query.types), ast)
    return [
        Subquery(SubqueryKind.SCALAR, projected(query.node, (ColumnRef(i, t),), (query.names[i],)), t)
        for i, t in enumerate(query.types)
    ]


def _check_count(wanted: int, given: int, ast: Ast) -> None:
    if wanted != given:
        raise SyntaxFault("number of columns does not match number of values", position=position_of(ast))


__all__ = ["RowExpr", "assignments", "translate_delete", "translate_update"]
