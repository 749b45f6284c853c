"""pg_type, pg_range, pg_enum, pg_collation, pg_cast: the types there are and how they convert."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...operators.functions.casts import CASTS
from ...storage.types import INFO, VECTORS, Type, array_of, type_by_name
from . import type_rows
from .objects import OWNER
from .registry import Rows, SystemContext, catalogue

FunctionRef = tuple[str, int]
"""Name and OID of a function that reads or writes values of a type; ("-", 0) for none."""


@dataclass(frozen=True, slots=True)
class TypeRow:
    """What `pg_type` says of a type that is no array."""

    name: str
    oid: int
    size: int
    by_value: bool
    kind: str
    category: str
    preferred: bool
    element: int
    array: int
    align: str
    storage: str
    collation: int
    functions: tuple[FunctionRef, ...]
    """Input, output, receive, send, modifier in and out."""


def _rows() -> Iterator[TypeRow]:
    for line in type_rows.TYPES.replace("\n  ", " ").splitlines():
        (
            name,
            oid,
            size,
            by_value,
            kind,
            category,
            preferred,
            element,
            array,
            align,
            storage,
            collation,
            *rest,
        ) = line.split()
        functions = tuple((name, int(oid)) for name, _, oid in (word.partition(":") for word in rest))
        yield TypeRow(
            name, int(oid), int(size), by_value == "t", kind, category, preferred == "t", int(element),
            int(array), align, storage, int(collation), functions,
        )  # fmt: skip


TYPES: dict[str, TypeRow] = {row.name: row for row in _rows()}
_ARRAY_FUNCTIONS = (("array_in", 750), ("array_out", 751), ("array_recv", 2400), ("array_send", 2401))
_NO_FUNCTION = ("-", 0)
ARRAY_SUBSCRIPTS, ARRAY_STATISTICS = 6179, 3816


def known_types() -> list[Type]:
    """All types columns may have, arrays included."""
    plain = [type_ for name in (*INFO, *VECTORS) if (type_ := type_by_name(name)) is not None]
    return plain + [array_of(type_) for type_ in plain if type_.element is None and type_.info.array_oid]


def io_functions() -> dict[int, tuple[str, TypeRow, int]]:
    """The input and output functions: name, type and place in `TypeRow.functions`, by OID."""
    found: dict[int, tuple[str, TypeRow, int]] = {}
    for row in TYPES.values():
        for place, (name, oid) in enumerate(row.functions):
            if oid:
                found[oid] = (name, row, place)
    for place, (name, oid) in enumerate(_ARRAY_FUNCTIONS):
        found[oid] = (name, TYPES["anyarray"], place)
    return found


@catalogue(
    "pg_type",
    "oid typname typlen typbyval typtype typcategory typispreferred typelem typarray typinput typoutput"
    " typreceive typsend typmodin typmodout typalign typstorage typcollation typsubscript typanalyze",
    typnamespace=11, typowner=OWNER, typisdefined=True, typdelim=",", typtypmod=-1,
)  # fmt: skip
def _types(system: SystemContext) -> Rows:
    """Types, arrays of them, and pseudo-types."""
    for row in TYPES.values():
        functions = (oid for _, oid in row.functions)
        subscripts = ARRAY_SUBSCRIPTS if row.name in VECTORS else 0
        yield (
            row.oid, row.name, row.size, row.by_value, row.kind, row.category, row.preferred, row.element,
            row.array, *functions, row.align, row.storage, row.collation, subscripts, 0,
        )  # fmt: skip
        if row.array and row.kind == "b":
            align = "d" if row.align == "d" else "i"
            modifiers = (oid for _, oid in row.functions[4:])
            yield (
                row.array, f"_{row.name}", -1, False, "b", "A", False, row.oid, 0,
                *(oid for _, oid in _ARRAY_FUNCTIONS), *modifiers, align, "x", row.collation,
                ARRAY_SUBSCRIPTS, ARRAY_STATISTICS,
            )  # fmt: skip


COLLATIONS = {100: ("default", "d", -1, None), 950: ("C", "c", -1, "C"), 951: ("POSIX", "c", -1, "POSIX"),
              962: ("ucs_basic", "c", 6, "C")}  # fmt: skip


@catalogue(
    "pg_collation", "oid collname collprovider collencoding collcollate collctype",
    collnamespace=11, collowner=OWNER, collisdeterministic=True,
)  # fmt: skip
def _collations(system: SystemContext) -> Rows:
    """Orders of text: by code point only."""
    for oid, (name, provider, encoding, locale) in COLLATIONS.items():
        yield oid, name, provider, encoding, locale, locale


_LETTERS = {"implicit": "i", "assignment": "a", "explicit": "e"}


@catalogue("pg_cast", "oid castsource casttarget castcontext castmethod")
def _casts(system: SystemContext) -> Rows:
    """Conversions between types, besides those through text."""
    for number, ((source, target), entry) in enumerate(sorted(CASTS.items(), key=lambda item: item[0])):
        first, second = type_by_name(source), type_by_name(target)
        if first is None or second is None or "unknown" in (source, target):
            continue
        same = first.category == second.category == "S" or first.arrow == second.arrow
        yield 10100 + number, first.oid, second.oid, _LETTERS[entry.context], "b" if same else "i"
