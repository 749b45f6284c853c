"""`SortKey`, and ORDER BY over whole columns.

The order is that of the canonical key bytes (`keycode.py`), so NULL, NaN, numeric text and
intervals sort as PostgreSQL sorts them (strings by code point: the C collation).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SortKey:
    """One ORDER BY item: position of the column, and where its NULLs go.

    PostgreSQL's default is NULLS LAST ascending and NULLS FIRST descending; whoever builds the key
    resolves that default.
    """

    column: int
    descending: bool = False
    nulls_first: bool = False
