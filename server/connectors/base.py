"""What connectors share: the registry, and options checked with PostgreSQL's manners.

A connector is one file here: a class with `name`, `columns` and `open` (see `runtime/source.py`),
decorated with `@connector`. `CREATE SOURCE … WITH (connector = '<name>')` then finds it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

from ...runtime.source import Connector
from ...storage.errors import InvalidParameterValue, UndefinedObject

C = TypeVar("C", bound=type)
_FOUND: dict[str, Connector] = {}


def connector(kind: C) -> C:
    """Registers a connector class under its `name`."""
    made = kind()
    _FOUND[made.name] = made
    return kind


class Registry:
    """All connectors there are (`runtime.source.Connectors`)."""

    def find(self, name: str) -> Connector:
        found = _FOUND.get(name.lower())
        if found is None:
            raise UndefinedObject(
                f'connector "{name}" does not exist', hint=f"There are: {', '.join(sorted(_FOUND))}."
            )
        return found

    def names(self) -> list[str]:
        return sorted(_FOUND)


FORMAT_OPTIONS = ("connector", "format", "encode")


def check_options(connector_name: str, options: Mapping[str, str], known: Iterable[str]) -> None:
    """Raises InvalidParameterValue for an option the connector does not have, with the nearest one."""
    allowed = {*known, *FORMAT_OPTIONS}
    for name in options:
        if name not in allowed and not name.startswith(("encode.", "include.", "relation.")):
            near = difflib.get_close_matches(name, allowed, 1)
            hint = f'Perhaps you meant "{near[0]}".' if near else f"It has: {', '.join(sorted(known))}."
            raise InvalidParameterValue(f'connector "{connector_name}" has no option "{name}"', hint=hint)


def integer_option(options: Mapping[str, str], name: str, default: int, low: int = 0) -> int:
    """An option that is a whole number of at least `low`. Raises InvalidParameterValue."""
    text = options.get(name)
    if text is None:
        return default
    try:
        value = int(text)
    except ValueError:
        value = low - 1
    if value < low:
        raise InvalidParameterValue(f'option "{name}" must be a whole number of at least {low}, not "{text}"')
    return value


def number_option(options: Mapping[str, str], name: str, default: float) -> float:
    text = options.get(name)
    if text is None:
        return default
    try:
        return float(text)
    except ValueError:
        raise InvalidParameterValue(f'option "{name}" must be a number, not "{text}"') from None


def boolean_option(options: Mapping[str, str], name: str, default: bool) -> bool:
    text = options.get(name)
    if text is None:
        return default
    if text.lower() in ("true", "on", "1", "yes"):
        return True
    if text.lower() in ("false", "off", "0", "no"):
        return False
    raise InvalidParameterValue(f'option "{name}" must be true or false, not "{text}"')
