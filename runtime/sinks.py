"""Sinks within epochs: what their dataflow puts out goes to the outbox, or into a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..operators.consolidate import consolidate_alike
from ..operators.node import EpochContext
from ..operators.scan import Scan
from ..operators.zset import ZSet
from ..planner.define_sink import sink_plan
from ..sql.entries import Sink, Table
from .sink import append_to_outbox, outbox_name, outbox_spec, trim_outbox
from .source import SourceBatch
from .state import State

if TYPE_CHECKING:
    from .epoch import Epoch

ROUNDS_MAX = 100
"""Steps of one epoch: a change goes through so many tables fed by sinks at most."""


def add_sink(
    state: State, sink: Sink, context: EpochContext, backfill: Callable[[Scan], ZSet] | None
) -> ZSet:
    """Puts a sink to work; its rows so far, if `backfill` gives its inputs' content."""
    if not sink.into_oid:
        name = outbox_name(sink)
        state.tables[name] = state.storage.table(name, outbox_spec(sink))
    return state.dataflow.add(sink.id, sink_plan(sink, state.catalog), backfill, context)


def drop_sink(state: State, sink: Sink) -> list[str]:
    """Takes a sink out; the tables nobody needs any longer."""
    dropped = state.dataflow.remove(sink.id) if sink.id in state.dataflow.views else []
    if state.tables.pop(outbox_name(sink), None) is not None:
        dropped.append(outbox_name(sink))
    state.sent.pop(sink.id, None)
    return dropped


def deliver_to_sink(epoch: Epoch, sink: Sink, delta: ZSet) -> None:
    """What an epoch changes in a sink's rows."""
    delta = consolidate_alike(delta)
    if not len(delta):
        return
    if sink.into_oid:
        _write_into(epoch, sink, delta)
        return
    name = outbox_name(sink)
    outbox = epoch.state.tables[name]
    _ = trim_outbox(outbox, epoch.state.sent.get(sink.id, 0))
    taken = epoch.outbox_rows.get(name, 0)
    epoch.outbox_rows[name] = append_to_outbox(outbox, epoch.number, delta, taken)
    epoch.touched.add(name)


def trim_sink(epoch: Epoch, sink: Sink) -> None:
    """An epoch of its own for the deletion of rows that are out."""
    name = outbox_name(sink)
    outbox = epoch.state.tables.get(name)
    if outbox is not None and trim_outbox(outbox, epoch.state.sent.get(sink.id, 0)):
        epoch.touched.add(name)
        epoch.changed = True


def _write_into(epoch: Epoch, sink: Sink, delta: ZSet) -> None:
    """Rows that come replace those of their key, rows that go delete them; removals first."""
    table = epoch.catalog.by_oid(sink.into_oid)
    assert isinstance(table, Table)
    if table.has_row_id:
        delta = delta.filter(delta.weights > 0)
    order = np.argsort(delta.weights >= 0, kind="stable")
    counts = np.maximum(np.abs(delta.weights[order]), 1) if table.has_row_id else 1
    delta = delta.take(np.repeat(order, counts))
    if len(delta):
        epoch.upsert(table, SourceBatch(list(delta.columns), b"", delta.weights < 0))
