"""The SQL functions, one family a file. Importing this package registers all of them.

`registry.py` says what a function is, `vector.py` how its kernel is called, `casts.py` holds the
conversions, `aggregates.py` the aggregates and how an operator keeps them.
"""

from . import (
    aggregates_extremes,
    aggregates_lists,
    aggregates_ordered,
    aggregates_statistics,
    aggregates_sums,
    arrays,
    casts_numbers,
    casts_temporal,
    casts_text,
    comparison,
    json,
    json_build,
    logic,
    numeric,
    numeric_exact,
    numeric_math,
    patterns,
    system,
    tables,
    temporal,
    temporal_fields,
    temporal_trunc,
    text,
    text_bytes,
)

__all__ = [
    "aggregates_extremes",
    "aggregates_lists",
    "aggregates_ordered",
    "aggregates_statistics",
    "aggregates_sums",
    "arrays",
    "casts_numbers",
    "casts_temporal",
    "casts_text",
    "comparison",
    "json",
    "json_build",
    "logic",
    "numeric",
    "numeric_exact",
    "numeric_math",
    "patterns",
    "system",
    "tables",
    "temporal",
    "temporal_fields",
    "temporal_trunc",
    "text",
    "text_bytes",
]
