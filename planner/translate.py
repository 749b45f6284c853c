"""A query's syntax tree into a `Node`: the entry of translation.

    parsed SELECT ──ExpressionBinder (sql/bind.py)──▶ expressions
                  ──translate_from / _select / _aggregate / _window / _setops──▶ Node

The result may hold `Apply` nodes and `Subquery` expressions; `rules/decorrelate.py` removes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from ..operators.node import Node
from ..sql.catalog import Catalog
from ..sql.parameters import ParameterTypes
from ..storage.errors import FeatureNotSupported
from ..storage.types import Type


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
    ast: exp.Expr,
    catalog: Catalog,
    search_path: Sequence[str],
    parameters: ParameterTypes | None = None,
    *,
    text: str = "",
    for_view: bool = False,
) -> Query:
    """Binds and translates a SELECT, VALUES or set operation.

    `text` is the statement's source, for positions of operators in errors. With `for_view` an ORDER BY
    without LIMIT is dropped (a view is a bag) and volatile functions are refused.
    Raises the SqlError PostgreSQL would raise, with its position.
    """
    raise FeatureNotSupported("this kind of query is not supported")
