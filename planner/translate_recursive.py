"""WITH RECURSIVE: a UNION whose right side reads the query itself."""

from __future__ import annotations

from itertools import count

from sqlglot import exp

from ..operators.node import Node
from ..operators.recurse import Recurse
from ..operators.scan import Scan
from ..sql.bind import ExpressionBinder
from ..sql.dialect import position_of
from ..sql.environment import VALUES, Ast, BoundQuery, CommonTable, Environment
from ..sql.scope import Scope, columns_from
from ..storage.errors import DatatypeMismatch, FeatureNotSupported, InvalidRecursion, SyntaxFault
from .translate_setops import coerced_output, target_position

_NUMBERS = count(1)
"""Tells the recursive queries of all plans apart."""


def is_recursive(query: Ast, name: str) -> bool:
    """Whether a table called just `name` is read anywhere in `query`."""
    tables = query.find_all(exp.Table)
    return any(t.args.get("db") is None and not t.args.get("rows_from") and t.name == name for t in tables)


def translate_recursive(table: Ast, environment: Environment, parent: Scope | None) -> BoundQuery:
    """Raises 42P19 when the query is not of the form `non-recursive UNION [ALL] recursive`."""
    from .translate import named_columns, translate_bound

    query, alias = table.this, table.args["alias"]
    name, position = alias.name, position_of(alias)
    if environment.for_view:
        raise FeatureNotSupported("WITH RECURSIVE is not supported in views", position=position)
    if not isinstance(query, exp.Union):
        raise InvalidRecursion(
            f'recursive query "{name}" does not have the form non-recursive-term UNION [ALL] recursive-term',
            position=position,
        )
    for clause in ("order", "limit", "offset"):
        if query.args.get(clause) is not None:
            words = "ORDER BY" if clause == "order" else clause.upper()
            raise FeatureNotSupported(f"{words} in a recursive query is not implemented", position=position)
    levels = parent.levels if parent is not None else 0
    inner = environment.with_table(name, CommonTable(None, levels))
    seed = named_columns(translate_bound(query.this, inner, parent), alias)
    relation = f"recursion {next(_NUMBERS)}"
    known = BoundQuery(
        Scan(relation, seed.node.schema.as_nullable()), seed.names, seed.types,
        tuple((0, 0) for _ in seed.names), columns_from(seed.names, seed.types),
    )  # fmt: skip
    inner = environment.with_table(name, CommonTable(known, levels))
    step = translate_bound(query.expression, inner, parent, True)
    node = _coerced_step(step, seed, name, query, environment)
    recursive = Recurse(seed.node, node, relation, bool(query.args.get("distinct")))
    return BoundQuery(recursive, seed.names, seed.types, known.origins, known.columns)


def _coerced_step(
    step: BoundQuery, seed: BoundQuery, name: str, query: Ast, environment: Environment
) -> Node:
    if len(step.types) != len(seed.types):
        words = "each UNION query must have the same number of columns"
        raise SyntaxFault(words, position=position_of(query.expression))
    for i, (have, want) in enumerate(zip(step.types, seed.types, strict=True), 1):
        if not have.same(want) and have.name != "unknown":
            raise DatatypeMismatch(
                f'recursive query "{name}" column {i} has type {want} in non-recursive term '
                f"but type {have} overall",
                hint="Cast the output of the non-recursive term to the correct type.",
                position=target_position(query.this, i - 1),
            )
    return coerced_output(step.node, seed.types, ExpressionBinder(Scope(), environment, VALUES))
