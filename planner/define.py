"""CREATE, ALTER, DROP and COMMENT: from a statement to the catalogue after it, and what must be done.

Nothing happens here: `define` reads a catalogue and returns another one. The engine makes or forgets
state for what came and went (`runtime/epoch.py`); a transaction block just keeps the definitions
until it commits. One function per statement class, found in `DEFINERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..sql import statements as st
from ..sql.catalog import Catalog
from ..sql.coerce import DEFAULT_SETTINGS
from ..sql.entries import Entry, Table
from ..storage.errors import FeatureNotSupported, SqlError
from ..storage.schema import Schema
from ..storage.textform import TextSettings
from .translate import Query

ConnectorColumns = Callable[[dict[str, str]], Schema | None]


@dataclass(frozen=True, slots=True)
class DefineContext:
    """What a definition may ask: the catalogue before it, and who asks.

    `connector_columns` checks a source's options and gives the columns it has of its own, if any.
    """

    catalog: Catalog
    search_path: tuple[str, ...]
    connector_columns: ConnectorColumns
    check_connector: Callable[[Entry], None] = lambda _entry: None
    """Lets the connector look at a new relation, options and columns together; raises SqlError."""
    settings: TextSettings = DEFAULT_SETTINGS
    """By which the statement's dates and times are read."""


@dataclass(frozen=True, slots=True)
class Definition:
    """The outcome. `rows` fills a new table (CREATE TABLE AS). Entries in `dropped` come dependents first."""

    catalog: Catalog
    tag: str
    created: tuple[Entry, ...] = ()
    dropped: tuple[Entry, ...] = ()
    reshaped: tuple[tuple[Table, Table], ...] = ()
    """Tables whose columns change: (before, after)."""
    rows: tuple[Table, Query] | None = None
    notices: tuple[SqlError, ...] = field(default=(), compare=False)
    reset: tuple[Entry, ...] = ()
    """Sources that go on although records they should have read are gone (ALTER SOURCE … RESET)."""


class Notice(SqlError, code="00000"):
    """Something to tell the client, not an error."""


Definer = Callable[..., Definition]
DEFINERS: dict[type[st.Statement], Definer] = {}


def defines(kind: type[st.Statement]) -> Callable[[Definer], Definer]:
    """Registers the function that carries out statements of class `kind`."""

    def register(function: Definer) -> Definer:
        DEFINERS[kind] = function
        return function

    return register


def is_definition(statement: st.Statement) -> bool:
    return type(statement) in DEFINERS


def define(statement: st.Statement, context: DefineContext) -> Definition:
    """The catalogue after `statement`. Raises the SqlError PostgreSQL would, with its position."""
    definer = DEFINERS.get(type(statement))
    if definer is None:
        raise FeatureNotSupported(f"{type(statement).__name__} is not supported")
    return definer(statement, context)


def already_exists(context: DefineContext, tag: str, what: str, name: str, code: str = "42P07") -> Definition:
    """IF NOT EXISTS met an object of that name: nothing changes, the client is told."""
    notice = Notice(f'{what} "{name}" already exists, skipping')
    return Definition(context.catalog, tag, notices=(notice,))
