"""The "Perhaps you meant …" of PostgreSQL for a column that does not exist.

The rule is PostgreSQL's (parse_relation.c): the nearest name by Levenshtein distance, at most three
edits and at most half the name's length; one suggestion, or two that are equally near, or none.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..storage.errors import UndefinedColumn

DISTANCE_MAX = 3


def missing_column(
    name: str, alias: str, items: Sequence[tuple[str, Sequence[str]]], position: int, blocked: Sequence[str]
) -> UndefinedColumn:
    """The error for column `name` (of `alias`, if given) among `items`, (alias, column names) each.

    `blocked` are the items that have such a column but may not be looked into.
    """
    shown = f"{alias}.{name}" if alias else f'"{name}"'
    message = f"column {shown} does not exist"
    if blocked and not alias:
        detail = (
            f'There is a column named "{name}" in table "{blocked[0]}", '
            "but it cannot be referenced from this part of the query."
        )
        return UndefinedColumn(message, position=position, detail=detail)
    near = nearest(name, alias, items)
    meant = " or ".join(f'the column "{item}.{column}"' for item, column in near)
    hint = f"Perhaps you meant to reference {meant}." if near else ""
    return UndefinedColumn(message, position=position, hint=hint)


def nearest(name: str, alias: str, items: Sequence[tuple[str, Sequence[str]]]) -> list[tuple[str, str]]:
    """The one or two (item, column) nearest to `alias.name`, or none."""
    best = DISTANCE_MAX + 1
    found: list[tuple[str, str]] = []
    crowded = False
    for item, columns in items:
        penalty = levenshtein(alias, item) if alias else 0
        for column in columns:
            distance = levenshtein(column, name)
            if distance > len(name) // 2 or distance + penalty > best or penalty > DISTANCE_MAX:
                continue
            distance += penalty
            if distance < best:
                best, found, crowded = distance, [(item, column)], False
            elif len(found) == 2:
                found, crowded = [], True
            elif not crowded and distance <= DISTANCE_MAX:
                found.append((item, column))
    return found


def levenshtein(a: str, b: str) -> int:
    """Least number of insertions, deletions and substitutions from `a` to `b`."""
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            current.append(min(previous[j] + 1, current[-1] + 1, previous[j - 1] + (x != y)))
        previous = current
    return previous[-1]
