"""Metrics of what the server does: epochs, commits, statements, checkpoints, memory, log."""

from __future__ import annotations

import time

from ..runtime.engine import Engine
from ..storage.budget import resident_bytes
from ..storage.watch import Watched
from .database import Database
from .listener import Listener
from .metrics_families import Families, counter, counters, gauge, gauges, histogram, histograms
from .minder import Minder
from .traffic import Traffic


def epoch_families(database: Database, watched: Watched) -> Families:
    """Epochs: on a standby those of the primary, as far as they are here."""
    engine = database.engine
    published = engine.published
    yield gauge("epoch", "Number of the last committed epoch that can be read.", published.epoch)
    yield gauge("commit_timestamp_seconds", "When it was committed.", published.time_us / 1e6)
    yield histogram(
        "commit_duration_seconds",
        "Writing an epoch to the changelog and making it durable (fsync, or Kafka's commit).",
        watched.commits.log,
    )
    if isinstance(engine, Engine):
        measures = engine.measures
        yield histogram("epoch_duration_seconds", "Epochs, from taking works to visibility.", measures.time)
        total = sum(list(measures.time.counts))
        yield counter("epochs_committed_total", "Epochs this process has committed as primary.", total)
        yield counter("epochs_failed_total", "Epochs undone because of an error.", measures.failed)
        yield gauge("works_queued", "Writes and definitions that wait for an epoch.", engine.queued)


def client_families(database: Database, listener: Listener) -> Families:
    states: dict[str, int] = dict.fromkeys(("active", "idle", "idle in transaction"), 0)
    for client in list(database.clients.values()):
        states[client.state.removesuffix(" (aborted)")] += 1
    yield gauges("connections", "Clients logged in.", ["state"], (((s,), n) for s, n in states.items()))
    yield gauge("connections_max", "Connections beyond this are refused.", listener.connections_max)
    yield from _traffic_families(listener.traffic)


def rest_families(minder: Minder) -> Families:
    """Sessions that hold rows and do nothing, and those that were ended for what they did not do."""
    since = [since for _, since in minder.holders()]
    longest = time.monotonic() - min(since) if since else 0.0
    help_ = "Sessions at rest that hold rows: unread results, old snapshots, cursors."
    yield gauge("holding_sessions", help_, len(since))
    yield gauge("holding_longest_seconds", "How long the first of them has rested.", longest)
    yield counters(
        "sessions_ended_total", "Sessions ended by a timeout or for memory, by SQLSTATE.", ["sqlstate"],
        (((code,), count) for code, count in dict(minder.ended).items()),
    )  # fmt: skip


def _traffic_families(traffic: Traffic) -> Families:
    statements = dict(traffic.statements)
    yield counters(
        "statements_total", "Statements completed, by the first word of their command tag.", ["kind"],
        (((kind,), sum(list(timing.counts))) for kind, timing in statements.items()),
    )  # fmt: skip
    yield histograms(
        "statement_duration_seconds",
        "Statements completed, from execution to the last row given to the connection.",
        "kind",
        statements,
    )
    yield counters(
        "errors_total", "Errors answered to clients, by class of SQLSTATE.", ["sqlstate_class"],
        (((code,), count) for code, count in dict(traffic.errors).items()),
    )  # fmt: skip
    yield counter("received_bytes_total", "Bytes from clients.", traffic.received_bytes)
    yield counter("sent_bytes_total", "Bytes to clients.", traffic.sent_bytes)


def memory_families(watched: Watched) -> Families:
    tables = sum(table.nbytes for table in watched.tables.values())
    yield gauge("memory_resident_bytes", "Memory of the whole process.", resident_bytes())
    yield gauge("memory_tables_bytes", "Memory of rows and indexes.", tables)
    if watched.memory is not None:
        yield gauge("memory_budget_bytes", "What the process may take.", watched.memory.bytes_max)
        yield gauge("memory_tables_max_bytes", "What tables may take of it.", watched.memory.share)
    evictions = watched.evictions
    yield counter("evictions_total", "Times a table let go of rows.", evictions.tables)
    yield counter("evicted_rows_total", "Rows that were let go, to the store.", evictions.rows)
    yield counter("store_fetched_rows_total", "Rows read from the store by need.", watched.fetched)
    yield gauges(
        "store_bytes", "The store (RocksDB): its files, and what it takes of memory.", ["part"],
        (((part,), size) for part, size in watched.store.items()),
    )  # fmt: skip


def log_families(watched: Watched) -> Families:
    checkpoints = watched.checkpoints
    yield histogram("checkpoint_duration_seconds", "Checkpoints that succeeded.", checkpoints.time)
    outcomes = (("succeeded",), sum(list(checkpoints.time.counts))), (("failed",), checkpoints.failures)
    yield counters("checkpoints_total", "Checkpoints that ended.", ["outcome"], outcomes)
    age = watched.checkpoint_age_s
    yield gauge("checkpoint_age_seconds", "Since the last that succeeded, or the start.", age)
    yield counter("log_written_bytes_total", "Changelog written.", watched.commits.log_bytes)
    if watched.log is not None:
        base, segments, count = watched.log
        sizes = (("base",), base), (("segments",), segments)
        yield gauges("log_bytes", "Files of the changelog: the base, segments behind it.", ["part"], sizes)
        yield gauge("log_segments", "Segments behind the base.", count)
