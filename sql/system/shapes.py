"""The columns of PostgreSQL's own system relations, from the texts in `columns_….py`."""

from __future__ import annotations

from collections.abc import Iterator

from ...storage.types import Type, type_by_name
from . import columns_catalog, columns_information, columns_statistics

Shape = tuple[int, dict[str, Type]]


def _lines(text: str) -> Iterator[list[str]]:
    """Each relation's words: its name, its OID, its columns."""
    return (line.split() for line in text.replace("\n  ", " ").splitlines())


def _shape(words: list[str]) -> Shape:
    columns: dict[str, Type] = {}
    for word in words[2:]:
        name, _, type_name = word.partition(":")
        type_ = type_by_name(type_name)
        assert type_ is not None, word
        columns[name] = type_
    return int(words[1]), columns


_TEXTS = (
    ("pg_catalog", columns_catalog.COLUMNS),
    ("pg_catalog", columns_statistics.COLUMNS),
    ("information_schema", columns_information.COLUMNS),
)
SHAPES: dict[tuple[str, str], Shape] = {
    (schema, words[0]): _shape(words) for schema, text in _TEXTS for words in _lines(text)
}
"""(OID in PostgreSQL, or 0; columns with their types) by schema and name."""
