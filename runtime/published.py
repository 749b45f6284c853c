"""The state of the last committed epoch, as readers hold it.

`Published` is immutable and swapped whole: whoever holds one sees every table and view at the same
moment (I2), for as long as it likes, and waits for nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..sql.catalog import Catalog
from ..sql.entries import Entry, MaterializedView
from ..storage.errors import ObjectNotReady
from ..storage.snapshot import TableSnapshot


@dataclass(frozen=True, slots=True)
class Published:
    """Catalogue, contents and source offsets of one epoch.

    `tables` is by relation id (`CatalogEntry.id`), plus the stores of the system itself. `stalled`
    says, by relation id, why a view is not kept up to date. `time_us` is the commit's time since 1970.
    """

    epoch: int
    time_us: int
    catalog: Catalog
    tables: Mapping[str, TableSnapshot]
    offsets: Mapping[str, bytes]
    stalled: Mapping[str, str]


FILLING = "it is still being filled"
"""A reason in `Published.stalled`: the view is in the catalogue, but its rows are not complete."""


def not_ready(view: Entry, reason: str) -> ObjectNotReady:
    """The error of reading a view that is stalled, or not complete yet."""
    if reason == FILLING:
        return ObjectNotReady(
            f'materialized view "{view.name}" is still being filled',
            hint="millpond.jobs says how far it is.",
        )
    return ObjectNotReady(
        f'"{view.name}" is stalled: {reason}', hint="DROP it and create it again when the cause is gone."
    )


def refuse_stalled(catalog: Catalog, stalled: Mapping[str, str], relation: str) -> None:
    """An old answer would be a wrong one (I10). Raises ObjectNotReady; a stalled source can be read."""
    entry = catalog.by_id(relation)
    if isinstance(entry, MaterializedView) and relation in stalled:
        raise not_ready(entry, stalled[relation])
