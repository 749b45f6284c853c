"""The window functions that are not aggregates, as the binder finds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..storage.types import FLOAT8, INT4, INT8, Type

_ANY = Type("anyelement")
TypeRule = Callable[[tuple[Type, ...]], Type]


def _first(args: tuple[Type, ...]) -> Type:
    return args[0]


@dataclass(frozen=True)
class WindowFunction:
    """One overload. `anyelement` in `args` is any type, the same at each place.

    `framed`: looks at its frame (first_value …); the others look at the whole partition.
    """

    name: str
    args: tuple[Type, ...]
    result: Type | TypeRule
    framed: bool = False

    def result_type(self, args: tuple[Type, ...]) -> Type:
        return self.result if isinstance(self.result, Type) else self.result(args)


WINDOW_FUNCTIONS: dict[str, list[WindowFunction]] = {}

for _function in (
    WindowFunction("row_number", (), INT8),
    WindowFunction("rank", (), INT8),
    WindowFunction("dense_rank", (), INT8),
    WindowFunction("percent_rank", (), FLOAT8),
    WindowFunction("cume_dist", (), FLOAT8),
    WindowFunction("ntile", (INT4,), INT4),
    WindowFunction("lag", (_ANY,), _first),
    WindowFunction("lag", (_ANY, INT4), _first),
    WindowFunction("lag", (_ANY, INT4, _ANY), _first),
    WindowFunction("lead", (_ANY,), _first),
    WindowFunction("lead", (_ANY, INT4), _first),
    WindowFunction("lead", (_ANY, INT4, _ANY), _first),
    WindowFunction("first_value", (_ANY,), _first, True),
    WindowFunction("last_value", (_ANY,), _first, True),
    WindowFunction("nth_value", (_ANY, INT4), _first, True),
):
    WINDOW_FUNCTIONS.setdefault(_function.name, []).append(_function)
