"""`pg_catalog`, `information_schema` and `millpond`: read-only relations computed when they are read.

Importing this package registers them all; each family is a file, each relation one decorated function.
"""

from __future__ import annotations

from ..entries import SystemRelation
from . import reg_casts, sequence_functions
from .registry import SystemContext, relations, system_rows

SYSTEM_RELATIONS: list[SystemRelation] = relations()

__all__ = ["SYSTEM_RELATIONS", "SystemContext", "reg_casts", "sequence_functions", "system_rows"]
