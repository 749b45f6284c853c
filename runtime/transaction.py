"""`Transaction`: what one client's transaction block sees and has done.

It reads one snapshot throughout. Its writes lie in overlays, its definitions in a catalogue of its own,
until COMMIT submits both as one work; ROLLBACK just forgets them. A materialized view that depends on
something the transaction changed is read as its query, so its own writes are seen through every view.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..operators.node import EpochContext
from ..planner.define import Definition
from ..planner.define_alter import reshaped_rows
from ..sql.catalog import Catalog
from ..sql.entries import MaterializedView, Table, View
from ..storage.errors import InvalidSavepoint
from .overlay import TableOverlay
from .published import Published
from .relations import ReadContext
from .state import WRITE_BYTES_MAX
from .works import CommitWork
from .writes import RowChanges, bytes_of, refuse_beyond


@dataclass(slots=True)
class _Savepoint:
    name: str
    catalog: Catalog
    definitions: int
    overlays: dict[str, TableOverlay]


@dataclass(slots=True)
class Transaction:
    """An open transaction, explicit or implicit."""

    published: Published
    read_only: bool = False
    explicit: bool = True
    bytes_max: int = WRITE_BYTES_MAX
    """What its overlays, those of savepoints included, may take."""
    catalog: Catalog = field(init=False)
    overlays: dict[str, TableOverlay] = field(default_factory=dict)
    definitions: list[Definition] = field(default_factory=list)
    _savepoints: list[_Savepoint] = field(default_factory=list)
    _row_ids: int = 0
    _reading: tuple[object, Catalog] | None = None

    def __post_init__(self) -> None:
        self.catalog = self.published.catalog

    @property
    def dirty(self) -> bool:
        return bool(self.overlays or self.definitions)

    def overlay(self, table: Table) -> TableOverlay:
        """The overlay of a table to write to, begun when the table is first written.

        What was read before does not see what is written from now on (`TableOverlay.shared`).
        """
        found = self.overlays.get(table.id)
        if found is None or found.shared:
            found = found.copy() if found else TableOverlay(table, self.published.tables.get(table.id))
            self.overlays[table.id] = found
        return found

    @property
    def nbytes(self) -> int:
        """Bytes of all that it wrote."""
        saved = (overlay for point in self._savepoints for overlay in point.overlays.values())
        return sum(overlay.nbytes for overlay in (*self.overlays.values(), *saved))

    def write(self, changes: RowChanges) -> None:
        """Takes over what a statement does. Raises OutOfMemory when that is too much."""
        coming = bytes_of(changes.removed) + bytes_of(changes.inserted)
        refuse_beyond(self.nbytes + coming, self.bytes_max)
        self.overlay(changes.table).apply(changes)

    def define(self, definition: Definition, context: EpochContext) -> None:
        """Takes over what a definition changes. Raises NotNullViolation for a column that cannot be added."""
        reshaped = [self._reshaped(old, new, context, definition.catalog) for old, new in definition.reshaped]
        self.catalog = definition.catalog
        self.definitions.append(definition)
        for overlay in reshaped:
            self.overlays[overlay.table.id] = overlay
        for entry in definition.dropped:
            self.overlays.pop(entry.id, None)
        for entry in definition.created:
            if isinstance(entry, Table):
                self.overlays[entry.id] = TableOverlay(entry, None)

    def _reshaped(self, old: Table, new: Table, context: EpochContext, catalog: Catalog) -> TableOverlay:
        """A table whose columns change: its rows, and the transaction's own, in the new shape."""
        before = self.overlays.get(old.id) or TableOverlay(old, self.published.tables.get(old.id))
        return before.reshaped(new, lambda rows: reshaped_rows(old, new, rows, context, catalog))

    def draw_row_ids(self, count: int) -> int:
        """Provisional ids are negative; the engine draws the real ones at commit."""
        self._row_ids -= count
        return self._row_ids

    def reading_catalog(self) -> Catalog:
        """The catalogue to plan queries with: changed views stand as plain views."""
        state = (self.catalog.version, len(self.overlays))
        if not self.dirty:
            return self.catalog
        if self._reading is None or self._reading[0] != state:
            changed = [int(name[1:]) for name in self.overlays]
            created = {e.oid for d in self.definitions for e in d.created if isinstance(e, MaterializedView)}
            affected = {e.oid for e in self.catalog.dependents_closure(changed)} | created
            plain = [
                _as_plain_view(entry)
                for entry in self.catalog.of(MaterializedView)
                if entry.oid in affected and isinstance(entry, MaterializedView)
            ]
            self._reading = (state, self.catalog.with_all(plain))
        return self._reading[1]

    def savepoint(self, name: str) -> None:
        """Remembers all that was written. Raises OutOfMemory."""
        refuse_beyond(self.nbytes + sum(o.nbytes for o in self.overlays.values()), self.bytes_max)
        overlays = {table: overlay.copy() for table, overlay in self.overlays.items()}
        self._savepoints.append(_Savepoint(name, self.catalog, len(self.definitions), overlays))

    @property
    def depth(self) -> int:
        """Savepoints there are."""
        return len(self._savepoints)

    def release(self, name: str) -> int:
        """Forgets the savepoint and those after it; how many are left. Raises InvalidSavepoint."""
        position = self._find(name)
        del self._savepoints[position:]
        return position

    def rollback_to(self, name: str) -> int:
        """Back to the savepoint, which stays; how many there are before it. Raises InvalidSavepoint."""
        position = self._find(name)
        del self._savepoints[position + 1 :]
        saved = self._savepoints[position]
        self.catalog = saved.catalog
        del self.definitions[saved.definitions :]
        self.overlays = {table: overlay.copy() for table, overlay in saved.overlays.items()}
        self._reading = None
        return position

    def _find(self, name: str) -> int:
        for i in range(len(self._savepoints) - 1, -1, -1):
            if self._savepoints[i].name == name:
                return i
        raise InvalidSavepoint(f'savepoint "{name}" does not exist')

    def commit_work(self, read: ReadContext) -> CommitWork | None:
        """What the engine must do to make it durable; None when there is nothing."""
        if not self.dirty:
            return None
        overlays: Sequence[TableOverlay] = list(self.overlays.values())
        return CommitWork(
            solo=bool(self.definitions),
            overlays=overlays,
            definitions=tuple(self.definitions),
            catalog_version=self.published.catalog.version,
            read=read,
        )


def _as_plain_view(view: MaterializedView) -> View:
    return View(
        view.oid,
        view.schema_name,
        view.name,
        definition=view.definition,
        dependencies=view.dependencies,
        schema=view.schema,
        query=view.query,
        search_path=view.search_path,
        literals=view.literals,
    )
