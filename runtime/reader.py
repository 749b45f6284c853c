"""Rows of a relation for a query: from a snapshot, from a source read again, or from the system.

A plan asks for the content of each of its `Scan`s; `SnapshotReader` answers from one `Published`, so
that all relations of a query are of one moment (I2). A transaction's own writes lie over it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ..operators.node import Node, walk
from ..operators.scan import Scan
from ..operators.zset import ZSet
from ..planner.key_lookup import KeyLookup
from ..sql.catalog import Catalog
from ..storage.snapshot import TableSnapshot
from .overlay import TableOverlay
from .published import Published, refuse_stalled
from .relations import ReadContext, key_values, relation_rows, rows_found
from .source import Connectors


@dataclass(slots=True)
class SnapshotReader:
    """Contents as of `published`, under a transaction's overlays (by relation id)."""

    published: Published
    connectors: Connectors
    read: ReadContext
    catalog: Catalog
    overlays: Mapping[str, TableOverlay] = field(default_factory=dict)

    def __call__(self, scan: Scan) -> ZSet:
        overlay = self.overlays.get(scan.relation)
        if overlay is not None:
            return self._from_overlay(scan, overlay)
        table = self._table(scan)
        if table is None:
            return relation_rows(scan, self.catalog, self.published.offsets, self.connectors, self.read)
        if isinstance(scan, KeyLookup):
            positions = rows_found(table.lookup(key_values(scan, self.read)))
            columns = table.take(positions, range(len(scan.schema_)))
            return ZSet(scan.schema_, tuple(columns), table.weights(positions))
        return scan.spread(*table.scan(scan.read))

    def parts(self, scan: Scan) -> Iterator[ZSet]:
        """The same in parts (`flow.PartedInputs`)."""
        overlay = self.overlays.get(scan.relation)
        table = None if isinstance(scan, KeyLookup) else self._table(scan)
        if overlay is not None and not isinstance(scan, KeyLookup):
            yield from overlay.parts()
        elif overlay is None and table is not None:
            for part in table.parts(scan.read):
                yield scan.spread(*part)
        else:
            yield self(scan)

    def of_plan(self, node: Node) -> SnapshotReader:
        """The same for this plan only: it holds no snapshot of a relation that the plan does not read."""
        read = {leaf.relation for leaf in walk(node) if isinstance(leaf, Scan)}
        tables = {name: table for name, table in self.published.tables.items() if name in read}
        overlays = {name: overlay for name, overlay in self.overlays.items() if name in read}
        return replace(self, published=replace(self.published, tables=tables), overlays=overlays)

    def last(self) -> None:
        """Rows will be asked for when later statements of the transaction may have written more."""
        for overlay in self.overlays.values():
            overlay.shared = True

    def _table(self, scan: Scan) -> TableSnapshot | None:
        """The snapshot of a stored relation. Raises ObjectNotReady."""
        if scan.relation in self.published.stalled and scan.relation not in self.overlays:
            refuse_stalled(self.catalog, self.published.stalled, scan.relation)
        return self.published.tables.get(scan.relation)

    def _from_overlay(self, scan: Scan, overlay: TableOverlay) -> ZSet:
        if isinstance(scan, KeyLookup):
            positions = rows_found(overlay.lookup(key_values(scan, self.read)))
            return ZSet.inserts(scan.schema_, overlay.take(positions))
        return overlay.content()
