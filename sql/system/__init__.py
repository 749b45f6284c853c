"""`pg_catalog`, `information_schema` and `millpond`: read-only relations computed when they are read.

Importing this package registers them all, with the functions and casts that look things up in the
catalogue. Each family is a file, each relation one decorated function (`registry.py`).
"""

from __future__ import annotations

from ..entries import SystemRelation
from . import (
    definition_functions,
    information,
    opclasses,
    own,
    pg_classes,
    pg_procs,
    pg_server,
    pg_types,
    pg_views,
    reg_casts,
    sequence_functions,
    session_functions,
    visibility_functions,
)
from .registry import SystemContext, relations, system_rows

SYSTEM_RELATIONS: list[SystemRelation] = relations()

__all__ = [
    "SYSTEM_RELATIONS",
    "SystemContext",
    "definition_functions",
    "information",
    "opclasses",
    "own",
    "pg_classes",
    "pg_procs",
    "pg_server",
    "pg_types",
    "pg_views",
    "reg_casts",
    "sequence_functions",
    "session_functions",
    "system_rows",
    "visibility_functions",
]
