"""The expressions behind a table's columns: DEFAULT, identity and serial, generated columns, CHECK."""

from __future__ import annotations

from collections.abc import Sequence

from ..operators.expr import Call, ColumnRef, Expr, Literal
from ..operators.functions.registry import SCALARS
from ..sql.bind import bind_expression
from ..sql.catalog import Table
from ..sql.environment import CHECK, DEFAULT, GENERATED, Ast, Environment
from ..sql.parse import parse_scalar
from ..sql.scope import Scope, ScopeItem, columns_from
from ..storage.types import BOOL, INT8, REGCLASS
from .rewriting import replace_expr


def default_of(table: Table, position: int, environment: Environment) -> Expr:
    """What an INSERT puts into a column it does not mention: over no row, of the column's type."""
    column = table.schema[position]
    identity = table.identities.get(column.name)
    if identity is not None:
        call = SCALARS["nextval"][0]
        drawn = Call(call, (Literal(identity.sequence_oid, REGCLASS),), INT8)
        return _assigned(drawn, table, position, environment)
    text = table.defaults.get(column.name)
    if text is None:
        return Literal(None, column.type)
    return bind_expression(parse_scalar(text), Scope(), environment, DEFAULT, column.type)


def _assigned(expr: Expr, table: Table, position: int, environment: Environment) -> Expr:
    from ..sql.coerce import coerce

    return coerce(expr, table.schema[position].type, "assignment")


def generated_over(table: Table, row: Sequence[Expr], environment: Environment) -> tuple[Expr, ...]:
    """`row` (one expression a column) with the generated columns computed from the others."""
    if not table.generated:
        return tuple(row)
    scope = table_scope(table)
    found = list(row)
    for position, column in enumerate(table.schema):
        text = table.generated.get(column.name)
        if text is None:
            continue
        expr = bind_expression(parse_scalar(text), scope, environment, GENERATED, column.type)
        found[position] = replace_expr(
            expr, lambda e, level: row[e.index] if isinstance(e, ColumnRef) and not level else None
        )
    return tuple(found)


def table_scope(table: Table) -> Scope:
    """The columns of one row of `table`, by name."""
    columns = columns_from(table.schema.names, table.schema.types)
    return Scope((ScopeItem(table.name, columns, schema_name=table.schema_name),))


def condition_over(table: Table, ast: Ast, environment: Environment) -> Expr:
    """A CHECK condition over a row of `table`."""
    return bind_expression(ast, table_scope(table), environment, CHECK, BOOL)
