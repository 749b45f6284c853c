"""`millpond`: what only this server has to tell. Comments on the columns are in the catalogue too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from ...storage import types as t
from ..entries import MaterializedView, Secret, Sink
from .registry import Provider, Rows, SystemContext, system_relation

Described = Mapping[str, tuple[t.Type, str]]


def _own(name: str, columns: Described, live: bool = True) -> Callable[[Provider], Provider]:
    return system_relation(
        "millpond", name, {column: type_ for column, (type_, _) in columns.items()}, live=live,
        comments={column: comment for column, (_, comment) in columns.items()},
    )  # fmt: skip


def _named(system: SystemContext, oid: object) -> tuple[str, str]:
    """Schema and name of a relation; empty of one that is gone."""
    assert isinstance(oid, int)
    entry = system.catalog.by_oid(oid)
    return ("", "") if entry is None else (entry.schema_name, entry.name)


_WHO: Described = {
    "oid": (t.OID, "as in pg_class"),
    "schema_name": (t.NAME, "schema"),
    "name": (t.NAME, "name in the schema"),
}
_STATE: Described = {
    "state": (t.TEXT, "running or stalled; of a view also filling"),
    "reason": (t.TEXT, "why it is stalled, else NULL"),
}


@_own("errors", {
    "relation_schema": (t.NAME, "schema of the view, table or source whose rows failed"),
    "relation_name": (t.NAME, "its name"),
    "operator": (t.TEXT, "the step of its plan that failed"),
    "sqlstate": (t.TEXT, "PostgreSQL's code of the error"),
    "message": (t.TEXT, "what was wrong"),
    "position": (t.TEXT, "where the row came from, if its source knows"),
    "row": (t.TEXT, "the row as it came in"),
    "count": (t.INT8, "how many such rows there are now"),
})  # fmt: skip
def _errors(system: SystemContext) -> Rows:
    """Rows that are kept out of a view because an expression fails on them; gone when the row is."""
    for oid, operator, code, message, position, row, count in system.facts("errors"):
        yield *_named(system, oid), operator, code, message, position or None, row, count


@_own("sources", {
    **_WHO,
    "connector": (t.TEXT, "where the rows come from"),
    "position": (t.TEXT, "how far it has been read, in the connector's own words"),
    **_STATE,
})  # fmt: skip
def _sources(system: SystemContext) -> Rows:
    """Sources, and tables with a connector, and how far they have been read."""
    for oid, connector, offset, state, reason in system.facts("sources"):
        yield oid, *_named(system, oid), connector, offset or None, state, reason or None


@_own("source_lag", {
    **_WHO,
    "partition": (t.INT4, "of the topic"),
    "first_offset": (t.INT8, "where the source begins"),
    "lost": (t.INT8, "offsets from there on that the topic no longer has"),
    "committed_offset": (t.INT8, "the next one to read"),
    "end_offset": (t.INT8, "behind the last record, when it was last seen"),
    "lag": (t.INT8, "how many offsets are still to be read"),
    "measured": (t.TIMESTAMPTZ, "when the end was last seen"),
})  # fmt: skip
def _source_lag(system: SystemContext) -> Rows:
    """How far Kafka sources are behind the ends of their topics, partition by partition."""
    for oid, partition, first, low, at, end, seen in system.facts("kafka_lag"):
        assert isinstance(first, int) and isinstance(low, int)
        assert isinstance(at, int) and isinstance(end, int)
        lost = max(min(low, at) - first, 0)
        yield oid, *_named(system, oid), partition, first, lost, at, end, end - at, _moment(seen)


@_own("views", {
    **_WHO,
    "rows": (t.INT8, "rows it has now"),
    "bytes": (t.INT8, "memory they take, with indexes"),
    "evicted": (t.INT8, "rows of them that are in the store only"),
    **_STATE,
    "definition": (t.TEXT, "its query"),
})  # fmt: skip
def _views(system: SystemContext) -> Rows:
    """Materialized views, how large they are and whether they are kept up to date."""
    for oid, rows, size, evicted, state, reason in system.facts("views"):
        assert isinstance(oid, int)
        entry = system.catalog.by_oid(oid)
        query = entry.query if isinstance(entry, MaterializedView) else None
        yield oid, *_named(system, oid), rows, size, evicted, state, reason or None, query


@_own("tables", {
    **_WHO,
    "rows": (t.INT8, "rows it has now"),
    "bytes": (t.INT8, "memory they take, with indexes"),
    "evicted": (t.INT8, "rows of them that are in the store only"),
})  # fmt: skip
def _tables(system: SystemContext) -> Rows:
    """Tables and how large they are."""
    for oid, rows, size, evicted in system.facts("tables"):
        yield oid, *_named(system, oid), rows, size, evicted


@_own("replicas", {
    "name": (t.TEXT, "as it was started with --name"),
    "address": (t.TEXT, "HOST:PORT it listens on"),
    "role": (t.TEXT, "primary or standby"),
    "state": (t.TEXT, "running; starting: nothing measured yet; silent: no sign of life"),
    "epoch": (t.INT8, "the last epoch it had when it was last heard of"),
    "lag_epochs": (t.INT8, "epochs it was behind the end of the log then; NULL if unknown or primary"),
    "lag_records": (t.INT8, "rows and keys that the log had got and it had not; NULL if unknown or primary"),
    "lag_ms": (t.FLOAT8, "milliseconds since it was at the end of the log; NULL if unknown"),
    "seen": (t.TIMESTAMPTZ, "its last sign of life"),
})  # fmt: skip
def _replicas(system: SystemContext) -> Rows:
    """The servers on this server's log: the primary and its standbys."""
    for *facts, seen in system.facts("replicas"):
        yield *facts, _moment(seen)


@_own("sinks", {
    **_WHO,
    "connector": (t.TEXT, "where the changes go; NULL if into a table"),
    "from_name": (t.TEXT, "the relation whose changes go there; NULL if a query of its own"),
    "into_name": (t.TEXT, "the table they go to, else NULL"),
    "pending": (t.INT8, "changes that are not yet out"),
    **_STATE,
    "definition": (t.TEXT, "the statement that made it"),
})  # fmt: skip
def _sinks(system: SystemContext) -> Rows:
    """Sinks, and how much of what changed has still to go out."""
    facts = {oid: (pending, state, reason) for oid, pending, state, reason in system.facts("sinks")}
    for entry in system.catalog.of(Sink):
        assert isinstance(entry, Sink)
        read, written = (
            ".".join(_named(system, oid)) if oid else None for oid in (entry.from_oid, entry.into_oid)
        )
        connector = entry.options.get("connector")
        pending, state, reason = facts.get(entry.oid, (0, "running", ""))
        who = (entry.oid, entry.schema_name, entry.name)
        yield *who, connector, read, written, pending, state, reason or None, entry.definition


@_own("objects", {
    **_WHO,
    "kind": (t.TEXT, "table, view, materialized view, source, sink, index, sequence, …"),
    "definition": (t.TEXT, "the statement that made it"),
}, live=False)  # fmt: skip
def _objects(system: SystemContext) -> Rows:
    """Everything that was created, with the statement that did it."""
    from ..catalog import FIRST_OID, kind_of

    for entry in sorted(system.catalog, key=lambda found: found.oid):
        if entry.oid >= FIRST_OID:
            text = "" if isinstance(entry, Secret) else entry.definition
            yield entry.oid, entry.schema_name, entry.name, kind_of(entry), text or None


@_own("dependencies", {
    **_WHO,
    "needs_oid": (t.OID, "what it needs"),
    "needs_schema": (t.NAME, "its schema"),
    "needs_name": (t.NAME, "its name"),
}, live=False)  # fmt: skip
def _dependencies(system: SystemContext) -> Rows:
    """What directly needs what."""
    for entry in system.catalog:
        for oid in sorted(entry.dependencies):
            yield entry.oid, entry.schema_name, entry.name, oid, *_named(system, oid)


def _moment(micros: object) -> datetime:
    assert isinstance(micros, int)
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


@_own("jobs", {
    "pid": (t.INT4, "number of the session, for pg_cancel_backend; NULL of a view being filled"),
    "user_name": (t.NAME, "who"),
    "application_name": (t.TEXT, "as the client calls itself"),
    "client_address": (t.TEXT, "where from"),
    "state": (t.TEXT, "as in pg_stat_activity; of a view being filled: running or waiting"),
    "query": (t.TEXT, "the statement it runs, or ran last"),
    "started": (t.TIMESTAMPTZ, "when that statement began"),
    "job": (t.INT8, "number of a view being filled, for CANCEL JOBS; NULL of a session"),
    "rows": (t.INT8, "how many rows of its inputs the view has seen"),
    "progress": (t.FLOAT8, "which share of them, from 0 to 1; NULL if a source among them has no end"),
})  # fmt: skip
def _jobs(system: SystemContext) -> Rows:
    """Sessions and what they run; views that are being filled and how far they are."""
    for pid, user, application, address, state, query, since in system.facts("sessions"):
        started = _moment(since) if since else None
        yield pid, user, application, address or None, state, query, started, None, None, None
    for number, query, fed, total, state in system.facts("jobs"):
        assert isinstance(fed, int)
        share = min(fed / total, 1.0) if isinstance(total, int) and total else None
        yield None, None, None, None, state, query, None, number, fed, share


@_own("settings", {
    "name": (t.TEXT, "as SET takes it"),
    "value": (t.TEXT, "in this session"),
    "default_value": (t.TEXT, "what it is when nobody sets it"),
    "read_only": (t.BOOL, "whether SET is refused"),
    "description": (t.TEXT, "what it does"),
})  # fmt: skip
def _settings(system: SystemContext) -> Rows:
    """Settings of this session."""
    for name, value, doc, default, read_only in system.facts("settings"):
        yield name, value, default, read_only, doc or None


@_own("version", {
    "version": (t.TEXT, "of millpond"),
    "postgres_version": (t.TEXT, "the PostgreSQL whose dialect it speaks"),
    "started": (t.TIMESTAMPTZ, "when the server started"),
    "epoch": (t.INT8, "number of the last commit"),
    "committed": (t.TIMESTAMPTZ, "when that was"),
})  # fmt: skip
def _version(system: SystemContext) -> Rows:
    """One row: the server."""
    postgres = system.setting("server_version") if system.setting is not None else None
    for started, epoch, committed in system.facts("server"):
        yield release(), postgres, _moment(started), epoch, _moment(committed) if committed else None


def release() -> str:
    """The version of millpond."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("millpond")
    except PackageNotFoundError:
        return "unknown"
