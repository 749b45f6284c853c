"""The line between the wire and the database: what a connection may ask, in columns.

`Backend` is one client's side of the database. The wire (`session.py`, `listener.py`) knows messages,
portals and statuses; the backend knows SQL, transactions and the engine. Neither does the other's work.

Calls are made on the server's event loop thread. `prepare` returns at once. `execute` returns a
`Result` at once for cheap statements, else a `concurrent.futures.Future` of one: the wire stops
reading that connection's messages until it is done, so that replies keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

import pyarrow as pa

from ..storage.errors import SqlError
from ..storage.textform import TextSettings
from ..storage.types import Type


class TransactionStatus(Enum):
    """As in ReadyForQuery."""

    IDLE = "I"
    IN_BLOCK = "T"
    FAILED = "E"


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """One column of RowDescription. `table_oid` and `number` are 0 for a computed column."""

    name: str
    type: Type
    table_oid: int = 0
    number: int = 0


class CopyDirection(Enum):
    IN = "in"
    OUT = "out"


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """Of COPY: `format` is text, csv or binary; `header` skips or writes a first line."""

    format: str = "text"
    delimiter: str = "\t"
    null: str = "\\N"
    header: bool = False
    quote: str = '"'
    escape: str = '"'
    force_quote: tuple[str, ...] | bool = ()
    force_null: tuple[str, ...] = ()
    force_not_null: tuple[str, ...] = ()


DEFAULT_COPY = CopyOptions()


@dataclass(slots=True)
class Result:
    """The outcome of one statement.

    With `columns` set the statement returns rows: `batches` yields them as lists of Arrow arrays, one
    a column, of the columns' types; it may be endless (SUBSCRIBE) and is pulled under back-pressure.
    A pull never blocks: with no rows at hand it yields a future, and is pulled again when that is done.
    The wire closes an iterator that has `close` when the client wants no more rows, and before that calls
    `fail`, if there is one, when it was interrupted or an error ended the rows.
    `tag` is the CommandComplete tag; with rows still to come, `{rows}` in it is replaced by their number.
    """

    tag: str
    columns: tuple[ResultColumn, ...] | None = None
    batches: Iterator[Sequence[pa.Array] | Future[None]] = field(default_factory=lambda: iter(()))
    notices: list[SqlError] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)
    """ParameterStatus values that changed (SET of a reported setting, ROLLBACK of one)."""
    copy: CopyDirection | None = None
    copy_options: CopyOptions = DEFAULT_COPY
    copy_in: CopyIn | None = None
    few: Sequence[pa.Array] | None = None
    """What `batches` has, when that is one batch of few rows: sent at once, `batches` is then not pulled.
    There are columns then."""


def rows_in(batch: Sequence[pa.Array]) -> int:
    """Rows of a batch of a result; one without columns is one row."""
    return len(batch[0]) if batch else 1


class CopyIn(Protocol):
    """Receives the rows of COPY FROM STDIN."""

    columns: tuple[ResultColumn, ...]
    relation: str
    """The table's name, for the context of errors."""

    def write(self, rows: list[pa.Array]) -> None:
        """Adds decoded rows (one array a column of `columns`). Raises SqlError."""
        ...

    def finish(self) -> Result | Future[Result]:
        """All rows came: apply them. The tag is `COPY n`."""
        ...

    def fail(self, message: str) -> None:
        """The client gave up (CopyFail) or a row was malformed: nothing of it remains."""
        ...


class Prepared(Protocol):
    """A statement parsed and planned once; `parameter_types` are known before values are."""

    parameter_types: tuple[Type, ...]
    columns: tuple[ResultColumn, ...] | None
    empty: bool
    """An empty query string: answered with EmptyQueryResponse."""


class Backend(Protocol):
    """One client's side of the database."""

    @property
    def status(self) -> TransactionStatus: ...

    @property
    def text_settings(self) -> TextSettings: ...

    @property
    def statements(self) -> MutableMapping[str, Prepared]:
        """Named prepared statements: of SQL PREPARE and of Parse messages, one namespace.

        The wire adds and removes its own here, so that DEALLOCATE and DISCARD reach them.
        """
        ...

    def cursor_columns(self, name: str) -> tuple[ResultColumn, ...] | None:
        """What the open cursor of this name gives, or None when DECLARE made none."""
        ...

    def parameters(self) -> dict[str, str]:
        """The ParameterStatus set to report after login."""
        ...

    def split(self, text: str) -> Sequence[str]:
        """The statements of a simple-protocol string, in order, each with its own text.

        Raises SyntaxFault when the whole string cannot be lexed.
        """
        ...

    def prepare(self, text: str, parameter_types: Sequence[Type | None] = ()) -> Prepared:
        """Parses, binds and plans one statement. `None` leaves a parameter's type to inference."""
        ...

    def execute(
        self, prepared: Prepared, values: Sequence[pa.Array] = (), alone: bool = False
    ) -> Result | Future[Result]:
        """Runs it with parameter values (arrays of length 1 of `parameter_types`).

        `alone`: `sync` will follow at once, so outside a block a write may commit by itself.

        Raises SqlError; inside a transaction block the status is then FAILED.
        """
        ...

    def resume(self) -> None:
        """The client asks for more rows of a result it was given a part of: time counts from now."""
        ...

    def fail(self) -> None:
        """An error was answered: fails an open transaction block, drops what an implicit one had written.

        Called after every error, those of `prepare` and `execute` too; without a transaction it does nothing.
        """
        ...

    def sync(self) -> Future[None] | None:
        """End of an implicit transaction: a simple-protocol string or the Sync of a pipeline.

        Writes of the statements since the last one become visible together here. Returns a future
        when the commit is under way; its error is reported in place of success.
        """
        ...

    def rest(self) -> None:
        """The client was told that all it asked for is done."""
        ...

    def cancel(self) -> None:
        """Interrupts the running statement (from a CancelRequest; any thread)."""
        ...

    def close(self) -> None:
        """The connection has ended: an open transaction is rolled back."""
        ...


Connect = Callable[[dict[str, str]], Backend]
"""Makes the backend of a new connection from its startup parameters: user, database, settings.

Two more are put in by the listener, under names no client can send: `_pid`, the number that
`pg_backend_pid()` gives, and `_address`, the client's address (empty for a Unix socket).
"""
