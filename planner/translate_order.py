"""ORDER BY and DISTINCT ON: which output column, or which extra one, each item means.

PostgreSQL's rule: a bare name is first an output column's; an integer constant is a position; anything
else is an expression over the input, computed as an extra column if it is not in the select list already.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from ..operators.expr import Expr
from ..sql.bind import ExpressionBinder
from ..sql.bind_aggregates import direction
from ..sql.dialect import position_of
from ..sql.environment import DISTINCT_ON, ORDER_BY, Ast
from ..sql.intermediate import Direction
from ..storage.errors import AmbiguousColumn, InvalidColumnReference, SyntaxFault


@dataclass(frozen=True, slots=True)
class Target:
    """A column of the select list; `hidden` if only ORDER BY or DISTINCT ON want it."""

    name: str
    expr: Expr
    origin: tuple[int, int] = (0, 0)
    position: int = 0
    hidden: bool = False


def bind_order_by(
    ast: Ast, binder: ExpressionBinder, targets: list[Target], distinct: bool
) -> list[tuple[int, Direction]]:
    """Position in `targets` (which may grow) and direction of each ORDER BY item.

    Raises 42P10 for a position that is none, and for an item that SELECT DISTINCT does not have.
    """
    order = ast.args.get("order")
    found: list[tuple[int, Direction]] = []
    for item in order.expressions if order is not None else ():
        index = target_of(item.this, replace(binder, clause=ORDER_BY), targets)
        if distinct and targets[index].hidden:
            words = "for SELECT DISTINCT, ORDER BY expressions must appear in select list"
            raise InvalidColumnReference(words, position=position_of(item.this))
        if all(index != known for known, _ in found):
            found.append((index, direction(item)))
    return found


def target_of(ast: Ast, binder: ExpressionBinder, targets: list[Target]) -> int:
    """Position of the target that an ORDER BY or DISTINCT ON item means; added, hidden, if need be."""
    named = named_target(ast, targets, binder.clause.words)
    if named is not None:
        return named
    position = ordinal(ast, targets, binder.clause.words)
    if position is not None:
        return position
    expr = binder.settle(binder.bind(ast))
    for index, target in enumerate(targets):
        if target.expr == expr:
            return index
    targets.append(Target("?column?", expr, (0, 0), position_of(ast), True))
    return len(targets) - 1


def named_target(ast: Ast, targets: list[Target], words: str) -> int | None:
    """The output column that a bare name means. Raises 42702 if two different ones have it."""
    if not isinstance(ast, exp.Column) or ast.args.get("table") is not None or isinstance(ast.this, exp.Star):
        return None
    found = [i for i, target in enumerate(targets) if target.name == ast.this.name and not target.hidden]
    if any(targets[i].expr != targets[found[0]].expr for i in found[1:]):
        raise AmbiguousColumn(f'{words} "{ast.this.name}" is ambiguous', position=position_of(ast))
    return found[0] if found else None


def ordinal(ast: Ast, targets: list[Target], words: str) -> int | None:
    """The position an integer constant means."""
    sign, ast = ("-", ast.this) if isinstance(ast, exp.Neg) else ("", ast)
    if not isinstance(ast, (exp.Literal, exp.Null, exp.Boolean)):
        return None
    text = str(ast.this)
    if not isinstance(ast, exp.Literal) or ast.args.get("is_string") or not text.isdigit():
        raise SyntaxFault(f"non-integer constant in {words}", position=position_of(ast))
    shown = [i for i, target in enumerate(targets) if not target.hidden]
    if sign or not 1 <= int(text) <= len(shown):
        words = f"{words} position {sign}{text} is not in select list"
        raise InvalidColumnReference(words, position=position_of(ast) - len(sign))
    return shown[int(text) - 1]


def bind_distinct_on(
    on: Ast, binder: ExpressionBinder, targets: list[Target], order: list[tuple[int, Direction]]
) -> tuple[int, ...]:
    """Positions of the DISTINCT ON expressions, which must be those that ORDER BY starts with."""
    items = on.expressions if isinstance(on, exp.Tuple) else [on]
    scoped = replace(binder, clause=DISTINCT_ON)
    wanted = tuple(dict.fromkeys(target_of(item, scoped, targets) for item in items))
    leading = [index for index, _ in order[: len(wanted)]]
    if any(index not in wanted for index in leading):
        words = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions"
        raise InvalidColumnReference(words, position=position_of(items[0]))
    return wanted
