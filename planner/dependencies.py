"""Which relations a query names: what a view depends on."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ..sql.catalog import FIRST_OID, Catalog


def relations_named(ast: exp.Expr, catalog: Catalog, search_path: Sequence[str]) -> frozenset[int]:
    """OIDs of the user's relations that `ast` names, directly (a view counts, not what it reads).

    A name that a CTE of the query hides may be counted as well; that only makes DROP more careful.
    """
    found: set[int] = set()
    for table in ast.find_all(exp.Table):
        parts = [part.name for part in (table.args.get("db"), table.this) if isinstance(part, exp.Identifier)]
        entry = catalog.find(parts, search_path) if parts else None
        if entry is not None and entry.oid >= FIRST_OID:
            found.add(entry.oid)
    return frozenset(found)


def only_column(ast: exp.Expr) -> list[str]:
    """The column of a condition that is about one column only; nothing if about none or several."""
    names = list(dict.fromkeys(column.name for column in ast.find_all(exp.Column)))
    return names if len(names) == 1 else []
