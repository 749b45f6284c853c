"""What clients submit to the engine: each `Work` runs once, in the engine's thread, within an epoch.

A work that raises SqlError has changed nothing: it is answered with that error and the epoch goes
on. One that returns is answered only when the epoch is durable (I3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from ..operators.node import walk
from ..operators.scan import Scan
from ..operators.zset import ZSet
from ..planner.define import DefineContext, Definition, define
from ..planner.dml import TableWrite, WriteKind
from ..planner.optimize import optimize
from ..sql import statements as st
from ..sql.coerce import DEFAULT_SETTINGS
from ..sql.entries import MaterializedView, Table
from ..storage.errors import SerializationFailure, SqlError, UndefinedTable, UniqueViolation
from ..storage.textform import TextSettings
from .epoch import Epoch, HalfWritten
from .job import Job
from .jobs import needs_job
from .overlay import TableOverlay, same_rows
from .relations import ReadContext, check_connector, connector_columns
from .state import StateInputs
from .writes import Columns, RowChanges, evaluate_write, written_rows


@dataclass(slots=True)
class Work:
    """Base of all works. `solo`: runs as the first of its epoch, because it must see all before it."""

    solo: bool = False
    future: Future[Any] = field(default_factory=Future)

    def run(self, epoch: Epoch) -> Any:
        raise NotImplementedError

    def written(self) -> Iterable[int]:
        """OIDs of the tables to which it writes rows."""
        return ()


@dataclass(slots=True)
class WriteOutcome:
    affected: int
    returning: Columns | None


@dataclass(slots=True)
class WriteWork(Work):
    """One INSERT, UPDATE or DELETE outside a transaction block, on the latest rows."""

    write: TableWrite = field(kw_only=True)
    read: ReadContext = field(kw_only=True)

    def written(self) -> Iterable[int]:
        return (self.write.table.oid,)

    def run(self, epoch: Epoch) -> WriteOutcome:
        table = current_table(epoch, self.write.table)
        read = self.read
        state = epoch.state
        inputs = StateInputs(state, read)
        rows = written_rows(self.write.node, inputs, read.context, state.write_bytes_max)
        changes = evaluate_write(
            self.write,
            rows,
            epoch.state.tables[table.id],
            read.context,
            lambda count: epoch.state.draw_row_ids(table, count),
        )
        epoch.write(changes)
        return WriteOutcome(changes.affected, changes.returning)


def reads_views(write: TableWrite, epoch_tables: Callable[[str], bool]) -> bool:
    """Whether the rows to write depend on a relation that only a finished epoch brings up to date."""
    return any(isinstance(node, Scan) and not epoch_tables(node.relation) for node in walk(write.node))


def current_table(epoch: Epoch, table: Table) -> Table:
    """The table as it is now. Raises when it was dropped or changed since the statement was planned."""
    found = epoch.catalog.by_oid(table.oid)
    if not isinstance(found, Table):
        raise UndefinedTable(f'relation "{table.name}" does not exist')
    if found is not table and found.schema != table.schema:
        raise SerializationFailure(f'the columns of table "{table.name}" have just changed: try again')
    return found


@dataclass(slots=True)
class CopyWork(Work):
    """The rows of a COPY FROM, as one INSERT."""

    table: Table = field(kw_only=True)
    rows: ZSet = field(kw_only=True)
    read: ReadContext = field(kw_only=True)

    def written(self) -> Iterable[int]:
        return (self.table.oid,)

    def run(self, epoch: Epoch) -> WriteOutcome:
        write = TableWrite(current_table(epoch, self.table), WriteKind.INSERT, ValuesOf(self.rows))
        stored = epoch.state.tables[self.table.id]
        changes = evaluate_write(
            write,
            self.rows,
            stored,
            self.read.context,
            lambda count: epoch.state.draw_row_ids(self.table, count),
        )
        epoch.write(changes)
        return WriteOutcome(changes.affected, None)


class ValuesOf(Scan):
    """A node standing for rows that are there already."""

    def __init__(self, rows: ZSet) -> None:
        super().__init__("", rows.schema)


@dataclass(slots=True)
class TruncateWork(Work):
    """TRUNCATE of tables."""

    tables: Sequence[Table] = field(kw_only=True)

    def written(self) -> Iterable[int]:
        return [table.oid for table in self.tables]

    def run(self, epoch: Epoch) -> None:
        for table in self.tables:
            rows = epoch.state.tables[current_table(epoch, table).id].scan()[0]
            epoch.write(RowChanges(table, rows, [c.slice(0, 0) for c in rows], len(rows[0])))


@dataclass(slots=True)
class DefineWork(Work):
    """One CREATE, ALTER or DROP outside a transaction block."""

    solo: bool = True
    statement: st.Statement = field(kw_only=True)
    search_path: tuple[str, ...] = field(kw_only=True)
    read: ReadContext = field(kw_only=True)
    settings: TextSettings = DEFAULT_SETTINGS
    """By which the statement's dates and times are read."""
    background: bool = False
    """A view over much data is filled after the answer."""

    def run(self, epoch: Epoch) -> tuple[Definition, int] | Job:
        if epoch.jobs is not None and epoch.jobs.drop(epoch, self.statement, self.search_path):
            return Definition(epoch.catalog, "DROP MATERIALIZED VIEW"), 0
        connectors = epoch.state.connectors
        context = DefineContext(
            epoch.catalog,
            self.search_path,
            lambda options: connector_columns(options, connectors),
            lambda entry: check_connector(entry, connectors),
            self.settings,
        )
        definition = define(self.statement, context)
        if definition.catalog is epoch.catalog and not definition.reset:
            return definition, 0
        if epoch.jobs is not None and needs_job(epoch, definition):
            return epoch.jobs.begin(epoch, self, definition)
        epoch.context.cancelled = self.read.context.cancelled
        epoch.define(definition)
        return definition, fill_table(epoch, definition, self.read)


def fill_table(epoch: Epoch, definition: Definition, read: ReadContext) -> int:
    """CREATE TABLE AS: writes the query's rows into the new table; their number."""
    if definition.rows is None:
        return 0
    table, query = definition.rows
    rows = written_rows(
        optimize(query.node, epoch.catalog),
        StateInputs(epoch.state, read),
        read.context,
        epoch.state.write_bytes_max,
    )
    hidden = pa.nulls(len(rows), pa.int64())
    filled = ZSet(table.schema, (*rows.columns, hidden), rows.weights)
    write = TableWrite(table, WriteKind.INSERT, ValuesOf(filled))
    changes = evaluate_write(
        write,
        filled,
        epoch.state.tables[table.id],
        read.context,
        lambda count: epoch.state.draw_row_ids(table, count),
    )
    epoch.write(changes)
    return changes.affected


@dataclass(slots=True)
class CommitWork(Work):
    """A transaction block's writes and definitions, all at once.

    First committer wins: a row that another transaction changed since this one's snapshot is 40001;
    a key that another one inserted is 23505, or 40001 after ON CONFLICT, which never fails for a key that is
    there: tried again it will find it. All is checked before anything is applied.
    """

    overlays: Sequence[TableOverlay] = field(kw_only=True)
    definitions: Sequence[Definition] = field(kw_only=True)
    catalog_version: int = field(kw_only=True)
    """Version of the catalogue that the definitions, if any, were made on."""
    read: ReadContext = field(kw_only=True)

    def written(self) -> Iterable[int]:
        return [overlay.table.oid for overlay in self.overlays]

    def run(self, epoch: Epoch) -> None:
        if self.definitions and epoch.catalog.version != self.catalog_version:
            raise SerializationFailure("the catalogue was changed by another transaction: try again")
        gone = {e.oid for d in self.definitions for e in d.dropped}
        made = {e.oid for d in self.definitions for e in d.created}
        made |= {table.oid for d in self.definitions for _, table in d.reshaped}
        changes = [
            self._changes(epoch, overlay)
            for overlay in self.overlays
            if overlay.table.oid not in gone and overlay.table.oid not in made
        ]
        for number, change in enumerate(changes):
            try:
                epoch.write(change)
            except SqlError as error:
                if number or self.definitions:
                    # Of a transaction all is there or nothing.
                    raise HalfWritten(error) from error
                raise
        self._define(epoch, made - gone)

    def _define(self, epoch: Epoch, made: set[int]) -> None:
        """Tables first, then the rows of those made or reshaped here, then the views over them."""
        if not self.definitions:
            return
        epoch.define(merged(self.definitions, views=False))
        for overlay in self.overlays:
            if overlay.table.oid in made:
                epoch.write(self._changes(epoch, overlay))
        views = merged(self.definitions, views=True)
        if views.created or views.dropped:
            epoch.define(views)

    def _changes(self, epoch: Epoch, overlay: TableOverlay) -> RowChanges:
        table = current_table(epoch, overlay.table)
        stored = epoch.state.tables[table.id]
        keys, before, after = overlay.touched()
        found = stored.lookup(keys)
        now = stored.take(found[found >= 0])
        if not same_rows(table, before, now, overlay.added):
            self._conflict(overlay, before, now)
        after = _with_real_row_ids(table, after, epoch)
        self._check_unique(table, overlay, after, epoch)
        return RowChanges(table, now, after, len(after[0]))

    def _conflict(self, overlay: TableOverlay, before: Columns, now: Columns) -> None:
        table = overlay.table
        if len(before[0]) == 0 and len(now[0]) and not overlay.on_conflict:
            raise UniqueViolation(
                f'duplicate key value violates unique constraint "{table.primary_key_name}"',
                table=table.name,
                constraint=table.primary_key_name,
            )
        raise _concurrent(table)

    def _check_unique(self, table: Table, overlay: TableOverlay, after: Columns, epoch: Epoch) -> None:
        """UNIQUE again, against rows that other transactions committed meanwhile."""
        stored = epoch.state.tables[table.id]
        going = stored.lookup(overlay.touched()[0])
        for number, unique in enumerate(table.uniques):
            probe, found = stored.matches(number, [after[i] for i in unique.columns])
            if len(probe) and not set(found.tolist()) <= set(going.tolist()):
                if overlay.on_conflict:
                    raise _concurrent(table)
                raise UniqueViolation(
                    f'duplicate key value violates unique constraint "{unique.name}"',
                    table=table.name,
                    constraint=unique.name,
                )


def _concurrent(table: Table) -> SerializationFailure:
    return SerializationFailure("could not serialize access due to concurrent update", table=table.name)


def _with_real_row_ids(table: Table, rows: Columns, epoch: Epoch) -> Columns:
    """A transaction draws provisional (negative) row ids; rows get their own when it commits."""
    if not table.has_row_id or not len(rows[0]):
        return rows
    ids = rows[-1].to_numpy(zero_copy_only=False).copy()
    fresh = ids < 0
    count = int(fresh.sum())
    if count:
        first = epoch.state.draw_row_ids(table, count)
        ids[fresh] = range(first, first + count)
    return [*rows[:-1], pa.array(ids)]


def merged(definitions: Sequence[Definition], views: bool) -> Definition:
    """Several definitions as one: its materialized views, or everything else."""
    last = definitions[-1]
    created = [e for d in definitions for e in d.created]
    dropped = [e for d in definitions for e in d.dropped]
    born_here = {e.oid for e in created}
    alive = [e for e in {e.oid: e for e in created}.values() if last.catalog.by_oid(e.oid) is not None]
    current = [last.catalog.by_oid(e.oid) or e for e in alive]
    wanted = [e for e in current if isinstance(e, MaterializedView) == views]
    if views:
        return Definition(last.catalog, "", created=tuple(wanted))
    rebuilt = {e.oid for e in alive}
    gone = [e for e in dropped if e.oid not in born_here or e.oid in rebuilt]
    kept = [r for d in definitions for r in d.reshaped if r[0].oid not in born_here]
    reshaped = tuple(r for r in kept if last.catalog.by_oid(r[0].oid) is not None)
    reset = tuple(e for d in definitions for e in d.reset)
    return Definition(
        last.catalog, "", created=tuple(wanted), dropped=tuple(gone), reshaped=reshaped, reset=reset
    )


@dataclass(slots=True)
class BarrierWork(Work):
    """FLUSH: answered when everything submitted before it is committed."""

    def run(self, epoch: Epoch) -> None:
        return None


@dataclass(slots=True)
class CallWork(Work):
    """Anything else the engine's thread must do, e.g. a final checkpoint."""

    solo: bool = True
    function: Callable[[Epoch], Any] = field(kw_only=True)

    def run(self, epoch: Epoch) -> Any:
        return self.function(epoch)
