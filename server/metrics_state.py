"""Metrics of what there is: relations and their state, sources, sinks, views being filled, replicas.

Labels name relations (`schema.name`), kinds of operators, partitions and replicas: as many as the catalogue
has, never values out of statements or rows.
"""

from __future__ import annotations

from collections import defaultdict

import pyarrow as pa

from ..runtime.engine import Engine
from ..runtime.published import FILLING, Published
from ..runtime.sink import outbox_name
from ..runtime.state import ERRORS
from ..sql.entries import Entry, MaterializedView, Sink, Source, Table
from ..storage.watch import Watched
from .database import Database
from .live import kafka_lag
from .metrics_families import Families, Samples, counters, gauge, gauges

ROWS = "rows"
"""Stands for an operator where the rows are a relation's own."""

_KINDS: dict[type[Entry], str] = {Table: "table", Source: "source", MaterializedView: "view", Sink: "sink"}
_RELATION, _KIND = "relation", "kind"


def label(entry: Entry | None) -> str:
    """A relation as labels name it; empty of one that is gone."""
    return "" if entry is None else f"{entry.schema_name}.{entry.name}"


def table_families(database: Database, watched: Watched) -> Families:
    """Rows and bytes of every table of every relation and operator, added up by both."""
    rows: defaultdict[tuple[str, str], int] = defaultdict(int)
    evicted, size = rows.copy(), rows.copy()
    owners = _owners(database, watched)
    for name, table in watched.tables.items():
        owner = owners[name]
        rows[owner] += len(table) - table.evicted
        evicted[owner] += table.evicted
        size[owner] += table.nbytes
    labels = [_RELATION, "operator"]
    places = [((*owner, "memory"), n) for owner, n in rows.items()]
    places += [((*owner, "store"), n) for owner, n in evicted.items()]
    yield gauges("state_rows", "Rows remembered, and where they are.", [*labels, "place"], places)
    yield gauges("state_bytes", "Memory of rows and indexes.", labels, size.items())


def _owners(database: Database, watched: Watched) -> dict[str, tuple[str, str]]:
    """(relation, operator) of every table, by name."""
    engine = database.engine
    catalog, operators = engine.published.catalog, engine.state.dataflow.owners()
    outboxes = {outbox_name(sink): label(sink) for sink in catalog.of(Sink) if isinstance(sink, Sink)}
    found: dict[str, tuple[str, str]] = {}
    for name in watched.tables:
        view, operator = operators.get(name, ("", "Filling"))
        if (entry := catalog.by_id(name)) is not None:
            found[name] = label(entry), ROWS
        elif name in outboxes:
            found[name] = outboxes[name], "Outbox"
        elif name.startswith("system/"):
            found[name] = name, ROWS
        else:
            found[name] = label(catalog.by_id(view)), operator
    return found


def row_families(database: Database, watched: Watched) -> Families:
    """Rows in and out since the process became the primary, and when each relation changed last."""
    engine = database.engine
    if not isinstance(engine, Engine):
        return
    came: list[tuple[tuple[str, str], float]] = []
    went, changed = came.copy(), came.copy()
    for entry in engine.published.catalog.of(*_KINDS):
        who = label(entry), _KINDS[type(entry)]
        name = outbox_name(entry) if isinstance(entry, Sink) else entry.id
        written, delivered = watched.commits.rows.get(name, 0), engine.measures.delivered.get(name, 0)
        if isinstance(entry, Table | Source):
            came.append((who, written if isinstance(entry, Table) else delivered))
        else:
            went.append((who, written if isinstance(entry, MaterializedView) else delivered))
        at = engine.measures.changed_us.get(name)
        if at is not None:
            changed.append((who, at / 1e6))
    labels = [_RELATION, _KIND]
    yield counters("rows_in_total", "Rows written to tables or delivered by sources.", labels, came)
    yield counters("rows_out_total", "Rows changed in views or handed to sinks.", labels, went)
    text = "Commit that last changed the relation."
    yield gauges("relation_changed_timestamp_seconds", text, labels, changed)


def condition_families(database: Database) -> Families:
    """What is stalled or being filled, and rows kept out of views."""
    engine, published = database.engine, database.engine.published
    reasons = {**published.stalled, **engine.source_status(), **engine.sink_status()}
    stalled: list[tuple[tuple[str, str], float]] = []
    filling = stalled.copy()
    for entry in published.catalog.of(*_KINDS):
        if isinstance(entry, Table | Source) and "connector" not in entry.options:
            continue
        who, reason = (label(entry), _KINDS[type(entry)]), reasons.get(entry.id, "")
        stalled.append((who, bool(reason) and reason != FILLING))
        if isinstance(entry, MaterializedView):
            filling.append((who, reason == FILLING))
    labels = [_RELATION, _KIND]
    yield gauges("stalled", "1 while the view, source or sink is stalled.", labels, stalled)
    yield gauges("filling", "1 while a view of the catalogue has no rows yet.", labels, filling)
    fills = [job.fill for job in engine.jobs.list()] if isinstance(engine, Engine) else []
    progress = [fill.progress for fill in fills if fill is not None]
    yield gauge("fill_jobs", "Views being filled, or waiting for it.", len(fills))
    yield gauge("fill_rows", "Rows fed to them so far.", sum(fed for fed, _ in progress))
    expected = sum(total or 0 for _, total in progress)
    yield gauge("fill_rows_expected", "Rows they will be fed, as far as known.", expected)
    yield gauges("row_errors", "Rows in millpond.errors.", [_RELATION], _row_errors(published))


def _row_errors(published: Published) -> Samples:
    table = published.tables.get(ERRORS)
    if table is None or not len(table):
        return []
    (oids,), weights = table.scan([0])
    counted = pa.table({"oid": oids, "count": weights}).group_by("oid").aggregate([("count", "sum")])
    catalog = published.catalog
    pairs = zip(counted["oid"].to_pylist(), counted["count_sum"].to_pylist(), strict=True)
    return [((label(catalog.by_oid(oid)),), count) for oid, count in pairs]


def source_families(database: Database) -> Families:
    """Kafka sources against their topics, and sinks' outboxes."""
    published = database.engine.published
    catalog = published.catalog
    places: list[tuple[tuple[str, str], int, int]] = []
    for oid, partition, _, _, committed, end, _ in kafka_lag(database):
        assert isinstance(oid, int) and isinstance(committed, int) and isinstance(end, int)
        places.append(((label(catalog.by_oid(oid)), str(partition)), committed, end))
    labels = [_RELATION, "partition"]
    yield gauges("source_committed_offset", "The next to read.", labels, ((w, at) for w, at, _ in places))
    yield gauges("source_end_offset", "Behind the last one.", labels, ((w, end) for w, _, end in places))
    text = "Records still to be read."
    yield gauges("source_lag_records", text, labels, ((w, end - at) for w, at, end in places))
    outboxes: list[tuple[tuple[str], int]] = []
    for sink in catalog.of(Sink):
        assert isinstance(sink, Sink)
        outbox = published.tables.get(outbox_name(sink))
        if outbox is not None:
            outboxes.append(((label(sink),), len(outbox)))
    yield gauges("sink_outbox_rows", "Changes not yet out.", [_RELATION], outboxes)


def replica_families(database: Database) -> Families:
    """The role, how far this server is behind, and on the primary how far each standby is."""
    engine = database.engine
    roles = (("primary",), not engine.standby), (("standby",), engine.standby)
    yield gauges("role", "1 for the role this server has.", ["role"], roles)
    lag = engine.lag()
    if lag.epochs is not None:
        yield gauge("lag_epochs", "Epochs behind the end of the log; 0 on a primary.", lag.epochs)
    if lag.ms is not None:
        yield gauge("lag_seconds", "Since it was at the end of the log; 0 on a primary.", lag.ms / 1000)
    if engine.standby or database.cluster is None:
        return
    rows = [row for row in database.cluster.rows() if row[2] == "standby"]
    running = (((str(row[0]),), row[3] == "running") for row in rows)
    yield gauges("replica_running", "1 if it was heard of lately.", ["replica"], running)
    known = [(str(row[0]), *row[5:8]) for row in rows]
    epochs = [((name,), float(n)) for name, n, _, _ in known if isinstance(n, int | float)]
    records = [((name,), float(n)) for name, _, n, _ in known if isinstance(n, int | float)]
    seconds = [((name,), ms / 1000) for name, _, _, ms in known if isinstance(ms, int | float)]
    yield gauges("replica_lag_epochs", "Epochs a standby was behind.", ["replica"], epochs)
    yield gauges("replica_lag_records", "Records of the log it was behind.", ["replica"], records)
    yield gauges("replica_lag_seconds", "How long it was behind.", ["replica"], seconds)
