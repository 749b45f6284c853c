"""Functions that show objects as SQL text: pg_get_expr, pg_get_indexdef, pg_get_viewdef, format_type …"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...operators.functions.registry import SCALARS
from ...operators.functions.tables import table
from ...operators.functions.text_quote import quote_ident
from ...storage import types as t
from ...storage.errors import UndefinedColumn, UndefinedTable
from .. import keywords
from ..entries import MaterializedView, Relation, Table, View
from ..entries import Sequence as SequenceEntry
from .definitions import index_column, index_definition, visible_view_definition
from .each import catalog_function
from .names import find_type, function_text, name_parts, relation_oid, relation_text, type_text
from .objects import CLASSES, objects
from .pg_procs import functions
from .registry import SystemContext

if TYPE_CHECKING:
    from ...operators.node import EpochContext

OD, I4, B, TX = t.OID, t.INT4, t.BOOL, t.TEXT


_NEXTVAL = re.compile(r"nextval\('((?:[^']|'')+)'::regclass\)")


@catalog_function("pg_get_expr", (TX, OD), (TX, OD, B), result=TX)
def _expression(system: SystemContext, text: str, oid: int, *_: object) -> str:
    """An expression of the catalogue as SQL; the sequence of a serial column by a name that is visible."""
    drawn = _NEXTVAL.fullmatch(text)
    if drawn is None:
        return text
    all_ = objects(system.catalog)
    name, table_class = name_parts(drawn[1].replace("''", "'")), all_.by_oid.get(oid)
    sequence = all_.by_name.get((table_class.schema_name if table_class else "", name[-1]))
    if sequence is None:
        return text
    return "nextval('" + relation_text(sequence.oid, system).replace("'", "''") + "'::regclass)"


@catalog_function("pg_get_constraintdef", (OD,), (OD, B), result=TX)
def _constraint(system: SystemContext, oid: int, pretty: bool = False) -> str | None:
    """The definition of a constraint."""
    found = objects(system.catalog).constraints.get(oid)
    if found is None:
        return None
    if found.foreign is not None:
        return found.text.replace(
            " REFERENCES ", f" REFERENCES {relation_text(found.foreign.oid, system)}", 1
        )
    return f"CHECK (({found.expression}))" if found.kind == "c" and not pretty else found.text


@catalog_function("pg_get_indexdef", (OD,), (OD, I4, B), result=TX)
def _index(system: SystemContext, oid: int, column: int = 0, _: object = None) -> str | None:
    """The CREATE INDEX of an index, or one of its columns."""
    found = objects(system.catalog).indexes.get(oid)
    if found is None:
        return None
    return index_column(found, column) if column else index_definition(found)


def _view_text(system: SystemContext, oid: int) -> str | None:
    entry = system.catalog.by_oid(oid)
    return visible_view_definition(entry, system) if isinstance(entry, View | MaterializedView) else None


@catalog_function("pg_get_viewdef", (OD,), (OD, B), (OD, I4), result=TX)
def _view(system: SystemContext, oid: int, *_: object) -> str | None:
    """The query of a view."""
    return _view_text(system, oid)


@catalog_function("pg_get_viewdef", (TX,), (TX, B), result=TX)
def _named_view(system: SystemContext, name: str, *_: object) -> str | None:
    """The query of a view."""
    return _view_text(system, relation_oid(name, system))


@catalog_function("pg_get_ruledef", (OD,), (OD, B), result=TX)
@catalog_function("pg_get_triggerdef", (OD,), (OD, B), result=TX)
@catalog_function("pg_get_partkeydef", (OD,), result=TX)
@catalog_function("pg_get_partition_constraintdef", (OD,), result=TX)
@catalog_function("pg_get_statisticsobjdef", (OD,), result=TX)
@catalog_function("pg_get_statisticsobjdef_columns", (OD,), result=TX)
@catalog_function("pg_get_function_sqlbody", (OD,), result=TX)
@catalog_function("pg_get_function_arg_default", (OD, I4), result=TX)
def _none(system: SystemContext, *_: object) -> None:
    """NULL: there is none of that kind."""


# Functions.
def _arguments_text(oid: int) -> str | None:
    found = functions().get(oid)
    if found is None:
        return None
    shown = [type_text(arg) for arg in found.args]
    if found.variadic:
        shown[-1] = 'VARIADIC "any"' if shown[-1] == '"any"' else f"VARIADIC {shown[-1]}[]"
    return ", ".join(shown)


@catalog_function("pg_get_function_identity_arguments", (OD,), result=TX)
def _identity_arguments(system: SystemContext, oid: int) -> str | None:
    """The argument types of a function."""
    return _arguments_text(oid)


@catalog_function("pg_get_function_arguments", (OD,), result=TX)
def _arguments(system: SystemContext, oid: int) -> str | None:
    """The argument types of a function, and the columns of its rows."""
    found = functions().get(oid)
    if found is None:
        return None
    shown = [_arguments_text(oid) or ""] + [f"OUT {name} {type_text(type_)}" for name, type_ in found.out]
    return ", ".join(part for part in shown if part)


@catalog_function("pg_get_function_result", (OD,), result=TX)
def _function_result(system: SystemContext, oid: int) -> str | None:
    """The type a function returns."""
    found = functions().get(oid)
    if found is None:
        return None
    return f"SETOF {type_text(found.result)}" if found.returns_set else type_text(found.result)


@catalog_function("pg_get_functiondef", (OD,), result=TX)
def _function(system: SystemContext, oid: int) -> str | None:
    """The CREATE FUNCTION that would make a function."""
    found = functions().get(oid)
    if found is None:
        return None
    volatility = {"i": "IMMUTABLE", "s": "STABLE", "v": "VOLATILE"}[found.volatility]
    strict = " STRICT" if found.strict else ""
    return (
        f"CREATE OR REPLACE FUNCTION pg_catalog.{quote_ident(found.name)}({_arguments(system, oid)})\n"
        f" RETURNS {_function_result(system, oid)}\n LANGUAGE internal\n {volatility}{strict}\n"
        f"AS $function${found.name}$function$\n"
    )


@catalog_function("oidvectortypes", (t.OIDVECTOR,), result=TX)
def _vector_types(system: SystemContext, oids: list[int]) -> str:
    """The types of these OIDs."""
    return ", ".join(map(type_text, oids))


# Types and names.
SCALARS.pop("format_type", None)


@catalog_function("format_type", (OD, I4), result=TX, strict=False)
def _format_type(system: SystemContext, oid: int | None, modifier: int | None) -> str | None:
    """A type as SQL writes it."""
    return None if oid is None else type_text(oid, modifier)


@catalog_function("to_regclass", (TX,), result=t.REGCLASS)
def _to_regclass(system: SystemContext, name: str) -> int | None:
    """The relation of that name, NULL if there is none."""
    return _found(relation_oid, name, system)


@catalog_function("to_regtype", (TX,), result=t.REGTYPE)
def _to_regtype(system: SystemContext, name: str) -> int | None:
    """The type of that name, NULL if there is none."""
    return find_type(name)


@catalog_function("to_regproc", (TX,), result=t.REGPROC)
def _to_regproc(system: SystemContext, name: str) -> int | None:
    """The function of that name, NULL if there is none or more than one."""
    from .names import function_oid

    return _found(function_oid, name, system)


@catalog_function("to_regnamespace", (TX,), result=t.REGNAMESPACE)
def _to_regnamespace(system: SystemContext, name: str) -> int | None:
    """The schema of that name, NULL if there is none."""
    from .names import namespace_oid

    return _found(namespace_oid, name, system)


def _found(find: Any, name: str, system: SystemContext) -> int | None:
    from ...storage.errors import SqlError

    try:
        return find(name, system)
    except SqlError:
        return None


@catalog_function("pg_get_serial_sequence", (TX, TX), result=TX)
def _serial_sequence(system: SystemContext, table_name: str, column: str) -> str | None:
    """The sequence that counts for a serial or identity column."""
    entry = system.catalog.by_oid(relation_oid(table_name, system))
    if not isinstance(entry, Relation):
        raise UndefinedTable(f'relation "{table_name}" does not exist')
    if column not in entry.schema.names:
        raise UndefinedColumn(f'column "{column}" of relation "{entry.name}" does not exist')
    identity = entry.identities.get(column) if isinstance(entry, Table) else None
    sequence = identity and system.catalog.by_oid(identity.sequence_oid)
    if not isinstance(sequence, SequenceEntry):
        return None
    return f"{quote_ident(sequence.schema_name)}.{quote_ident(sequence.name)}"


@catalog_function("pg_describe_object", (OD, OD, I4), result=TX)
def _describe_object(system: SystemContext, class_oid: int, oid: int, column: int) -> str | None:
    """An object in words."""
    if class_oid == CLASSES["pg_type"]:
        return f"type {type_text(oid)}"
    if class_oid == CLASSES["pg_proc"]:
        return f"function {function_text(oid, system)}"
    found = objects(system.catalog).by_oid.get(oid)
    if class_oid != CLASSES["pg_class"] or found is None:
        return None
    words = {"r": "table", "v": "view", "m": "materialized view", "f": "foreign table", "i": "index",
             "S": "sequence"}  # fmt: skip
    text = f"{words[found.kind]} {relation_text(oid, system)}"
    if not column:
        return text
    assert isinstance(found.entry, Relation)
    return f"column {found.entry.schema[column - 1].name} of {text}"


# In FROM.
_OPTIONS = (("option_name", TX), ("option_value", TX))


@table("pg_options_to_table", (t.array_of(TX),), _OPTIONS)
def _options(args: Sequence[pa.Array], length: int, context: EpochContext) -> tuple[pa.Array, list[pa.Array]]:
    """Options `name=value` as rows."""
    rows: list[tuple[int, str, str | None]] = []
    for position, options in enumerate(args[0].to_pylist()):
        for option in options or ():
            name, _, value = option.partition("=")
            rows.append((position, name, value))
    return _result(rows, (pa.string(), pa.string()))


def _result(rows: list[Any], types: Sequence[pa.DataType]) -> tuple[pa.Array, list[pa.Array]]:
    origin = pa.array([row[0] for row in rows], pa.int64())
    return origin, [pa.array([row[i] for row in rows], type_) for i, type_ in enumerate(types, 1)]


_KEYWORDS = (("word", TX), ("catcode", t.CHAR), ("barelabel", B), ("catdesc", TX), ("baredesc", TX))


@table("pg_get_keywords", (), _KEYWORDS)
def _keywords(
    args: Sequence[pa.Array], length: int, context: EpochContext
) -> tuple[pa.Array, list[pa.Array]]:
    """The key words that are not free to be names."""
    rows: list[Any] = []
    families = (
        (keywords.RESERVED, "R", "reserved"),
        (keywords.TYPE_OR_FUNCTION, "T", "reserved (can be function or type name)"),
        (keywords.COLUMN_NAME, "C", "unreserved (cannot be function or type name)"),
    )
    for origin in range(length):
        for words, letter, meaning in families:
            for word in sorted(words):
                bare = word not in keywords.NEEDS_AS
                rows.append(
                    (origin, word, letter, bare, meaning, "can be bare label" if bare else "requires AS")
                )
    return _result(rows, [type_.arrow for _, type_ in _KEYWORDS])


def _expanded(element: t.Type) -> None:
    columns = (("x", element), ("n", I4))

    def kernel(
        args: Sequence[pa.Array], length: int, context: EpochContext
    ) -> tuple[pa.Array, list[pa.Array]]:
        """The elements of an array with their numbers from 1."""
        rows = [
            (position, value, number)
            for position, items in enumerate(args[0].to_pylist())
            for number, value in enumerate(items or (), 1)
        ]
        return _result(rows, (element.arrow, pa.int32()))

    for type_ in (t.array_of(element), *((t.INT2VECTOR,) if element is t.INT2 else ())):
        table("_pg_expandarray", (type_,), columns)(kernel)


for _element in (t.INT2, t.INT4, t.OID, t.TEXT):
    _expanded(_element)


def _subscripts(
    args: Sequence[pa.Array], length: int, context: EpochContext
) -> tuple[pa.Array, list[pa.Array]]:
    """The subscripts of an int2vector or oidvector, from 0."""
    backwards = args[2].to_pylist() if len(args) > 2 else [False] * length
    rows: list[Any] = []
    for position, (items, dimension, reverse) in enumerate(
        zip(args[0].to_pylist(), args[1].to_pylist(), backwards, strict=True)
    ):
        numbers = range(len(items) if items and dimension == 1 else 0)
        rows += [(position, number) for number in (reversed(numbers) if reverse else numbers)]
    return _result(rows, (pa.int32(),))


for _vector in (t.INT2VECTOR, t.OIDVECTOR):
    for _args in ((_vector, I4), (_vector, I4, B)):
        table("generate_subscripts", _args, (("generate_subscripts", I4),))(_subscripts)

    @catalog_function("array_upper", (_vector, I4), result=I4, volatility="immutable")
    def _upper(system: SystemContext, items: list[int], dimension: int) -> int | None:
        """The last subscript."""
        return len(items) - 1 if items and dimension == 1 else None

    @catalog_function("array_lower", (_vector, I4), result=I4, volatility="immutable")
    def _lower(system: SystemContext, items: list[int], dimension: int) -> int | None:
        """The first subscript."""
        return 0 if items and dimension == 1 else None
