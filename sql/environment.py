"""What binding needs beside the names in scope: the catalogue, the parameters, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlglot import exp

from ..operators.expr import Expr
from ..operators.node import Node
from ..storage.textform import TextSettings
from ..storage.types import Type
from .catalog import Catalog
from .coerce import DEFAULT_SETTINGS
from .parameters import ParameterTypes
from .scope import Scope, ScopeColumn

Ast = exp.Expr


@dataclass(frozen=True, slots=True)
class Clause:
    """The place an expression stands in, as error messages call it, and what may stand there."""

    words: str
    aggregates: bool = False
    windows: bool = False
    sets: bool = False


SELECT = Clause("SELECT", True, True, True)
ORDER_BY = Clause("ORDER BY", True, True, True)
GROUP_BY = Clause("GROUP BY", sets=True)
DISTINCT_ON = Clause("DISTINCT ON", True, True, True)
HAVING = Clause("HAVING", True)
WHERE = Clause("WHERE")
JOIN = Clause("JOIN conditions")
FROM_FUNCTION = Clause("functions in FROM")
VALUES = Clause("VALUES")
LIMIT = Clause("LIMIT")
OFFSET = Clause("OFFSET")
RETURNING = Clause("RETURNING")
UPDATE = Clause("UPDATE")
FILTER = Clause("FILTER")
WINDOW = Clause("window definitions", True)
CHECK = Clause("check constraints")
DEFAULT = Clause("DEFAULT expressions")
GENERATED = Clause("column generation expressions")
INDEX = Clause("index expressions")


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A translated query as the binder sees it.

    `columns`, when not empty, says of which columns of the node's row the output is made: a row value is
    spread over several.
    """

    node: Node
    names: tuple[str, ...]
    types: tuple[Type, ...]
    origins: tuple[tuple[int, int], ...]
    columns: tuple[ScopeColumn, ...] = ()


class TranslateSubquery(Protocol):
    def __call__(self, ast: Ast, environment: Environment, parent: Scope | None) -> BoundQuery:
        """A subquery whose enclosing query level is `parent`."""
        ...


@dataclass(frozen=True, slots=True)
class CommonTable:
    """A WITH query: its translation (None within itself) and how many query levels enclosed it there."""

    query: BoundQuery | None
    levels: int


@dataclass(frozen=True, slots=True)
class Environment:
    """Shared by all levels of one statement, except `tables` (the WITH queries in sight).

    `later` are the WITH queries that stand behind the one being bound, which it may not read.
    `places` has the position of column references, by identity of the expression, for the errors that
    translation finds later.
    """

    catalog: Catalog
    search_path: tuple[str, ...]
    parameters: ParameterTypes
    translate: TranslateSubquery
    for_view: bool = False
    settings: TextSettings = DEFAULT_SETTINGS
    """By which date and time literals are read: the session's, or those a view was made with."""
    tables: Mapping[str, CommonTable] = field(default_factory=dict)
    later: frozenset[str] = frozenset()
    places: dict[int, tuple[Expr, int]] = field(default_factory=dict)

    def with_table(self, name: str, table: CommonTable) -> Environment:
        return replace(self, tables={**self.tables, name: table})

    def note(self, expr: Expr, position: int) -> Expr:
        """`expr`, remembered to stand at `position`."""
        self.places[id(expr)] = (expr, position)
        return expr

    def place(self, expr: Expr) -> int:
        found = self.places.get(id(expr))
        return found[1] if found else 0
