"""Names of a dataclass's fields, looked up once a class: plans are walked through them all the time."""

from __future__ import annotations

from dataclasses import fields
from functools import cache


@cache
def field_names(kind: type) -> tuple[str, ...]:
    """The fields of a dataclass, in order."""
    return tuple(item.name for item in fields(kind))
