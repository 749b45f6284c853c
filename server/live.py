"""Live facts for system relations: sessions, settings, cursors, sources, views, errors.

Each function returns rows as tuples; the relation that shows them (`sql/system/`) names the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from ..runtime.engine import Engine
from ..runtime.published import FILLING
from ..runtime.sink import outbox_name
from ..runtime.state import ERRORS
from ..sql.entries import MaterializedView, Sink, Source, Table
from .connectors.kafka_offset import Offset
from .settings import SETTINGS

if TYPE_CHECKING:
    from .client import Client
    from .database import Database

Rows = Iterable[tuple[object, ...]]


def live_facts(database: Database, client: Client) -> Mapping[str, Callable[[], Rows]]:
    """All providers, by the name `SystemContext.facts` asks for."""
    return {
        "sessions": partial(_sessions, database),
        "settings": partial(_settings, client),
        "cursors": partial(_cursors, client),
        "prepared_statements": partial(_prepared, client),
        "sources": partial(_sources, database),
        "sinks": partial(_sinks, database),
        "kafka_lag": partial(kafka_lag, database),
        "views": partial(_views, database),
        "errors": partial(_errors, database),
        "tables": partial(_tables, database),
        "server": partial(_server, database),
        "jobs": partial(_jobs, database),
        "replicas": partial(_replicas, database),
    }


def _sessions(database: Database) -> Rows:
    """(pid, user, application, address, state, query, query start µs)"""
    for client in list(database.clients.values()):
        application = client.settings.show("application_name")
        yield (
            client.pid,
            client.user,
            application,
            client.address,
            client.state,
            client.current_query,
            client.state_changed_us,
        )


def _settings(client: Client) -> Rows:
    """(name, value, description, default, read only)"""
    for name, value, doc in client.settings.all():
        known = SETTINGS.get(name.lower())
        yield name, value, doc, known.default if known else "", known.read_only if known else False


def _cursors(client: Client) -> Rows:
    """(name, statement, hold, scrollable, creation µs)"""
    for cursor in client.cursors.values():
        yield cursor.name, cursor.text, cursor.hold, cursor.scroll, cursor.created_us


def _prepared(client: Client) -> Rows:
    """(name, statement, parameter types)"""
    for name, prepared in client.statements.items():
        text = getattr(getattr(prepared, "statement", None), "text", "")
        yield name, text, [str(type_) for type_ in prepared.parameter_types]


def _sources(database: Database) -> Rows:
    """(oid, connector, offset, state, reason)"""
    published = database.engine.published
    status = database.engine.source_status()
    for entry in published.catalog.of(Source, Table):
        assert isinstance(entry, Source | Table)
        if "connector" not in entry.options:
            continue
        reason = status.get(entry.id, published.stalled.get(entry.id, ""))
        offset = published.offsets.get(entry.id, b"").decode("utf-8", "replace")
        yield entry.oid, entry.options["connector"], offset, "stalled" if reason else "running", reason


def _sinks(database: Database) -> Rows:
    """(oid, changes not yet out, state, reason)"""
    published = database.engine.published
    status = database.engine.sink_status()
    for entry in published.catalog.of(Sink):
        assert isinstance(entry, Sink)
        reason = published.stalled.get(entry.id, "") or status.get(entry.id, "")
        outbox = published.tables.get(outbox_name(entry))
        yield entry.oid, len(outbox) if outbox else 0, "stalled" if reason else "running", reason


def kafka_lag(database: Database) -> Rows:
    """(oid, partition, first offset, first one there is, committed, end, seen µs)"""
    published = database.engine.published
    for relation, reader in database.engine.source_readers().items():
        entry = published.catalog.by_id(relation)
        measure = getattr(reader, "lag", None)
        if entry is None or measure is None:
            continue
        committed = Offset.decode(published.offsets.get(relation)).next
        for found in measure():
            at = committed.get(found.partition, found.first)
            micros = int(found.seen * 1_000_000)
            yield entry.oid, found.partition, found.first, found.low, at, max(found.end, at), micros


def _views(database: Database) -> Rows:
    """(oid, rows, bytes, evicted rows, state, reason)"""
    published = database.engine.published
    for entry in published.catalog.of(MaterializedView):
        table = published.tables.get(entry.id)
        reason = published.stalled.get(entry.id, "")
        facts = (len(table), table.nbytes, table.evicted) if table is not None else (0, 0, 0)
        state = "filling" if reason == FILLING else "stalled" if reason else "running"
        yield entry.oid, *facts, state, reason


def _tables(database: Database) -> Rows:
    """(oid, rows, bytes, evicted rows)"""
    published = database.engine.published
    for entry in published.catalog.of(Table):
        table = published.tables.get(entry.id)
        if table is not None:
            yield entry.oid, len(table), table.nbytes, table.evicted


def _errors(database: Database) -> Rows:
    """(relation oid, operator, code, message, position, row, count)"""
    columns, weights = database.engine.published.tables[ERRORS].scan()
    yield from zip(*(column.to_pylist() for column in columns), weights.tolist(), strict=True)


def _replicas(database: Database) -> Rows:
    """(name, address, role, state, epoch, lag in epochs, records and ms, last beat µs)"""
    if database.cluster is not None:
        yield from database.cluster.rows()


def _server(database: Database) -> Rows:
    """(started µs, epoch, commit µs)"""
    published = database.engine.published
    yield database.started_us, published.epoch, published.time_us


def _jobs(database: Database) -> Rows:
    """(number, statement, rows fed, rows to feed or None, state) of views being filled"""
    engine = database.engine
    for job in engine.jobs.list() if isinstance(engine, Engine) else ():
        fed, total = (0, None) if job.fill is None else job.fill.progress
        yield job.number, job.text, fed, total, "waiting" if job.fill is None else "running"
