"""What CREATE SOURCE, TABLE and SINK share: a connector's options, and the columns INCLUDE adds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..sql import statements as st
from ..sql.entries import Connection, Secret
from ..sql.secret_options import masked_statement
from ..storage.errors import DuplicateColumn, InvalidParameterValue, InvalidTableDefinition
from ..storage.schema import Column
from ..storage.types import BYTEA, INT4, INT8, JSONB, TIMESTAMPTZ, Type
from .define import DefineContext

_INCLUDED: Mapping[str, Type] = {
    "key": BYTEA, "partition": INT4, "offset": INT8, "timestamp": TIMESTAMPTZ, "header": JSONB,
    "headers": JSONB, "payload": JSONB,
}  # fmt: skip
"""Types of the columns that INCLUDE adds. All headers together are one jsonb array."""


def connector_options(connector: st.Connector, context: DefineContext) -> dict[str, str]:
    """WITH (…), FORMAT … ENCODE …, INCLUDE … and the connection's options as one mapping.

    The format's options are `encode.…`; `include.n` is what:header:column. Secrets are resolved.
    Raises UndefinedObject for a connection or secret that does not exist.
    """
    options = {key.lower(): value for key, value in connector.options.items()}
    if connector.format is not None:
        options["format"] = connector.format.format
        options["encode"] = connector.format.encode
        if connector.format.key_encode:
            options["encode.key"] = connector.format.key_encode
        for key, value in connector.format.options.items():
            options[f"encode.{key.lower()}"] = value
    for number, include in enumerate(connector.include):
        options[f"include.{number}"] = ":".join((include.what, include.field, _column_name(include)))
    options = {**_connection_options(connector, options, context), **options}
    return {name: _resolved(value, context) for name, value in options.items()}


def _connection_options(
    connector: st.Connector, options: dict[str, str], context: DefineContext
) -> dict[str, str]:
    """Options of the connection named by the statement; the name itself is taken out of `options`."""
    named = options.pop("connection", None)
    parts = connector.connection.parts if connector.connection is not None else (named or "").split(".")
    if not parts[0]:
        return {}
    found = context.catalog.resolve_object("connection", parts, context.search_path)
    assert isinstance(found, Connection)
    return {name: value for name, value in found.options.items() if name != "type"}


def connection_oids(connector: st.Connector, context: DefineContext) -> frozenset[int]:
    """What an object made with this connector depends on."""
    named = connector.options.get("connection", "").split(".")
    parts = connector.connection.parts if connector.connection is not None else named
    if not parts[0]:
        return frozenset()
    return frozenset({context.catalog.resolve_object("connection", parts, context.search_path).oid})


def _resolved(value: str, context: DefineContext) -> str:
    if not value.startswith("secret:"):
        return value
    found = context.catalog.resolve_object("secret", value[7:].split("."), context.search_path)
    assert isinstance(found, Secret)
    return found.value


def shown_text(text: str, connector: st.Connector) -> str:
    """The statement as it may be shown: values of secret options masked."""
    options = dict(connector.options)
    if connector.format is not None:
        options |= {f"encode.{name}": value for name, value in connector.format.options.items()}
    return masked_statement(text, options)


def _column_name(include: st.Include) -> str:
    """The column's name: AS name, the header's, or what is included."""
    if include.alias:
        return include.alias
    if include.field:
        return include.field.lower()
    return include.what.lower()


def with_included(columns: Iterable[Column], connector: st.Connector) -> tuple[Column, ...]:
    """The columns and those of INCLUDE behind them. One that is declared already keeps its type.

    Raises InvalidParameterValue for something that cannot be included, DuplicateColumn.
    """
    found = list(columns)
    declared = {column.name for column in found}
    added: set[str] = set()
    for include in connector.include:
        what, name = include.what.lower(), _column_name(include)
        if what not in _INCLUDED:
            known = ", ".join(_INCLUDED)
            raise InvalidParameterValue(
                f'there is no "{include.what}" to INCLUDE', hint=f"There are: {known}."
            )
        if name in added:
            raise DuplicateColumn(f'column "{name}" specified more than once')
        added.add(name)
        if name not in declared:
            found.append(Column(name, _included_type(include)))
    return tuple(found)


def _included_type(include: st.Include) -> Type:
    if include.type is not None:
        return include.type.resolve()
    if include.field:
        return BYTEA
    return _INCLUDED[include.what.lower()]


TRUE = ("true", "on", "1", "yes")
KEYED_FORMATS = ("upsert", "debezium")


def is_keyed(options: Mapping[str, str]) -> bool:
    """Whether records replace and delete rows by key."""
    return options.get("format", "").lower() in KEYED_FORMATS and not has_before_images(options)


def has_before_images(options: Mapping[str, str]) -> bool:
    """Whether records hold a row both as it was and as it is, so that nothing must be looked up.

    Raises InvalidParameterValue where they cannot.
    """
    if options.get("before_images", "").lower() not in TRUE:
        return False
    if options.get("format", "").lower() != "debezium":
        raise InvalidParameterValue("before_images is for FORMAT DEBEZIUM")
    return True


def key_positions(
    declared: tuple[int, ...] | None, columns: tuple[Column, ...], options: dict[str, str]
) -> tuple[int, ...] | None:
    """The primary key: as declared, or of records with keys the column that has the record's key.

    Raises InvalidTableDefinition when such records have no key to go by.
    """
    if declared is not None or not is_keyed(options):
        return declared
    included = [
        value.split(":")[2]
        for name, value in options.items()
        if name.startswith("include.") and value.lower().startswith("key:")
    ]
    for i, column in enumerate(columns):
        if column.name in (included or ["key"] if OWN in options else included):
            return (i,)
    raise InvalidTableDefinition(
        f"records of FORMAT {options['format'].upper()} replace rows by key, and there is no primary key",
        hint="Declare PRIMARY KEY (…) over members of the record, or INCLUDE KEY.",
    )


OWN = "relation.own"
"""Option of a relation whose columns are those its connector has of itself."""
