"""CSV records: each one row of fields in the order of the columns. NULL is a field with nothing in it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ...storage.errors import BadCopyFormat, CharacterNotInRepertoire, SqlError
from ...storage.schema import Schema
from .rows import Rows


def csv_columns(values: Sequence[bytes], schema: Schema, delimiter: str, rows: Rows) -> list[pa.Array]:
    """The columns of the records, one row each; rows that cannot be are noted in `rows`."""
    width = len(schema)
    blank: list[str | None] = [None] * width
    lines: list[list[str | None]] = []
    for row, value in enumerate(values):
        try:
            lines.append(_fields(value, schema, delimiter))
        except SqlError as error:
            rows.bad[row] = error
            lines.append(blank)
    return [
        rows.parse(column, pa.array([line[i] for line in lines], pa.string()))
        for i, column in enumerate(schema)
    ]


def _fields(value: bytes, schema: Schema, delimiter: str) -> list[str | None]:
    try:
        text = value.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise CharacterNotInRepertoire(f'invalid byte sequence for encoding "UTF8": {error.reason}') from None
    if '"' in text:
        fields = _quoted(text, delimiter)
    else:
        fields = [field or None for field in text.split(delimiter)]
    if len(fields) > len(schema):
        raise BadCopyFormat("extra data after last expected column")
    if len(fields) < len(schema):
        raise BadCopyFormat(f'missing data for column "{schema[len(fields)].name}"')
    return fields


def _quoted(text: str, delimiter: str) -> list[str | None]:
    """The fields of a record with quotes; quotes within quotes are doubled."""
    fields: list[str | None] = []
    part, quoted, inside, at = "", False, False, 0
    while at < len(text):
        letter = text[at]
        if letter == '"':
            if inside and text[at + 1 : at + 2] == '"':
                part += letter
                at += 1
            else:
                inside, quoted = not inside, True
        elif letter == delimiter and not inside:
            fields.append(part if part or quoted else None)
            part, quoted = "", False
        else:
            part += letter
        at += 1
    if inside:
        raise BadCopyFormat("unterminated CSV quoted field")
    fields.append(part if part or quoted else None)
    return fields
