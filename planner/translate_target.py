"""What INSERT, UPDATE and DELETE share: the table, assignment to its columns, RETURNING."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ..operators.expr import Expr, Subquery, walk_expr
from ..sql import statements as st
from ..sql.bind import ExpressionBinder
from ..sql.catalog import Index, MaterializedView, Relation, Sink, Source, SystemRelation, Table, View
from ..sql.catalog import Sequence as SequenceEntry
from ..sql.coerce import can_coerce
from ..sql.dialect import position_of
from ..sql.environment import RETURNING, Ast, Environment
from ..sql.scope import Scope, ScopeItem, columns_from
from ..storage.errors import (
    DatatypeMismatch,
    FeatureNotSupported,
    GeneratedAlways,
    InsufficientPrivilege,
    ObjectNotReady,
    SqlError,
    UndefinedColumn,
    WrongObjectType,
)
from .rewriting import finish
from .translate_order import Target
from .translate_select import select_items

VERBS = {"insert": "insert into", "update": "update", "delete": "delete from"}
VIEW_HINTS = {
    "insert": ("inserting into", "INSERT"),
    "update": ("updating", "UPDATE"),
    "delete": ("deleting from", "DELETE"),
}
REWRITE_HINT = "You will need to rewrite or cast the expression."


def target_table(name: st.ObjectName, environment: Environment, verb: str) -> Table:
    """The table to write to. Raises 42P01, or what PostgreSQL says of other relations."""
    try:
        entry = environment.catalog.resolve(name.parts, environment.search_path)
    except SqlError as error:
        raise error.at(name.position) from None
    if isinstance(entry, Table):
        return entry
    if isinstance(entry, View):
        participle, event = VIEW_HINTS[verb]
        raise ObjectNotReady(
            f'cannot {VERBS[verb]} view "{entry.name}"',
            hint=f"To enable {participle} the view, provide an INSTEAD OF {event} trigger "
            f"or an unconditional ON {event} DO INSTEAD rule.",
        )
    if isinstance(entry, MaterializedView):
        raise WrongObjectType(f'cannot change materialized view "{entry.name}"')
    if isinstance(entry, SystemRelation):
        raise InsufficientPrivilege(f"permission denied for table {entry.name}")
    if isinstance(entry, Source):
        raise WrongObjectType(f'cannot change source "{entry.name}"')
    if isinstance(entry, (Index, SequenceEntry, Sink)) or not isinstance(entry, Relation):
        raise WrongObjectType(f'cannot open relation "{entry.name}"', position=name.position)
    raise WrongObjectType(f'cannot change "{entry.name}"', position=name.position)


def column_position(table: Table, column: st.ColumnName) -> int:
    """Raises 42703 `column "x" of relation "t" does not exist`."""
    for i, declared in enumerate(table.schema):
        if declared.name == column.name and not declared.hidden:
            return i
    raise UndefinedColumn(
        f'column "{column.name}" of relation "{table.name}" does not exist', position=column.position
    )


def is_default(ast: Ast) -> bool:
    return isinstance(ast, exp.Var) and str(ast.this).upper() == "DEFAULT"


def assign(binder: ExpressionBinder, expr: Expr, table: Table, position: int, place: int) -> Expr:
    """`expr` as a value of the table's column. Raises 42804 with the column's name."""
    column = table.schema[position]
    if not can_coerce(expr.type, column.type, "assignment"):
        raise DatatypeMismatch(
            f'column "{column.name}" is of type {column.type.bare()} '
            f"but expression is of type {expr.type.bare()}",
            position=place,
            hint=REWRITE_HINT,
        )
    return binder.coerce(expr, column.type, "assignment", place)


def check_assignable(table: Table, position: int, words: str, overriding: bool, place: int = 0) -> None:
    """Generated columns take DEFAULT only. `words`: "insert a non-DEFAULT value into", with %s the column."""
    column = table.schema[position].name
    if column in table.generated:
        raise GeneratedAlways(words % column, detail=f'Column "{column}" is a generated column.')
    identity = table.identities.get(column)
    if identity is not None and identity.kind == "always" and not overriding:
        raise GeneratedAlways(
            words % column,
            detail=f'Column "{column}" is an identity column defined as GENERATED ALWAYS.',
            hint="Use OVERRIDING SYSTEM VALUE to override." if words.startswith("cannot insert") else "",
        )


def table_item(table: Table, alias: str, start: int = 0) -> ScopeItem:
    """The table's columns at `start` … of a row."""
    origins = [(table.oid, i + 1) for i in range(len(table.schema))]
    columns = columns_from(table.schema.names, table.schema.types, origins)
    shown = tuple(
        column if not declared.hidden else type(column)(column.name, column.expr, True, column.origin)
        for column, declared in zip(columns, table.schema, strict=True)
    )
    original = table.name if alias and alias != table.name else ""
    item = ScopeItem(
        alias or table.name, shown, table=original, schema_name=table.schema_name, key=table.primary_key
    )
    return item.shifted(start)


def bind_returning(
    asts: Sequence[Ast], items: tuple[ScopeItem, ...], width: int, environment: Environment
) -> list[Target]:
    """The RETURNING list over a row of `width` columns."""
    binder = ExpressionBinder(Scope(items), environment, RETURNING)
    targets: list[Target] = []
    for ast in asts:
        for target in select_items(binder, ast):
            expr = finish(binder.settle(target.expr), width)
            refuse_subquery(expr, "RETURNING", position_of(ast))
            targets.append(Target(target.name, expr, target.origin))
    return targets


def refuse_subquery(expr: Expr, words: str, position: int) -> None:
    if any(isinstance(part, Subquery) for part in walk_expr(expr)):
        raise FeatureNotSupported(f"subqueries in {words} are not supported", position=position)
