"""Views that fail as a whole: they leave the dataflow with those that read them, others go on (I9, I10)."""

from __future__ import annotations

import logging

from ..operators.dataflow import ViewFailure
from .source import log_stall
from .state import State

log = logging.getLogger("millpond.engine")


def stall_views(state: State, failure: ViewFailure) -> bool:
    """Takes failing views, and the views that read them, out of the dataflow; whether there were any.

    They say why they are behind. Their rows go, so that none is found after a restart.
    """
    known = [entry for name in failure.views if (entry := state.catalog.by_id(name)) is not None]
    names = ", ".join(sorted(entry.name for entry in known))
    behind = f'it reads "{names}", which is stalled: {failure.cause.message}'
    above = state.catalog.dependents_closure([entry.oid for entry in known])
    for entry, reason in [*((e, behind) for e in above), *((e, failure.cause.message) for e in known)]:
        if entry.id in state.dataflow.views:
            log_stall(log, "view", entry.name, "", reason)
            state.stalled[entry.id] = reason
            state.abandoned.extend(state.dataflow.remove(entry.id))
            state.tables.pop(entry.id, None)
    return bool(known)
