"""Names of objects and their OIDs, in both directions: what `'t'::regclass` means and how it is shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from ...operators.functions.text_quote import quote_ident
from ...storage.errors import (
    AmbiguousFunction,
    InvalidSchemaName,
    SqlError,
    UndefinedFunction,
    UndefinedObject,
    UndefinedTable,
)
from ...storage.types import Type, format_type, type_by_name, type_by_oid
from ..parse import parse_type_name
from .objects import Class, objects
from .pg_procs import functions, operators
from .pg_server import roles
from .pg_types import COLLATIONS, TYPES
from .registry import SystemContext

_PART = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^\s".]+))\s*')


class InvalidName(SqlError, code="42602"): ...


def name_parts(text: str) -> list[str]:
    """`"A".b` as its parts, folded to lower case unless quoted. Raises InvalidName."""
    parts: list[str] = []
    at = 0
    while True:
        match = _PART.match(text, at)
        if match is None:
            raise InvalidName("invalid name syntax")
        parts.append(match[1].replace('""', '"') if match[1] is not None else match[2].lower())
        at = match.end()
        if at == len(text):
            return parts
        if text[at] != ".":
            raise InvalidName("invalid name syntax")
        at += 1


def _number(text: str) -> int | None:
    """The OID a text of digits, or "-", is itself."""
    stripped = text.strip()
    if stripped.isdigit():
        return int(stripped)
    return 0 if stripped == "-" else None


# Relations.
def relation_oid(text: str, system: SystemContext) -> int:
    """The OID `text::regclass` stands for. Raises UndefinedTable (42P01), InvalidName."""
    number = _number(text)
    if number is not None:
        return number
    parts = name_parts(text)
    found = find_relation(parts, system)
    if found is None:
        if len(parts) > 1 and system.catalog.schema(parts[-2]) is None:
            raise InvalidSchemaName(f'schema "{parts[-2]}" does not exist')
        raise UndefinedTable(f'relation "{".".join(parts)}" does not exist')
    return found


def find_relation(parts: Sequence[str], system: SystemContext) -> int | None:
    """The OID of a relation, or of an index, by its (qualified) name."""
    entry = system.catalog.find(parts, system.search_path)
    if entry is not None:
        return entry.oid
    named = objects(system.catalog).by_name
    schemas = (parts[-2],) if len(parts) > 1 else system.search_path
    return next((named[s, parts[-1]].oid for s in schemas if (s, parts[-1]) in named), None)


def is_visible(found: Class, system: SystemContext) -> bool:
    """Whether the plain name means this relation on the search path."""
    path = system.search_path
    named = objects(system.catalog).by_name
    for schema in path if "pg_catalog" in path else ("pg_catalog", *path):
        if schema == found.schema_name:
            return True
        if (schema, found.name) in named:
            return False
    return False


def relation_text(oid: int, system: SystemContext) -> str:
    """How a regclass is shown: qualified unless visible, the number of what does not exist."""
    if not oid:
        return "-"
    found = objects(system.catalog).by_oid.get(oid)
    if found is None:
        return str(oid)
    name = quote_ident(found.name)
    return name if is_visible(found, system) else f"{quote_ident(found.schema_name)}.{name}"


# Types.
def type_oid_of(text: str, system: SystemContext) -> int:
    """The OID `text::regtype` stands for. Raises UndefinedObject (42704)."""
    number = _number(text)
    if number is not None:
        return number
    found = find_type(text)
    if found is None:
        raise UndefinedObject(f'type "{text}" does not exist')
    return found


@lru_cache(1024)
def find_type(text: str) -> int | None:
    """The OID of a type by its name as SQL writes it."""
    pseudo = text.removeprefix("pg_catalog.").strip('"')
    if pseudo in TYPES and type_by_name(pseudo) is None:
        return TYPES[pseudo].oid
    try:
        return parse_type_name(text).resolve().oid
    except SqlError:
        found = type_by_name(pseudo)
        return found.oid if found is not None else None


_PSEUDO_NAMES = {row.array: f"{name}[]" for name, row in TYPES.items() if row.array} | {
    row.oid: f'"{name}"' if name == "any" else name for name, row in TYPES.items()
}


def type_text(oid: int, modifier: int | None = None) -> str:
    """`format_type(oid, modifier)`, "???" of a type that does not exist."""
    if not oid:
        return "-"
    found = type_by_oid(oid, -1 if modifier is None else modifier)
    if found is None:
        return _PSEUDO_NAMES.get(oid, "???")
    if found.element is not None and modifier is not None:
        found = Type(found.name, modifier, found.scale, found.element)
    text = format_type(found)
    return text.replace("character", "bpchar") if "bpchar" in found.name and modifier == -1 else text


# Functions and schemas.
@lru_cache(1)
def _by_function_name() -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for function in functions().values():
        found.setdefault(function.name, []).append(function.oid)
    return found


def function_oid(text: str, system: SystemContext) -> int:
    """The OID `text::regproc` stands for. Raises UndefinedFunction, AmbiguousFunction."""
    number = _number(text)
    if number is not None:
        return number
    found = _by_function_name().get(name_parts(text)[-1], [])
    if not found:
        raise UndefinedFunction(f'function "{text}" does not exist')
    if len(found) > 1:
        raise AmbiguousFunction(f'more than one function named "{text}"')
    return found[0]


def function_text(oid: int, system: SystemContext) -> str:
    if not oid:
        return "-"
    found = functions().get(oid)
    return str(oid) if found is None else found.name


def procedure_oid(text: str, system: SystemContext) -> int:
    """The OID `'name(types)'::regprocedure` stands for. Raises UndefinedFunction."""
    number = _number(text)
    if number is not None:
        return number
    name, _, rest = text.partition("(")
    args = tuple(type_oid_of(part.strip(), system) for part in rest.rstrip(") ").split(",") if part.strip())
    for oid in _by_function_name().get(name_parts(name)[-1], []):
        if functions()[oid].args == args:
            return oid
    raise UndefinedFunction(f'function "{text}" does not exist')


def procedure_text(oid: int, system: SystemContext) -> str:
    if not oid:
        return "-"
    found = functions().get(oid)
    if found is None:
        return str(oid)
    return f"{found.name}({','.join(type_text(arg) for arg in found.args)})"


def namespace_oid(text: str, system: SystemContext) -> int:
    """The OID `text::regnamespace` stands for. Raises InvalidSchemaName (3F000)."""
    number = _number(text)
    if number is not None:
        return number
    found = objects(system.catalog).schemas.get(name_parts(text)[-1])
    if found is None:
        raise InvalidSchemaName(f'schema "{text}" does not exist')
    return found


def namespace_text(oid: int, system: SystemContext) -> str:
    if not oid:
        return "-"
    named = objects(system.catalog).schemas
    return next((quote_ident(name) for name, known in named.items() if known == oid), str(oid))


def _type_text(oid: int, system: SystemContext) -> str:
    text = type_text(oid)
    return str(oid) if text == "???" else text


# Operators, roles, collations.
def operator_oid(text: str, system: SystemContext) -> int:
    """The OID `'+(integer,integer)'::regoperator` or `'+'::regoper` stands for. Raises UndefinedFunction."""
    number = _number(text)
    if number is not None:
        return number
    symbol, _, rest = text.partition("(")
    symbol = symbol.strip().rpartition(".")[2]
    args = tuple(
        0 if part.strip().lower() == "none" else type_oid_of(part.strip(), system)
        for part in rest.rstrip(") ").split(",")
        if part.strip()
    )
    found = [o.oid for o in operators().values() if o.name == symbol and args in ((), o.args, (0, *o.args))]
    if not found:
        raise UndefinedFunction(f"operator does not exist: {text}")
    if len(found) > 1:
        raise AmbiguousFunction(f"more than one operator named {text}")
    return found[0]


def operator_text(oid: int, system: SystemContext) -> str:
    found = operators().get(oid)
    if found is None:
        return str(oid)
    args = [type_text(arg) for arg in found.args]
    return f"{found.name}({','.join(args if len(args) > 1 else ['NONE', *args])})"


def _operator_symbol(oid: int, system: SystemContext) -> str:
    found = operators().get(oid)
    return str(oid) if found is None else found.name


def role_oid_of(text: str, system: SystemContext) -> int:
    """The OID `text::regrole` stands for. Raises UndefinedObject (42704)."""
    number = _number(text)
    if number is not None:
        return number
    name = name_parts(text)[-1]
    for oid, known in roles(system).items():
        if known == name:
            return oid
    raise UndefinedObject(f'role "{name}" does not exist')


def role_text(oid: int, system: SystemContext) -> str:
    name = roles(system).get(oid)
    return ("-" if not oid else str(oid)) if name is None else quote_ident(name)


def collation_oid(text: str, system: SystemContext) -> int:
    """The OID `text::regcollation` stands for. Raises UndefinedObject (42704)."""
    number = _number(text)
    if number is not None:
        return number
    name = name_parts(text)[-1]
    for oid, known in COLLATIONS.items():
        if known[0] == name:
            return oid
    raise UndefinedObject(f'collation "{name}" for encoding "UTF8" does not exist')


def collation_text(oid: int, system: SystemContext) -> str:
    known = COLLATIONS.get(oid)
    return ("-" if not oid else str(oid)) if known is None else quote_ident(known[0])


READERS: dict[str, Callable[[str, SystemContext], int]] = {
    "regclass": relation_oid, "regtype": type_oid_of, "regproc": function_oid,
    "regprocedure": procedure_oid, "regnamespace": namespace_oid, "regoper": operator_oid,
    "regoperator": operator_oid, "regrole": role_oid_of, "regcollation": collation_oid,
}  # fmt: skip
"""Text to OID, by the name of the type."""

WRITERS: dict[str, Callable[[int, SystemContext], str]] = {
    "regclass": relation_text, "regtype": _type_text, "regproc": function_text,
    "regprocedure": procedure_text, "regnamespace": namespace_text, "regoper": _operator_symbol,
    "regoperator": operator_text, "regrole": role_text, "regcollation": collation_text,
}  # fmt: skip
"""OID to text, by the name of the type."""
