"""Files with one JSON object in each line."""

from __future__ import annotations

from collections.abc import Sequence

from ...storage.errors import CharacterNotInRepertoire, SqlError
from ...storage.schema import Schema
from .file_text import BOM, Decoded, TextFiles
from .json_values import columns_of, parse_objects
from .rows import Rows, source_error


class JsonFormat(TextFiles[None]):
    """`FileFormat` of JSON lines. Empty lines are passed over."""

    def __init__(self, schema: Schema) -> None:
        super().__init__()
        self._schema = schema

    def layout(self, head: bytes, path: str) -> tuple[None, int]:
        return None, len(BOM) if head.startswith(BOM) else 0

    def decode(self, data: bytes, layout: None, path: str, first_line: int) -> Decoded:
        consumed = data.rfind(b"\n") + 1
        lines, broken = _lines(data[:consumed])
        numbers = [number for number, line in enumerate(lines) if line]
        if len(numbers) < len(lines):
            lines = [lines[number] for number in numbers]
        objects, bad = parse_objects(lines)
        rows = Rows(len(lines), bad)
        columns = columns_of(objects, self._schema, rows)
        for row, number in enumerate(numbers):
            if number in broken:
                rows.bad[row] = broken[number]
        errors = [
            source_error(rows.bad[row], f"{path}:{first_line + numbers[row]}", lines[row])
            for row in sorted(rows.bad)
        ]
        return Decoded(rows.kept(columns), consumed, errors)


def _lines(data: bytes) -> tuple[list[str], dict[int, SqlError]]:
    """Lines without their ends and the space around them, and those that are no UTF-8 by number."""
    try:
        return _stripped(data.decode().split("\n")[:-1]), {}
    except UnicodeDecodeError:
        pass
    lines: list[str] = []
    broken: dict[int, SqlError] = {}
    for number, line in enumerate(data.split(b"\n")[:-1]):
        try:
            lines.append(line.decode())
        except UnicodeDecodeError as error:
            lines.append(line.decode(errors="replace"))
            seen = " ".join(f"0x{byte:02x}" for byte in line[error.start : max(error.end, error.start + 1)])
            broken[number] = CharacterNotInRepertoire(f'invalid byte sequence for encoding "UTF8": {seen}')
    return _stripped(lines), broken


def _stripped(lines: Sequence[str]) -> list[str]:
    return [line.strip(" \t\r") for line in lines]
