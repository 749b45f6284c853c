"""Expressions that stand alone, without any row: arguments of EXECUTE."""

from __future__ import annotations

from collections.abc import Sequence

from ..operators.expr import Expr
from ..sql.bind import bind_expression
from ..sql.catalog import Catalog
from ..sql.environment import DEFAULT, Ast
from ..sql.scope import Scope
from ..storage.textform import TextSettings
from ..storage.types import Type
from .translate import new_environment


def bind_constant(
    ast: Ast, target: Type, catalog: Catalog, search_path: Sequence[str], settings: TextSettings
) -> Expr:
    """`ast` as a value of type `target`. Raises the SqlError of one that names a column or does not fit."""
    environment = new_environment(catalog, search_path, None, settings=settings)
    return bind_expression(ast, Scope(), environment, DEFAULT, target)
