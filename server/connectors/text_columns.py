"""Byte strings that are each one value: as bytea, or as the text of a value of any other type."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ...storage.errors import CharacterNotInRepertoire
from ...storage.schema import Column
from .rows import Rows


def bytes_column(column: Column, values: Sequence[bytes | None], rows: Rows) -> pa.Array:
    return rows.convert(column, pa.array(values, pa.binary()), lambda same: same.cast(column.type.arrow))


def text_column(column: Column, values: Sequence[bytes | None], rows: Rows) -> pa.Array:
    """Values of the column from their texts; what is no UTF-8, or no such value, is noted in `rows`."""
    texts: list[str | None] = []
    for row, value in enumerate(values):
        try:
            texts.append(None if value is None else value.decode())
        except UnicodeDecodeError as error:
            assert value is not None
            seen = " ".join(f"0x{byte:02x}" for byte in value[error.start : max(error.end, error.start + 1)])
            rows.bad[row] = CharacterNotInRepertoire(f'invalid byte sequence for encoding "UTF8": {seen}')
            texts.append(None)
            continue
        if value is not None and b"\0" in value:
            rows.bad[row] = CharacterNotInRepertoire('invalid byte sequence for encoding "UTF8": 0x00')
            texts[-1] = None
    return rows.parse(column, pa.array(texts, pa.string()))
