"""A query's syntax tree into a `Node`: the entry of translation.

    parsed SELECT ──ExpressionBinder (sql/bind.py)──▶ expressions
                  ──translate_from / _select / _aggregate / _window / _setops──▶ Node

The result may hold `Apply` nodes and `Subquery` expressions; `rules/decorrelate.py` removes them. It may
hold `Parameter` expressions and `ParameterTopN` nodes until `rewriting.substitute_node` has given them
their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ..operators.expr import ColumnRef
from ..operators.node import Node
from ..sql.catalog import Catalog
from ..sql.coerce import DEFAULT_SETTINGS
from ..sql.dialect import position_of
from ..sql.environment import Ast, BoundQuery, CommonTable, Environment
from ..sql.parameters import ParameterTypes
from ..sql.scope import Scope, ScopeColumn, columns_from
from ..storage.errors import DuplicateAlias, FeatureNotSupported, InvalidColumnReference
from ..storage.textform import TextSettings
from ..storage.types import Type
from .translate_recursive import is_recursive, translate_recursive
from .translate_select import translate_select
from .translate_setops import SET_OPERATIONS, translate_set_operation, translate_values


@dataclass(frozen=True, slots=True)
class Query:
    """A translated query.

    `node` yields exactly the columns `names` of `types`; if the query has ORDER BY or LIMIT its top is a
    TopN, or a Project (which keeps the order) over one. `origins` has, per column, the table OID and the
    1-based column number it comes from unchanged, (0, 0) if it is computed.
    """

    node: Node
    names: tuple[str, ...]
    types: tuple[Type, ...]
    origins: tuple[tuple[int, int], ...]


def translate_query(
    ast: Ast,
    catalog: Catalog,
    search_path: Sequence[str],
    parameters: ParameterTypes | None = None,
    *,
    text: str = "",
    for_view: bool = False,
    settings: TextSettings = DEFAULT_SETTINGS,
) -> Query:
    """Binds and translates a SELECT, VALUES or set operation.

    With `for_view` an ORDER BY without LIMIT is dropped (a view is a bag) and volatile functions are
    refused. Raises the SqlError PostgreSQL would raise, with its position.
    """
    environment = new_environment(catalog, search_path, parameters, for_view, settings)
    bound = translate_bound(ast, environment, None, ordered=not for_view)
    if any(not isinstance(column.expr, ColumnRef) for column in bound.columns):
        raise FeatureNotSupported("row values in a result are not supported", position=position_of(ast))
    return Query(bound.node, bound.names, bound.types, bound.origins)


def new_environment(
    catalog: Catalog,
    search_path: Sequence[str],
    parameters: ParameterTypes | None,
    for_view: bool = False,
    settings: TextSettings = DEFAULT_SETTINGS,
) -> Environment:
    known = ParameterTypes() if parameters is None else parameters
    return Environment(catalog, tuple(search_path), known, _translate_subquery, for_view, settings)


def _translate_subquery(ast: Ast, environment: Environment, parent: Scope | None) -> BoundQuery:
    return translate_bound(ast, environment, parent, ordered=not environment.for_view)


def translate_bound(
    ast: Ast,
    environment: Environment,
    parent: Scope | None,
    keep_unknown: bool = False,
    ordered: bool = True,
) -> BoundQuery:
    """A query whose enclosing level is `parent`.

    `keep_unknown` leaves untyped literals of the output to the caller, which gives them a type.
    """
    while isinstance(ast, exp.Subquery):
        ast = ast.this
    environment = with_tables(ast.args.get("with_"), environment, parent)
    if isinstance(ast, exp.Select):
        return translate_select(ast, environment, parent, keep_unknown, ordered)
    if isinstance(ast, SET_OPERATIONS):
        return translate_set_operation(ast, environment, parent, keep_unknown, ordered)
    if isinstance(ast, exp.Values):
        return translate_values(ast, environment, parent, ordered)
    raise FeatureNotSupported("this kind of query is not supported", position=position_of(ast))


def with_tables(with_: Ast | None, environment: Environment, parent: Scope | None) -> Environment:
    """`environment` with the queries of WITH, each of which sees those before it."""
    if with_ is None:
        return environment
    if with_.args.get("mutual"):
        raise FeatureNotSupported("WITH MUTUALLY RECURSIVE is not supported", position=position_of(with_))
    levels = parent.levels if parent is not None else 0
    seen: set[str] = set()
    for table in with_.expressions:
        name = table.args["alias"].name
        if name in seen:
            words = f'WITH query name "{name}" specified more than once'
            raise DuplicateAlias(words, position=position_of(table.args["alias"]))
        seen.add(name)
        later = frozenset(t.args["alias"].name for t in with_.expressions if t.args["alias"].name not in seen)
        environment = replace(environment, later=later)
        if with_.args.get("recursive") and is_recursive(table.this, name):
            query = translate_recursive(table, environment, parent)
        else:
            query = named_columns(translate_bound(table.this, environment, parent), table.args["alias"])
        environment = environment.with_table(name, CommonTable(query, levels))
    return environment


def named_columns(query: BoundQuery, alias: Ast) -> BoundQuery:
    """`query` with the column names of `WITH t (a, b)`."""
    names = [column.name for column in alias.args.get("columns") or ()]
    if not names:
        return query
    if len(names) > len(query.names):
        words = (
            f'WITH query "{alias.name}" has {len(query.names)} columns available '
            f"but {len(names)} columns specified"
        )
        raise InvalidColumnReference(words, position=position_of(alias))
    known: tuple[ScopeColumn, ...] = query.columns or columns_from(query.names, query.types, query.origins)
    full = (*names, *query.names[len(names) :])
    columns = tuple(replace(column, name=name) for column, name in zip(known, full, strict=True))
    return replace(query, names=full, columns=columns)
