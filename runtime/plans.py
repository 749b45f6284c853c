"""The plans of views, kept as long as they are right: planning takes milliseconds a view."""

from __future__ import annotations

from ..operators.node import Node
from ..planner.build import view_plan
from ..sql.catalog import Catalog
from ..sql.entries import Entry, MaterializedView

Plans = dict[int, tuple[tuple[Entry, ...], Node]]
"""By a view's OID: its entry with all that it depends on, and the plan made from them."""


def planned(view: MaterializedView, catalog: Catalog, plans: Plans) -> Node:
    """The plan of a view, made anew when the view, or something it depends on, has changed.

    Raises the SqlError of a definition that no longer binds.
    """
    entries = _closure(catalog, view)
    known = plans.get(view.oid)
    if known is not None and known[0] == entries:
        return known[1]
    for oid in [oid for oid in plans if catalog.by_oid(oid) is None]:
        del plans[oid]
    plan = view_plan(view, catalog)
    plans[view.oid] = (entries, plan)
    return plan


def _closure(catalog: Catalog, view: MaterializedView) -> tuple[Entry, ...]:
    """The view and everything it depends on, by OID."""
    found: dict[int, Entry] = {}
    waiting = [view.oid]
    while waiting:
        oid = waiting.pop()
        entry = catalog.by_oid(oid)
        if entry is not None and oid not in found:
            found[oid] = entry
            waiting.extend(entry.dependencies)
    return tuple(found[oid] for oid in sorted(found))
