"""The state of the last committed epoch, as readers hold it.

`Published` is immutable and swapped whole: whoever holds one sees every table and view at the same
moment (I2), for as long as it likes, and waits for nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..sql.catalog import Catalog
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
