"""Materialized views at work: added to the dataflow, filled, and brought back after a failure."""

from __future__ import annotations

from collections.abc import Callable

from ..operators.dataflow import Dataflow
from ..operators.node import EpochContext
from ..operators.scan import Scan
from ..operators.zset import ZSet
from ..sql.entries import MaterializedView, Sink
from .plans import planned
from .sinks import add_sink
from .state import State


def add_view(
    state: State,
    view: MaterializedView,
    context: EpochContext,
    backfill: Callable[[Scan], ZSet] | None,
) -> None:
    """Puts a view to work. `backfill` gives its inputs' whole content; None if its state is there."""
    state.dataflow.add(view.id, planned(view, state.catalog, state.plans), backfill, context)


def rebuild_dataflow(state: State) -> None:
    """The dataflow of `state.catalog` anew, over state as it was committed.

    Used after an epoch that changed the dataflow was undone.
    """
    state.dataflow = Dataflow(state)
    context = EpochContext(state.storage.epoch, 0, errors=[])
    for view in state.catalog.of(MaterializedView):
        assert isinstance(view, MaterializedView)
        if view.id not in state.stalled:
            add_view(state, view, context, None)
    for sink in state.catalog.of(Sink):
        if isinstance(sink, Sink) and sink.id not in state.stalled:
            add_sink(state, sink, context, None)
