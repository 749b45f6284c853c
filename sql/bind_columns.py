"""Column names, row values and their fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from ..operators.expr import Expr
from ..storage.errors import FeatureNotSupported, SyntaxFault, UndefinedColumn, WrongObjectType
from ..storage.types import RECORD, Type
from .dialect import position_of
from .scope import ScopeColumn, outward

if TYPE_CHECKING:
    from .bind import Ast, ExpressionBinder


@dataclass(frozen=True)
class RowExpr(Expr):
    """`ROW(…)`, `(a, b)` or a whole row of a FROM item; it is always taken apart before evaluation."""

    args: tuple[Expr, ...]
    names: tuple[str, ...]
    type: Type = RECORD
    whole: bool = False
    """A row of a FROM item, which an outer join may have made NULL."""


def find_column(binder: ExpressionBinder, ast: Ast) -> tuple[Expr, ScopeColumn] | None:
    """The column that `ast` names. None when an unqualified name is no column.

    Raises UndefinedTable, UndefinedColumn, AmbiguousColumn with PostgreSQL's words.
    """
    position = position_of(ast)
    name = ast.this.name
    table = ast.args.get("table")
    if table is None:
        return binder.scope.column(name, position)
    database = ast.args.get("db")
    if ast.args.get("catalog") is not None:
        raise FeatureNotSupported("names of columns with a database are not supported", position=position)
    return binder.scope.qualified(table.name, name, position, database.name if database else "")


def bind_column(binder: ExpressionBinder, ast: Ast) -> Expr:
    if isinstance(ast.this, exp.Star):
        return _row_of(binder, ast)
    found = find_column(binder, ast)
    if found is None:
        return _whole_row(binder, ast)
    # A fresh object for each use: translation finds the place of a use by identity.
    expr = found[0].with_children(found[0].children)
    return binder.environment.note(expr, position_of(ast))


def _whole_row(binder: ExpressionBinder, ast: Ast) -> Expr:
    """`t` where t is a FROM item and no column: the row as one value."""
    name = ast.this.name
    for depth, scope in binder.scope.chain():
        items = [item for item in scope.items if item.visible and item.alias == name]
        if scope.reachable and items:
            columns = [column for column in items[0].columns if not column.hidden]
            exprs = tuple(outward(column.expr, depth) for column in columns)
            return RowExpr(exprs, tuple(column.name for column in columns), whole=True)
    raise binder.scope.missing(name, position_of(ast))


def _row_of(binder: ExpressionBinder, ast: Ast) -> Expr:
    """`t.*` as one value, as in count(t.*)."""
    table = ast.args.get("table")
    if table is None:
        raise SyntaxFault('row expansion via "*" is not supported here', position=position_of(ast))
    database = ast.args.get("db")
    schema = database.name if database is not None else ""
    columns = binder.scope.item_star(table.name, position_of(ast), schema)
    names = tuple(column.name for column in columns)
    return RowExpr(tuple(column.expr for column in columns), names, whole=True)


def bind_tuple(binder: ExpressionBinder, ast: Ast) -> Expr:
    """`(a, b)` or ROW(a, b)."""
    args = binder.bind_all(ast.expressions)
    return RowExpr(args, tuple(f"f{i}" for i in range(1, len(args) + 1)))


def bind_field(binder: ExpressionBinder, ast: Ast) -> Expr:
    """`(row).field`, or a function of a schema."""
    if isinstance(ast.expression, exp.Anonymous):
        from .bind_functions import bind_call

        return bind_call(binder, ast)
    if isinstance(ast.expression, exp.Star):
        raise SyntaxFault('row expansion via "*" is not supported here', position=position_of(ast))
    return field_of(binder, ast.this, ast.expression.name, position_of(ast))


def field_of(binder: ExpressionBinder, base: Ast, name: str, position: int) -> Expr:
    """Field `name` of the row value `base`. Raises 42703 or 42809."""
    row = binder.bind(base)
    if not isinstance(row, RowExpr):
        words = f"column notation .{name} applied to type {row.type}, which is not a composite type"
        raise WrongObjectType(words, position=position)
    if name not in row.names:
        raise UndefinedColumn(f'column "{name}" not found in data type record', position=position)
    return row.args[row.names.index(name)]


RULES = {exp.Column: bind_column, exp.Tuple: bind_tuple, exp.Dot: bind_field}
