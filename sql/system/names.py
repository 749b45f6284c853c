"""Names of objects and their OIDs, in both directions: what `'t'::regclass` means and how it is shown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...storage.errors import InvalidSchemaName, SqlError, UndefinedTable
from .registry import SystemContext

_PART = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^\s".]+))\s*')


class InvalidName(SqlError, code="42602"): ...


def name_parts(text: str) -> list[str]:
    """`"A".b` as its parts, folded to lower case unless quoted. Raises InvalidName."""
    parts: list[str] = []
    at = 0
    while True:
        match = _PART.match(text, at)
        if match is None:
            raise InvalidName("invalid name syntax")
        parts.append(match[1].replace('""', '"') if match[1] is not None else match[2].lower())
        at = match.end()
        if at == len(text):
            return parts
        if text[at] != ".":
            raise InvalidName("invalid name syntax")
        at += 1


def relation_oid(text: str, system: SystemContext) -> int:
    """The OID `text::regclass` stands for. Raises UndefinedTable (42P01), InvalidName."""
    if text.strip().isdigit():
        return int(text)
    if text == "-":
        return 0
    parts = name_parts(text)
    found = find_relation(parts, system)
    if found is None:
        if len(parts) > 1 and system.catalog.schema(parts[-2]) is None:
            raise InvalidSchemaName(f'schema "{parts[-2]}" does not exist')
        raise UndefinedTable(f'relation "{".".join(parts)}" does not exist')
    return found


def find_relation(parts: Sequence[str], system: SystemContext) -> int | None:
    """The OID of a relation by its (qualified) name."""
    entry = system.catalog.find(parts, system.search_path)
    return None if entry is None else entry.oid
