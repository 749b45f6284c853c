"""`ExpressionBinder`: a syntax tree into a typed expression, by PostgreSQL's rules.

One rule per kind of node, in the `bind_*.py` files; `RULES` puts them together. The binder knows the
scope (which columns there are) and the clause (what may stand there), and has the coercions that every
rule needs. Nothing here knows relational operators: a subquery is translated by `environment.translate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..operators.expr import Expr, Literal, Parameter
from ..storage.errors import DatatypeMismatch, FeatureNotSupported, SqlError
from ..storage.types import BOOL, NUMERIC, TEXT, Type
from . import (
    bind_arrays,
    bind_casts,
    bind_columns,
    bind_conditions,
    bind_functions,
    bind_literals,
    bind_operators,
    bind_subqueries,
)
from .coerce import can_coerce, coerce, common_type, numeric_beside_nulls
from .dialect import position_of
from .environment import SELECT, Ast, Clause, Environment
from .positions import start_of
from .scope import Scope

Rule = Callable[["ExpressionBinder", Ast], Expr]

RULES: dict[type[Ast], Rule] = {
    **bind_literals.RULES,
    **bind_columns.RULES,
    **bind_operators.RULES,
    **bind_conditions.RULES,
    **bind_casts.RULES,
    **bind_arrays.RULES,
    **bind_functions.RULES,
    **bind_subqueries.RULES,
}


@dataclass(frozen=True, slots=True)
class ExpressionBinder:
    """Binds expressions of one clause of one query level.

    `windows` are the named windows of WINDOW. `within` says what call encloses the expression
    ("aggregate", "window", or a construct in which no set-returning function may stand).
    """

    scope: Scope
    environment: Environment
    clause: Clause = SELECT
    windows: Mapping[str, Ast] = field(default_factory=dict)
    in_aggregate: bool = False
    in_window: bool = False
    in_conditional: str = ""

    def bind(self, ast: Ast) -> Expr:
        """The expression `ast` means. Raises SqlError with the position of what is wrong."""
        rule = RULES.get(type(ast))
        if rule is None:
            raise FeatureNotSupported(
                f"{type(ast).__name__} is not supported here", position=position_of(ast)
            )
        try:
            return rule(self, ast)
        except SqlError as error:
            raise error.at(position_of(ast)) from None

    def bind_all(self, asts: Sequence[Ast]) -> tuple[Expr, ...]:
        return tuple(self.bind(ast) for ast in asts)

    def within(
        self,
        *,
        aggregate: bool = False,
        window: bool = False,
        conditional: str = "",
        clause: Clause | None = None,
    ) -> ExpressionBinder:
        """The binder of a part of the expression."""
        return replace(
            self,
            in_aggregate=self.in_aggregate or aggregate,
            in_window=self.in_window or window,
            in_conditional=conditional or self.in_conditional,
            clause=clause or self.clause,
        )

    def boolean(self, ast: Ast, construct: str) -> Expr:
        """A condition. Raises 42804 `argument of WHERE must be type boolean, not type integer`."""
        expr = self.bind(ast)
        if expr.type.name == "bool":
            return expr
        return self.as_boolean(expr, construct, start_of(ast))

    def as_boolean(self, expr: Expr, construct: str, position: int = 0) -> Expr:
        if expr.type.name == "bool":
            return expr
        if not can_coerce(expr.type, BOOL, "assignment"):
            message = f"argument of {construct} must be type boolean, not type {expr.type}"
            raise DatatypeMismatch(message, position=position)
        return self.coerce(expr, BOOL, "assignment", position)

    def coerce(self, expr: Expr, target: Type, context: str = "implicit", position: int = 0) -> Expr:
        """`coerce.coerce`, which an undecided parameter answers by taking the type."""
        if isinstance(expr, Parameter) and expr.type.name == "unknown":
            if target.name in ("any", "unknown"):
                return expr
            type_ = self.environment.parameters.decide(expr.number, target, position)
            expr = Parameter(expr.number, type_)
        if isinstance(expr, Literal) and expr.type.name == "unknown":
            position = self.environment.place(expr) or position
        return coerce(expr, target, context, position, self.environment.settings)

    def settle(self, expr: Expr) -> Expr:
        """`expr` with its type decided: what is still unknown is text."""
        return self.coerce(expr, TEXT) if expr.type.name == "unknown" else expr

    def unify(
        self, exprs: Sequence[Expr], construct: str, asts: Sequence[Ast | None] = ()
    ) -> tuple[tuple[Expr, ...], Type]:
        """All `exprs` in their common type, and that type. `asts` is where they are written."""
        wanted = unified_type([expr.type for expr in exprs], construct, asts)
        if wanted == NUMERIC:
            wanted = numeric_beside_nulls(exprs)
        return tuple(self.coerce(expr, wanted) for expr in exprs), wanted


def unified_type(types: Sequence[Type], construct: str, asts: Sequence[Ast | None]) -> Type:
    """The common type, text if nothing is typed. The first expression that does not fit is blamed."""
    try:
        wanted = common_type(types, construct)
    except SqlError as error:
        raise error.at(_misfit(types, construct, asts)) from None
    return TEXT if wanted.name == "unknown" else wanted


def _misfit(types: Sequence[Type], construct: str, asts: Sequence[Ast | None]) -> int:
    for count in range(2, len(types) + 1):
        try:
            common_type(types[:count], construct)
        except SqlError:
            return start_of(asts[count - 1]) if asts else 0
    return 0


def bind_expression(
    ast: Ast, scope: Scope, environment: Environment, clause: Clause, target: Type | None = None
) -> Expr:
    """One expression outside of a query: a DEFAULT, a CHECK, a generated column, an index key.

    With `target` it is assigned to a column of that type.
    """
    binder = ExpressionBinder(scope, environment, clause)
    expr = binder.bind(ast)
    if target is None:
        return binder.settle(expr)
    return binder.coerce(expr, target, "assignment", start_of(ast))
