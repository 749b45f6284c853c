"""pg_proc, pg_aggregate, pg_operator, pg_language: the functions of the registries.

Functions have OIDs of our own, made from name and argument types; only those that read and write types
have PostgreSQL's.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from ...operators.functions.aggregates import AGGREGATES
from ...operators.functions.registry import SCALARS, TABLE_FUNCTIONS
from ...operators.window_functions import WINDOW_FUNCTIONS
from ...storage.types import Type
from .objects import OWNER
from .pg_types import TYPES, io_functions
from .registry import Rows, SystemContext, catalogue

INTERNAL = 12
HANDLERS = {3: "heap_tableam_handler", 330: "bthandler", 331: "hashhandler", 6179: "array_subscript_handler",
            3816: "array_typanalyze"}  # fmt: skip
RECORD_OID, CSTRING_OID, INTERNAL_OID = 2249, 2275, 2281


@dataclass(frozen=True, slots=True)
class Function:
    """A row of pg_proc. `kind`: f, a, w. `out` names the result columns of a function in FROM."""

    oid: int
    name: str
    args: tuple[int, ...]
    result: int
    kind: str
    volatility: str
    strict: bool = True
    variadic: int = 0
    returns_set: bool = False
    out: tuple[tuple[str, int], ...] = ()
    doc: str = ""


def type_oid(type_: Type) -> int:
    """The OID of a type or pseudo-type."""
    return TYPES[type_.name].oid if type_.name in TYPES else type_.oid


def _result(rule: Type | Callable[[tuple[Type, ...]], Type], args: tuple[Type, ...]) -> int:
    """The type an overload gives; anyelement where that hangs on the arguments' own."""
    if isinstance(rule, Type):
        return type_oid(rule)
    try:
        return type_oid(rule(args))
    except Exception:
        return TYPES["anyelement"].oid


class _Oids:
    """Stable numbers by name and argument types; the next free one when two fall together."""

    def __init__(self) -> None:
        self._used: set[int] = set()

    def of(self, name: str, args: tuple[int, ...]) -> int:
        number = (1 << 28) + zlib.crc32(f"{name}{args}".encode()) % (1 << 28)
        while number in self._used:
            number += 1
        self._used.add(number)
        return number


@lru_cache(1)
def functions() -> dict[int, Function]:
    """All functions with a name, by OID."""
    found = {f.oid: f for f in _all_functions() if f.name[0].isalpha() or f.name[0] == "_"}
    for oid, (name, row, place) in io_functions().items():
        incoming = place in (0, 2, 4)
        args = (
            ((CSTRING_OID, INTERNAL_OID)[place // 2] if place < 4 else CSTRING_OID,)
            if incoming
            else (row.oid,)
        )
        result = row.oid if incoming else (CSTRING_OID, TYPES["bytea"].oid, CSTRING_OID)[place // 2]
        found[oid] = Function(oid, name, args, result, "f", "i")
    for oid, name in HANDLERS.items():
        found[oid] = Function(oid, name, (INTERNAL_OID,), INTERNAL_OID, "f", "v")
    return found


def _all_functions() -> Iterator[Function]:
    oids, seen = _Oids(), set[tuple[str, tuple[int, ...]]]()
    for function in _registered(oids):
        if (function.name, function.args) not in seen:
            seen.add((function.name, function.args))
            yield function


def _registered(oids: _Oids) -> Iterator[Function]:
    for name, overloads in sorted(SCALARS.items()):
        for entry in overloads:
            args = tuple(map(type_oid, entry.args))
            yield Function(
                oids.of(name, args), name, args, _result(entry.result, entry.args), "f", entry.volatility[0],
                entry.strict, args[-1] if entry.variadic else 0, doc=entry.doc,
            )  # fmt: skip
    for kind, registry in (("a", AGGREGATES), ("w", WINDOW_FUNCTIONS)):
        for name, overloads in sorted(registry.items()):
            for entry in overloads:
                args = tuple(map(type_oid, entry.args))
                doc = getattr(entry, "doc", "")
                result = _result(entry.result, entry.args)
                yield Function(oids.of(name, args), name, args, result, kind, "i", kind == "w", doc=doc)
    for name, overloads in sorted(TABLE_FUNCTIONS.items()):
        for entry in overloads:
            args = tuple(map(type_oid, entry.args))
            columns = entry.columns if isinstance(entry.columns, tuple) else ()
            out = tuple((column, type_oid(type_)) for column, type_ in columns) if len(columns) > 1 else ()
            result = RECORD_OID if out or not columns else type_oid(columns[0][1])
            yield Function(
                oids.of(name, args), name, args, result, "f", "i", True,
                args[-1] if entry.variadic else 0, True, out, entry.doc,
            )  # fmt: skip


@catalogue(
    "pg_proc",
    "oid proname provariadic prokind proisstrict proretset provolatile pronargs prorettype proargtypes"
    " proallargtypes proargmodes proargnames prosrc",
    pronamespace=11, proowner=OWNER, prolang=INTERNAL, procost=1.0, proparallel="s",
)  # fmt: skip
def _procs(system: SystemContext) -> Rows:
    """Functions, aggregates, window functions."""
    for f in functions().values():
        everything = [*f.args, *(oid for _, oid in f.out)] if f.out else None
        modes = ["i"] * len(f.args) + ["t"] * len(f.out) if f.out else None
        names = [""] * len(f.args) + [name for name, _ in f.out] if f.out else None
        yield (
            f.oid, f.name, f.variadic, f.kind, f.strict, f.returns_set, f.volatility, len(f.args), f.result,
            list(f.args), everything, modes, names, f.name,
        )  # fmt: skip


@catalogue("pg_aggregate", "aggfnoid aggkind aggtranstype")
def _aggregates(system: SystemContext) -> Rows:
    """Aggregates."""
    for f in functions().values():
        if f.kind == "a":
            yield f.oid, "n", f.result


@lru_cache(1)
def operators() -> dict[int, Function]:
    """The functions that are operators, by OID."""
    symbols = set("+-*/<>=~!@#%^&|`?")
    return {
        f.oid: f for f in _all_functions() if f.kind == "f" and not f.returns_set and set(f.name) <= symbols
    }


@catalogue("pg_operator", "oid oprname oprkind oprleft oprright oprresult", oprnamespace=11, oprowner=OWNER)
def _operators(system: SystemContext) -> Rows:
    """Operators."""
    for f in operators().values():
        left, right = f.args if len(f.args) == 2 else (0, f.args[0])
        yield f.oid, f.name, "b" if len(f.args) == 2 else "l", left, right, f.result


@catalogue("pg_language", "oid lanname lanpltrusted", lanowner=OWNER)
def _languages(system: SystemContext) -> Rows:
    """Languages of functions."""
    yield INTERNAL, "internal", False
    yield 14, "sql", True
