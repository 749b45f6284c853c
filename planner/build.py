"""From a catalogue entry to the `Node` that maintains it."""

from __future__ import annotations

from ..operators.expr import Expr, Now
from ..operators.materialize import Materialize
from ..operators.node import walk
from ..operators.scan import Scan
from ..sql.catalog import Catalog
from ..sql.entries import MaterializedView, SystemRelation
from ..sql.parse import parse_select
from ..storage.errors import FeatureNotSupported
from ..storage.textform import TextSettings
from .optimize import optimize
from .rewriting import replace_node
from .translate import Query, translate_query


def materialized(query: Query, catalog: Catalog) -> Materialize:
    """The plan of a materialized view: optimized, and kept by the key its rows have, if any.

    Raises FeatureNotSupported when it reads a system relation, because nobody tells of changes of
    those, and of now(), because what a view says must follow from its inputs alone (I4).
    """
    replace_node(query.node, _refuse_now)
    node = optimize(query.node, catalog, for_view=True)
    for part in walk(node):
        read = catalog.by_id(part.relation) if isinstance(part, Scan) else None
        if isinstance(read, SystemRelation):
            shown = f"{read.schema_name}.{read.name}"
            raise FeatureNotSupported(f"a materialized view cannot read system relation {shown}")
    return Materialize(node, node.key)


def _refuse_now(expr: Expr, level: int) -> Expr | None:
    if isinstance(expr, Now):
        raise FeatureNotSupported(
            "now() in a materialized view is not supported",
            hint="A view changes with its inputs only: compare with now() in the query that reads it.",
        )
    return None


def view_plan(view: MaterializedView, catalog: Catalog) -> Materialize:
    """The plan of a stored view, from its SQL text.

    Raises the SqlError of a definition that no longer binds.
    """
    query = translate_query(
        parse_select(view.query),
        catalog,
        view.search_path,
        text=view.query,
        for_view=True,
        settings=TextSettings(*view.literals),
    )
    return materialized(query, catalog)
