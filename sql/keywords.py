"""PostgreSQL 16's key words that are not free to be names (`pg_get_keywords()`).

All other words are ordinary names wherever a name may stand.
"""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


RESERVED = words(
    """all analyse analyze and any array as asc asymmetric both case cast check collate column constraint
    create current_catalog current_date current_role current_time current_timestamp current_user default
    deferrable desc distinct do else end except false fetch for foreign from grant group having in
    initially intersect into lateral leading limit localtime localtimestamp not null offset on only or
    order placing primary references returning select session_user some symmetric system_user table then
    to trailing true union unique user using variadic when where window with"""
)
"""Names of nothing."""

TYPE_OR_FUNCTION = words(
    """authorization binary collation concurrently cross current_schema freeze full ilike inner is isnull
    join left like natural notnull outer overlaps right similar tablesample verbose"""
)
"""May name a type or a function, not a column or table."""

COLUMN_NAME = words(
    """between bigint bit boolean char character coalesce dec decimal exists extract float greatest
    grouping inout int integer interval json_array json_arrayagg json_object json_objectagg least
    national nchar none normalize nullif numeric out overlay position precision real row setof smallint
    substring time timestamp treat trim values varchar xmlattributes xmlconcat xmlelement xmlexists
    xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable"""
)
"""May name a column or table, not a function or type."""

NEEDS_AS = words(
    """array as char character create day except fetch filter for from grant group having hour intersect
    into isnull limit minute month notnull offset on order over overlaps precision returning second to
    union varying where window with within without year"""
)
"""May name an output column behind AS only."""

NOT_COLUMN = RESERVED | TYPE_OR_FUNCTION
NOT_FUNCTION = RESERVED | COLUMN_NAME

QUERY_TAIL = words("order limit offset fetch for")
"""Begin a clause of what stands behind a whole query."""
