"""One epoch: writes and source records in, the dataflow stepped once, everything committed at once.

    epoch = Epoch(state, time_us)      storage opens epoch n + 1
    epoch.write(changes)               tables change, their deltas are remembered
    epoch.deliver(entry, batch)        a source's records and its new offset
    epoch.define(definition)           relations come and go
    epoch.commit()                     dataflow.step → views; changelog, one fsync; then visible

Until `commit` returns nothing of it is visible or durable; `abandon` undoes all of it (I2, I6).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple

import numpy as np
import pyarrow as pa

from ..operators.node import EpochContext, RowError
from ..operators.scan import Scan
from ..operators.zset import ZSet, concat
from ..planner.define import Definition
from ..planner.define_alter import reshaped_rows
from ..sql.catalog import Catalog
from ..sql.catalog_rows import to_rows
from ..sql.entries import MaterializedView, Sink, Source, Table
from ..storage.errors import InvalidSchemaName, ProgramLimitExceeded, SqlError
from ..storage.index import Entries
from ..storage.table import StateTable
from ..storage.textform import TextSettings, format_text
from .fill import Fill, progress_name
from .job import Job, delete_job, feeds_sink, refuse_pending, reserved, too_much
from .jobs import Jobs
from .relations import ReadContext, has_connector, open_reader, reset_offset
from .sinks import ROUNDS_MAX, add_sink, deliver_to_sink, drop_sink
from .source import SourceBatch, SourceError
from .state import CATALOG, ERRORS, SEQUENCES, State, table_spec
from .upsert import upsert_records
from .views import add_view, rebuild_dataflow
from .writes import RowChanges

FORGET = b""
"""As an offset: the source is gone."""


class HalfWritten(Exception):
    """A work failed when it had changed something already: the epoch has to be undone. `cause` says why."""

    def __init__(self, cause: SqlError) -> None:
        super().__init__(cause.message)
        self.cause = cause


class Epoch:
    """The open epoch of a `State`. Ends with `commit` or `abandon`."""

    def __init__(self, state: State, time_us: int, jobs: Jobs | None = None) -> None:
        """`jobs`: where a view over much data is left to; without, it is filled here and now."""
        self.state = state
        self.jobs = jobs
        self.number = state.storage.begin()
        self.errors: list[RowError] = []
        self.context = EpochContext(self.number, time_us, errors=self.errors)
        self.catalog: Catalog = state.catalog
        self.changed = False
        self._catalog_before = state.catalog
        self._inputs: defaultdict[str, list[ZSet]] = defaultdict(list)
        self.changes: defaultdict[str, list[ZSet]] = defaultdict(list)
        """What changed in each relation so far, for views being filled."""
        self._offsets: dict[str, bytes] = {}
        self.offsets_before = dict(state.offsets)
        self.outbox_rows: dict[str, int] = {}
        """Rows this epoch has put into each outbox."""
        self.definitions: list[Definition] = []
        self.filling: list[Job] = []
        """Jobs of views that this epoch puts into the catalogue without rows."""
        self.delivered: dict[str, int] = {}
        """Rows that sources delivered, by relation."""
        self.touched: set[str] = set()
        self.forgotten: set[int] = set()
        """OIDs of views of which nothing is left when the epoch ends, by `forget_view`."""
        self._relations_before: tuple[dict[str, StateTable], dict[str, str]] | None = None
        """`state.tables` and `state.stalled` before the first definition."""
        self._dropped_abandoned = False
        self._moved: dict[int, int] = {}
        """Counters of sequences that are stored with this epoch."""
        self._handed_over = False
        """Whether the storage has ended the epoch itself: it rolls back a commit that fails."""

    def read_context(self) -> ReadContext:
        return ReadContext(EpochContext(self.number, self.context.now_us))

    def write(self, changes: RowChanges) -> None:
        """Applies what a statement does to one table."""
        removed, inserted = len(changes.removed[0]), len(changes.inserted[0])
        if not removed and not inserted:
            return
        columns = changes.inserted
        if removed:
            columns = [
                pa.concat_arrays([a, b]) for a, b in zip(changes.removed, changes.inserted, strict=True)
            ]
        weights = np.ones(removed + inserted, np.int64)
        weights[:removed] = -1
        self.state.tables[changes.table.id].apply(columns, weights)
        self._follow(changes.table, columns, weights)

    def insert(self, table: Table, columns: Sequence[pa.Array], entries: Entries) -> None:
        """Applies rows, at least one, whose keys are not there; `entries` are those of `StateTable.enter`."""
        self.state.tables[table.id].upsert_entered(columns, None, entries)
        self._follow(table, columns, np.ones(len(entries), np.int64))

    def deliver(self, entry: Source | Table, batch: SourceBatch) -> None:
        """Takes a source's next records; its offset commits with them."""
        self.move(entry.id, batch.offset)
        self.delivered[entry.id] = len(batch)
        self.changed = True
        self._record_source_errors(entry, batch.errors)
        if len(batch) and isinstance(entry, Source) and not entry.stored:
            self._inputs[entry.id].append(batch.delta(entry.schema))
        elif len(batch):
            self.upsert(entry, batch)

    def move(self, name: str, offset: bytes) -> None:
        """Commits with the epoch how far something has come; see `State.offsets`."""
        self.state.offsets[name] = self._offsets[name] = offset

    def forget_offset(self, name: str) -> None:
        self._offsets[name] = FORGET
        del self.state.offsets[name]

    def upsert(self, table: Table | Source, batch: SourceBatch) -> None:
        """Records, at least one, into a table; the views follow with the next step."""
        columns, weights = upsert_records(table, batch, self.state)
        if len(weights):
            self._follow(table, columns, weights)

    def _follow(self, table: Table | Source, columns: Sequence[pa.Array], weights: np.ndarray) -> None:
        """Notes what was done to a table."""
        self._inputs[table.id].append(ZSet(table.schema, tuple(columns), weights))
        self.touched.add(table.id)
        self.changed = True

    def define(self, definition: Definition) -> None:
        """Makes a definition's new relations and forgets its dropped ones.

        Raises SqlError when a new view cannot be filled; the epoch must then be abandoned.
        """
        refuse_pending(self.state, definition)
        self.changed = True
        self._remember_relations()
        self.drop_abandoned()
        self.step()
        for entry in definition.dropped:
            self._drop(entry)
        self.definitions.append(definition)
        self.catalog = self.state.catalog = definition.catalog
        for source in definition.reset:
            self._reset(source)
        for old, new in definition.reshaped:
            self._reshape(old, new)
        for entry in definition.created:
            if has_connector(entry):
                self._try_reader(entry)
            if isinstance(entry, Table) or (isinstance(entry, Source) and entry.stored):
                self.state.tables[entry.id] = self.state.storage.table(entry.id, table_spec(entry))
                self.touched.add(entry.id)
            elif isinstance(entry, MaterializedView):
                self._add_view(entry, definition)
            elif isinstance(entry, Sink):
                deliver_to_sink(self, entry, add_sink(self.state, entry, self.context, self._backfill))

    def _add_view(self, view: MaterializedView, definition: Definition) -> None:
        """Fills a view of the catalogue, or leaves that to a job."""
        self.touched.add(view.id)
        sinks = feeds_sink(self.catalog, view) or any(isinstance(entry, Sink) for entry in definition.created)
        if self.jobs is not None and not sinks and too_much(self.state, view, self.catalog):
            self.filling.append(self.jobs.refill(self, view))
        else:
            add_view(self.state, view, self.context, self._backfill)

    def reserve(self, definition: Definition) -> None:
        """Takes the OIDs of a definition that will be carried out later. Raises if its names are taken."""
        refuse_pending(self.state, definition)
        self.changed = True
        self.catalog = self.state.catalog = reserved(self.catalog, definition)

    def complete(self, job: Job, fill: Fill) -> None:
        """A view that was filled in earlier epochs, and in this one, can be read from the next one on.

        The fill's operators are taken over once the epoch is committed. Raises if the name is taken.
        """
        state, view = self.state, job.view
        self._remember_relations()
        self.drop_abandoned()
        if self.catalog.by_oid(view.oid) is None:
            self._enter(view, job.replaces)
        for name in state.dataflow.surplus(fill.dataflow):
            state.storage.drop(name)
        state.stalled.pop(view.id, None)
        state.tables[view.id] = fill.rows
        self.touched.add(view.id)

    def _enter(self, view: MaterializedView, replaces: Sequence[int]) -> None:
        """Puts a view in the catalogue, in the place of what it replaces."""
        going = [entry for oid in replaces if (entry := self.catalog.by_oid(oid)) is not None]
        for entry in going:
            self._drop(entry)
        catalog = self.catalog.without(*(entry.oid for entry in going))
        catalog.check_free("materialized view", view.schema_name, view.name)
        if catalog.schema(view.schema_name) is None:
            raise InvalidSchemaName(f'schema "{view.schema_name}" does not exist')
        self.catalog = self.state.catalog = catalog.with_(view)
        self.definitions.append(Definition(self.catalog, "", (view,), tuple(going)))

    def forget_view(self, number: int) -> None:
        """What is left of a view that was never completed: its row errors, its job."""
        self.changed = True
        self.forgotten.add(number)
        self.forget_errors(number)
        self.forget_job(number)

    def forget_job(self, number: int) -> None:
        """A job that is to begin anew or has ended."""
        delete_job(self.state, number)
        prefix = progress_name(number, "")
        for name in [name for name in self.state.offsets if name.startswith(prefix)]:
            self.forget_offset(name)

    def _remember_relations(self) -> None:
        if self._relations_before is None:
            self._relations_before = dict(self.state.tables), dict(self.state.stalled)

    def _try_reader(self, entry: object) -> None:
        """Opens the connector once, for its complaints about options and columns."""
        assert isinstance(entry, Source | Table)
        open_reader(entry, self.state.connectors).close()

    def _backfill(self, scan: Scan) -> ZSet:
        return self.state.content(scan, self.read_context())

    def _reset(self, entry: object) -> None:
        assert isinstance(entry, Source | Table)
        offset = self.state.offsets.get(entry.id)
        if offset is not None:
            again = reset_offset(entry, offset, self.state.connectors)
            self.move(entry.id, again)

    def _drop(self, entry: object) -> None:
        state = self.state
        if isinstance(entry, MaterializedView):
            if self.jobs is not None:
                self.jobs.forsake(self, entry)
            for name in self._tables_of(entry):
                state.storage.drop(name)
            self.forget_errors(entry.oid)
        elif isinstance(entry, Sink):
            for name in drop_sink(state, entry):
                state.storage.drop(name)
        elif isinstance(entry, Table) or (isinstance(entry, Source) and entry.stored):
            state.storage.drop(entry.id)
        if isinstance(entry, Table | Source) and entry.id in state.offsets:
            self.forget_offset(entry.id)
        if isinstance(entry, Table | MaterializedView | Source):
            state.tables.pop(entry.id, None)
            state.stalled.pop(entry.id, None)
            self.touched.add(entry.id)

    def _tables_of(self, view: MaterializedView) -> list[str]:
        """Takes a view out of the dataflow; its tables, which nobody needs any longer."""
        state = self.state
        if view.id in state.dataflow.views:
            return state.dataflow.remove(view.id)
        return [view.id] if view.id in state.tables else []

    def _reshape(self, old: Table, new: Table) -> None:
        """A table whose columns changed: the same rows in a table of the new shape."""
        rows = self.state.tables[old.id].scan()[0]
        self.state.storage.drop(old.id)
        table = self.state.storage.table(new.id, table_spec(new))
        self.state.tables[new.id] = table

        table.upsert(reshaped_rows(old, new, rows, self.context, self.catalog))
        self.touched.add(new.id)

    def commit(self) -> None:
        """Steps the dataflow, makes everything durable, publishes nothing yet.

        Raises DiskFull, IoError or whatever an operator raised; then call `abandon`.
        """
        self.step()
        self._write_errors()
        self._write_sequences()
        if self.catalog is not self._catalog_before:
            self._write_catalog()
        self.drop_abandoned()
        self._handed_over = True
        self.state.storage.commit(self._offsets)
        self.state.abandoned.clear()

    def drop_abandoned(self) -> None:
        """Drops the tables of operators that ended outside of an epoch, before anything makes them anew."""
        if not self._dropped_abandoned:
            self._dropped_abandoned = True
            for name in self.state.abandoned:
                self.state.storage.drop(name)

    def step(self) -> None:
        """Brings all views up to date with what the epoch has changed so far."""
        rounds = 0
        while self._inputs:
            rounds += 1
            if rounds > ROUNDS_MAX:
                raise ProgramLimitExceeded("tables feed each other through sinks without end")
            inputs = {name: concat(parts[0].schema, parts) for name, parts in self._inputs.items()}
            self._inputs.clear()
            outputs = self.state.dataflow.step(self.context, inputs)
            self.touched.update(outputs.touched)
            if self.state.pending:
                for name, delta in (*inputs.items(), *outputs.items()):
                    self.changes[name].append(delta)
            for name in outputs.touched:
                entry = self.catalog.by_id(name)
                if isinstance(entry, Sink) and name in outputs:
                    deliver_to_sink(self, entry, outputs[name])

    def abandon(self) -> None:
        """Undoes everything since the epoch began."""
        state = self.state
        if not self._handed_over:
            state.storage.rollback()
        state.sequences.give_back(self._moved)
        state.catalog = self._catalog_before
        state.offsets = self.offsets_before
        if self._relations_before is not None:
            state.tables, state.stalled = self._relations_before
            rebuild_dataflow(state)

    def _record_source_errors(self, entry: Source | Table, errors: Sequence[SourceError]) -> None:
        if errors:
            rows = [(entry.oid, "decode", e.code, e.message, e.position, e.raw) for e in errors]
            self._apply_errors(rows, np.ones(len(rows), np.int64))

    def _write_errors(self) -> None:
        for error in self.errors:
            relation, _, operator = error.operator.partition(": ")
            texts = _row_texts(error.rows)
            oid = int(relation[1:]) if relation[1:].isdigit() else 0
            rows = [(oid, operator, error.code, error.message, "", text) for text in texts]
            self._apply_errors(rows, error.rows.weights)
        self.errors.clear()

    def _apply_errors(self, rows: list[tuple[int, str, str, str, str, str]], weights: np.ndarray) -> None:
        table = self.state.tables[ERRORS]
        columns = [
            pa.array([row[i] for row in rows], type_.arrow) for i, type_ in enumerate(table.spec.schema.types)
        ]
        table.apply(columns, weights)
        self.touched.add(ERRORS)

    def forget_errors(self, oid: int) -> None:
        """Row errors of a relation that goes, or is computed anew."""
        table = self.state.tables[ERRORS]
        _, positions = table.matches(0, [pa.array([oid])])
        if len(positions):
            table.delete(positions)
            self.touched.add(ERRORS)

    def _write_sequences(self) -> None:
        moved = self._moved = self.state.sequences.take_moved()
        if moved:
            columns = [pa.array(list(moved.keys()), pa.int64()), pa.array(list(moved.values()), pa.int64())]
            self.state.tables[SEQUENCES].upsert(columns)

    def _write_catalog(self) -> None:
        table = self.state.tables[CATALOG]
        new = {row.oid: astuple(row) for row in to_rows(self.catalog)}
        stored = {row[0]: row for row in zip(*(c.to_pylist() for c in table.scan()[0]), strict=True)}
        gone = [oid for oid in stored if oid not in new]
        if gone:
            table.delete(table.lookup([pa.array(gone, pa.int64())]))
        fresh = [row for oid, row in new.items() if stored.get(oid) != row]
        if fresh:
            types = table.spec.schema.types
            table.upsert([pa.array([row[i] for row in fresh], t.arrow) for i, t in enumerate(types)])


def _row_texts(rows: ZSet) -> list[str]:
    """Each row as one text, values by PostgreSQL's text forms in parentheses."""
    if not rows.columns:
        return ["()"] * len(rows)
    columns = [
        format_text(column.type, values, TextSettings()).to_pylist()
        for column, values in zip(rows.schema, rows.columns, strict=True)
    ]
    return ["(" + ",".join("" if v is None else v for v in row) + ")" for row in zip(*columns, strict=True)]
