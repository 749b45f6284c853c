"""`Client`: one connection's side of the database; implements `backend.Backend`.

It keeps what belongs to a session (settings, prepared statements, cursors, the open transaction) and
hands each statement to the function that `executes` its class (`run_*.py`). All calls come from the
server's event loop; long work goes to the read threads or the engine, as futures.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, MutableMapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..operators.functions.casts_text import text_values
from ..operators.node import EpochContext
from ..runtime.published import Published
from ..runtime.reader import SnapshotReader
from ..runtime.relations import ReadContext
from ..runtime.transaction import Transaction
from ..sql import statements as st
from ..sql.catalog import DATABASE, Catalog
from ..sql.parse import parse
from ..sql.split import split
from ..sql.system import SystemContext
from ..storage.errors import FeatureNotSupported, InFailedTransaction, QueryCanceled, SqlError, SyntaxFault
from ..storage.textform import TextSettings
from ..storage.types import Type
from .backend import Prepared, Result, ResultColumn, TransactionStatus
from .futures import then
from .plans import QueryPlan, WritePlan, plan_query, plan_write
from .settings import VERSION, SessionSettings

if TYPE_CHECKING:
    from .cursor import Cursor
    from .database import Database

ABORTED = "current transaction is aborted, commands ignored until end of transaction block"
ENDS_TRANSACTION = (st.Commit, st.Rollback)
PLANNED = (st.Select, st.Insert, st.Update, st.Delete)
CARRIERS = (st.DeclareCursor, st.Explain)
"""Statements around another one, whose parameters are theirs."""


@dataclass(slots=True)
class PreparedStatement:
    """A statement parsed and, if it is a query or a write, planned. See `backend.Prepared`."""

    statement: st.Statement
    declared: tuple[Type | None, ...]
    plan: QueryPlan | WritePlan | None
    plan_version: int
    parameter_types: tuple[Type, ...] = ()
    columns: tuple[ResultColumn, ...] | None = None
    empty: bool = False


@dataclass(slots=True)
class Client:
    """One session of `database`."""

    database: Database
    user: str
    pid: int
    address: str
    settings: SessionSettings
    statements: MutableMapping[str, Prepared] = field(default_factory=dict)
    cursors: dict[str, Cursor] = field(default_factory=dict)
    drawn: dict[int, int] = field(default_factory=dict)
    """What the session drew last from each sequence."""
    transaction: Transaction | None = None
    in_block: bool = False
    failed: bool = False
    transaction_time_us: int = 0
    current_query: str = ""
    state_changed_us: int = 0
    busy: bool = False
    """Whether something the client asked for is not done."""
    resting_since: float = field(default_factory=time.monotonic)
    """When that became false, by the monotonic clock."""
    _changed: dict[str, str] = field(default_factory=dict)
    _cancel: threading.Event = field(default_factory=threading.Event)
    _deadline: float = 0.0
    _text_settings: tuple[TextSettings, TextSettings] | None = None
    """The settings' own text settings and those with the catalogue's names."""

    # backend.Backend
    @property
    def status(self) -> TransactionStatus:
        if not self.in_block:
            return TransactionStatus.IDLE
        return TransactionStatus.FAILED if self.failed else TransactionStatus.IN_BLOCK

    @property
    def text_settings(self) -> TextSettings:
        plain = self.settings.text_settings()
        if self._text_settings is None or self._text_settings[0] is not plain:
            self._text_settings = plain, replace(plain, names=self)
        return self._text_settings[1]

    def cursor_columns(self, name: str) -> tuple[ResultColumn, ...] | None:
        cursor = self.cursors.get(name)
        return None if cursor is None else cursor.columns

    def parameters(self) -> dict[str, str]:
        return self.settings.reported()

    def split(self, text: str) -> Sequence[str]:
        return [part for _, part in split(text)]

    def prepare(self, text: str, parameter_types: Sequence[Type | None] = ()) -> PreparedStatement:
        self.current_query = text
        self._begin_time()
        declared = tuple(parameter_types)
        reading = self.settings.show("timezone"), self.settings.show("datestyle")
        key = (text, declared, self.search_path, reading, self.catalog.version, id(self.catalog))
        cached = self.database.prepared.get(key)
        if cached is not None and not self.failed:
            return cached
        statements = [s for s in parse(text) if not isinstance(s, st.Empty)]
        if not statements:
            return PreparedStatement(st.Empty(), declared, None, 0, empty=True)
        if len(statements) > 1:
            raise SyntaxFault("cannot insert multiple commands into a prepared statement")
        statement = statements[0]
        if self.failed and not isinstance(statement, ENDS_TRANSACTION):
            raise InFailedTransaction(ABORTED)
        prepared = self.prepare_statement(statement, declared)
        if prepared.plan is not None and self.transaction is None:
            self.database.prepared.put(key, prepared)
        return prepared

    def prepare_statement(
        self, statement: st.Statement, declared: tuple[Type | None, ...] = ()
    ) -> PreparedStatement:
        """A parsed statement with its plan, or the columns it will return."""
        catalog = self.reading_catalog()
        if not isinstance(statement, PLANNED):
            prepared = PreparedStatement(statement, declared, None, 0)
            describe = DESCRIBERS.get(type(statement))
            if describe is not None:
                prepared.columns = describe(self, statement)
            if isinstance(statement, CARRIERS) and isinstance(statement.statement, PLANNED):
                inner = self.prepare_statement(statement.statement, declared)
                prepared.parameter_types = inner.parameter_types
            return prepared
        if isinstance(statement, st.Select):
            plan: QueryPlan | WritePlan = plan_query(
                statement, catalog, self.search_path, declared, self.text_settings
            )
        else:
            plan = plan_write(statement, catalog, self.search_path, declared, self.text_settings)
        return PreparedStatement(
            statement, declared, plan, catalog.version, plan.parameter_types, plan.columns
        )

    def execute(
        self, prepared: Prepared, values: Sequence[pa.Array] = (), alone: bool = False
    ) -> Result | Future[Result]:
        """Runs a statement. `alone`: nothing else belongs to its implicit transaction."""
        assert isinstance(prepared, PreparedStatement)
        statement = prepared.statement
        if self.failed and not isinstance(statement, ENDS_TRANSACTION):
            raise InFailedTransaction(ABORTED)
        self._begin_time()
        self.resume()
        executor = EXECUTORS.get(type(statement))
        if executor is None:
            raise unsupported(statement)
        return executor(self, prepared, values, alone)

    def resume(self) -> None:
        if self._cancel.is_set():
            self._cancel.clear()
        timeout = self.settings.timeout_ms()
        self._deadline = time.monotonic() + timeout / 1000 if timeout else 0.0

    def fail(self) -> None:
        self.failed = self.in_block
        if not self.in_block:
            self.end_transaction(committed=False)

    def sync(self) -> Future[None] | None:
        """Ends an implicit transaction: commits what its statements wrote."""
        if self.in_block or self.transaction is None:
            if not self.in_block:
                self.transaction_time_us = 0
            return None
        work = self.transaction.commit_work(self.read_context())
        self.end_transaction(committed=True)
        return None if work is None else then(self.database.engine.submit(work), lambda _: None)

    def rest(self) -> None:
        self.busy, self.resting_since = False, time.monotonic()

    def cancel(self) -> None:
        self._cancel.set()

    def close(self) -> None:
        self.transaction = None
        self.close_cursors()
        self.database.forget(self)

    def close_cursors(self) -> None:
        while self.cursors:
            self.cursors.popitem()[1].close()

    # What the executors ask.
    @property
    def search_path(self) -> tuple[str, ...]:
        return self.settings.search_path(self.user)

    @property
    def catalog(self) -> Catalog:
        """The catalogue this session sees, with its transaction's own definitions."""
        return (
            self.database.engine.published.catalog if self.transaction is None else self.transaction.catalog
        )

    def reading_catalog(self) -> Catalog:
        """The catalogue to plan queries with."""
        return self.catalog if self.transaction is None else self.transaction.reading_catalog()

    def begin(self, explicit: bool, read_only: bool = False) -> Transaction:
        """The open transaction, begun now if there is none."""
        if self.transaction is None:
            engine = self.database.engine
            bytes_max = engine.state.write_bytes_max
            self.transaction = Transaction(engine.published, read_only, explicit, bytes_max)
        if explicit:
            self.in_block = True
            self.transaction.explicit = True
            self.transaction.read_only = read_only
            self.settings.begin()
        return self.transaction

    def end_transaction(self, committed: bool) -> None:
        """Forgets the transaction, its cursors without HOLD and its SET LOCALs."""
        self.transaction = None
        self.in_block = self.failed = False
        self.transaction_time_us = 0
        self.settings.end(committed)
        for name, cursor in list(self.cursors.items()):
            cursor.lasting |= cursor.hold and committed
            if not cursor.lasting:
                self.cursors.pop(name).close()

    def reader(self, read: ReadContext) -> SnapshotReader:
        """Contents as this session sees them: its transaction's snapshot, or the last commit.

        Raises SerializationFailure on a server that is further behind than the session accepts.
        """
        published = self.published()
        if self.transaction is None:
            return SnapshotReader(published, self.database.connectors, read, published.catalog)
        transaction = self.transaction
        return SnapshotReader(
            published, self.database.connectors, read, transaction.catalog, transaction.overlays
        )

    def published(self) -> Published:
        """The state this session reads, its own writes aside. Raises as `reader` does."""
        if self.database.cluster is not None:
            self.database.check_fresh(self.settings.show("max_staleness"))
        return self.database.engine.published if self.transaction is None else self.transaction.published

    def has_written(self, relation: str) -> bool:
        """Whether the open transaction has changed this relation."""
        return self.transaction is not None and relation in self.transaction.overlays

    def read_context(self) -> ReadContext:
        """The context expressions are evaluated in now."""
        engine = self.database.engine
        catalog = self.catalog
        surroundings = SystemContext(
            catalog, self.search_path, self.session_values(), self.database.live(self),
            engine.state.sequences, self.drawn, self.settings.show, self.set_config, self.database.control,
        )  # fmt: skip
        context = EpochContext(
            engine.published.epoch,
            self.transaction_time_us,
            timezone=self.settings.show("timezone"),
            cancelled=self.check_cancelled,
            session=dict(surroundings.session),
            surroundings=surroundings,
        )
        return ReadContext(context, self.search_path, surroundings.live)

    def object_texts(self, type_name: str, oids: pa.Array) -> pa.Array:
        """The names of objects by OID, as results show them (`textform.ObjectNames`)."""
        return self._system().object_texts(type_name, oids)

    def object_oids(self, type_name: str, texts: pa.Array) -> pa.Array:
        """The OIDs of named objects, for parameters."""
        return self._system().object_oids(type_name, texts)

    def _system(self) -> SystemContext:
        live = self.database.live(self)
        return SystemContext(self.catalog, self.search_path, self.session_values(), live)

    def set_config(self, name: str, value: str | None, local: bool) -> str:
        """SET from within a query. What would hold for an implicit transaction only does not hold at all."""
        if local and not self.in_block:
            return value or ""
        before = self.parameters()
        self.settings.set(name, value, local)
        after = self.parameters()
        self._changed.update({key: after[key] for key in after if after[key] != before[key]})
        return self.settings.show(name)

    def take_changed(self) -> dict[str, str]:
        """The reported settings that `set_config` changed, to be told to the client with the result."""
        changed, self._changed = self._changed, {}
        return changed

    def session_values(self) -> dict[str, str]:
        """What session functions (current_user, current_setting …) show."""
        return {
            "user": self.user,
            "database": DATABASE,
            "pid": str(self.pid),
            "backend_pid": str(self.pid),
            "version": VERSION,
            "query": self.current_query,
            "address": self.address,
            "search_path": self.settings.show("search_path"),
            "schemas": ",".join(name for name in self.search_path if self.catalog.schema(name) is not None),
            "application_name": self.settings.show("application_name"),
            "standby": self.settings.show("in_hot_standby"),
            **text_values(self.settings.text_settings()),
        }

    def check_cancelled(self) -> None:
        """Raises QueryCanceled when the client, or the statement timeout, wants an end."""
        if self._cancel.is_set():
            raise QueryCanceled("canceling statement due to user request")
        if self._deadline and time.monotonic() > self._deadline:
            raise QueryCanceled("canceling statement due to statement timeout")

    @property
    def state(self) -> str:
        """What `pg_stat_activity` says that it does."""
        if self.busy:
            return "active"
        if not self.in_block:
            return "idle"
        return "idle in transaction (aborted)" if self.failed else "idle in transaction"

    def _begin_time(self) -> None:
        self.busy = True
        if not self.transaction_time_us:
            self.transaction_time_us = self.database.clock_us()
        self.state_changed_us = self.transaction_time_us


def unsupported(statement: st.Statement) -> SqlError:
    what = statement.what if isinstance(statement, st.Unsupported) else statement_words(statement)
    return FeatureNotSupported(f"{what} is not supported")


def statement_words(statement: st.Statement) -> str:
    """The statement as errors name it: CREATE TABLE, DROP VIEW."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(statement).__name__)
    return (f"{words} {statement.kind}" if isinstance(statement, st.Drop | st.Alter) else words).upper()


Executor = Callable[[Client, PreparedStatement, Sequence[pa.Array], bool], "Result | Future[Result]"]
EXECUTORS: dict[type[st.Statement], Executor] = {}
Describer = Callable[[Client, Any], "tuple[ResultColumn, ...] | None"]
DESCRIBERS: dict[type[st.Statement], Describer] = {}


def executes(*kinds: type[st.Statement]) -> Callable[[Executor], Executor]:
    """Registers the function that runs statements of these classes."""

    def register(function: Executor) -> Executor:
        for kind in kinds:
            EXECUTORS[kind] = function
        return function

    return register


def describes(*kinds: type[st.Statement]) -> Callable[[Describer], Describer]:
    """Registers the function that tells the columns of statements that are not planned."""

    def register(function: Describer) -> Describer:
        for kind in kinds:
            DESCRIBERS[kind] = function
        return function

    return register
