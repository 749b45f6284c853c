"""VALUES lists of plain literals, read by one regular expression: column by column, no tree.

An INSERT of a thousand rows is data rather than a program. Where every cell is a quoted string, a
number, TRUE, FALSE or NULL the cells go straight into columns of text, which the type's text input
converts all at once. Anything else in the list makes `scan_values` give up, and the real parser reads
it from the beginning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from .dialect import place
from .statements import LiteralColumn

_CELL = re.compile(
    r"[ \t\r\n]*(?:'([^']*(?:''[^']*)*)'(?!')"  # 1 string
    r"|([+-]?[0-9]+)(?![0-9.eExXoObB_a-zA-Z])"  # 2 integer
    r"|([+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![0-9._a-zA-Z])"  # 3 number
    r"|(?i:(null)|(true|false))(?![0-9a-zA-Z_$\x80-\U0010ffff])"  # 4 null, 5 boolean
    r")[ \t\r\n]*([,)])"  # 6 what follows
)
_NEXT_ROW = re.compile(r"[ \t\r\n]*,[ \t\r\n]*\(")
_KIND = {1: "unknown", 2: "integer", 3: "number", 4: "null", 5: "boolean"}
_INTEGER_MAX = 18
"""Digits of an integer that surely fits 64 bits; a longer one is a numeric."""


def scan_values(text: str, start: int, base: int) -> tuple[tuple[LiteralColumn, ...], int] | None:
    """The literals from `start`, just behind the first `(` of a VALUES list, and where the list ends.

    None when it is not all literals, rows differ in length, or a column mixes kinds. `base` is the
    offset of the statement in `text`: positions count from there.
    """
    rows: list[list[tuple[int, str | None, int]]] = []
    position = start
    while True:
        scanned = _scan_row(text, position)
        if scanned is None or (rows and len(scanned[0]) != len(rows[0])):
            return None
        rows.append(scanned[0])
        position = scanned[1]
        following = _NEXT_ROW.match(text, position)
        if following is None:
            break
        position = following.end()
    columns = [_column(cells, base) for cells in zip(*rows, strict=True)]
    return None if None in columns else (tuple(c for c in columns if c is not None), position)


def _scan_row(text: str, position: int) -> tuple[list[tuple[int, str | None, int]], int] | None:
    """The cells (kind, text, where) up to `)`, and the position behind it."""
    cells: list[tuple[int, str | None, int]] = []
    match = _CELL.match
    while True:
        found = match(text, position)
        if found is None:
            return None
        kind = found.lastindex
        assert kind == 6
        string, integer, number, null, boolean, behind = found.groups()
        if string is not None:
            value = string.replace("''", "'") if "''" in string else string
            cells.append((1, value, found.start(1) - 1))
        elif integer is not None:
            kind = 2 if len(integer) <= _INTEGER_MAX else 3
            cells.append((kind, integer, found.start(2)))
        elif number is not None:
            cells.append((3, number, found.start(3)))
        elif null is not None:
            cells.append((4, None, found.start(4)))
        else:
            cells.append((5, "t" if boolean[0] in "tT" else "f", found.start(5)))
        position = found.end()
        if behind == ")":
            return cells, position


def _column(cells: Sequence[tuple[int, str | None, int]], base: int) -> LiteralColumn | None:
    kinds = {kind for kind, _, _ in cells} - {4}
    if kinds == {2, 3}:
        kinds = {3}
    if len(kinds) > 1:
        return None
    kind = _KIND[kinds.pop()] if kinds else "null"
    return LiteralColumn(kind, [value for _, value, _ in cells], [at - base + 1 for _, _, at in cells])


def values_of(columns: Sequence[LiteralColumn]) -> exp.Expr:
    """The same list as a tree (exp.Values), for whoever wants one."""
    trees = [[_tree(c.kind, v, p) for v, p in zip(c.values, c.positions, strict=True)] for c in columns]
    return exp.Values(expressions=[exp.Tuple(expressions=list(row)) for row in zip(*trees, strict=True)])


def _tree(kind: str, value: str | None, position: int) -> exp.Expr:
    if value is None:
        tree: exp.Expr = exp.Null()
    elif kind == "unknown":
        tree = exp.Literal(this=value, is_string=True)
    elif kind == "boolean":
        tree = exp.Boolean(this=value == "t")
    elif value[0] == "-":
        tree = exp.Neg(this=place(exp.Literal(this=value[1:], is_string=False), position))
    else:
        tree = exp.Literal(this=value.lstrip("+"), is_string=False)
    return place(tree, position - 1)
