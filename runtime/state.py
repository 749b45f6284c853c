"""`State`: what the engine's thread owns, and how the content of any relation is obtained from it.

Only that thread touches a `State`. Everyone else reads `Published`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..operators.dataflow import Dataflow
from ..operators.scan import Scan
from ..operators.zset import ZSet
from ..planner.key_lookup import KeyLookup
from ..sql.catalog import Catalog
from ..sql.entries import MaterializedView, Source, Table
from ..storage.arrow_compute import pc
from ..storage.commit import Storage
from ..storage.schema import Schema
from ..storage.table import StateTable, TableSpec
from ..storage.types import INT8, TEXT
from .plans import Plans
from .published import Published, refuse_stalled
from .relations import ReadContext, key_values, relation_rows, rows_found
from .sequences import Sequences
from .source import Connectors

if TYPE_CHECKING:
    from .job import Job

CATALOG = "system/catalog"
ERRORS = "system/errors"
SEQUENCES = "system/sequences"
JOBS = "system/jobs"

CATALOG_SPEC = TableSpec(
    Schema.of(oid=INT8, kind=TEXT, schema_name=TEXT, name=TEXT, description=TEXT), key=(0,)
)
ERRORS_SPEC = TableSpec(
    Schema.of(relation_oid=INT8, operator=TEXT, code=TEXT, message=TEXT, position=TEXT, row=TEXT),
    key=None,
    indexes=((0,),),
)
SEQUENCES_SPEC = TableSpec(Schema.of(oid=INT8, next_value=INT8), key=(0,))
JOBS_SPEC = TableSpec(Schema.of(number=INT8, statement=TEXT, view=TEXT, replaces=TEXT), key=(0,))

WRITE_BYTES_MAX = 1 << 30
"""Bytes of rows that one statement, or one open transaction, may write."""

ONE_EPOCH_ROWS_MAX = 100_000
"""A view over more rows is filled in chunks, over several epochs (`jobs.py`)."""


@dataclass(slots=True)
class Pending:
    """A view being filled, and what must stay as it is meanwhile: OIDs it needs, operators it has."""

    view: MaterializedView
    needs: frozenset[int]
    operators: set[str] = field(default_factory=set)


@dataclass(slots=True)
class State:
    """Storage, catalogue and dataflow as of the last commit, or of the epoch that is open."""

    storage: Storage
    connectors: Connectors
    catalog: Catalog
    dataflow: Dataflow
    tables: dict[str, StateTable] = field(default_factory=dict)
    """By relation id: rows of tables and materialized views, and the system's own stores."""
    offsets: dict[str, bytes] = field(default_factory=dict)
    """By relation id how far each source is; and how far views being filled are (`fill.progress_name`)."""
    stalled: dict[str, str] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)
    """By sink id the number of the last change that is out; written by the sinks' threads."""
    sequences: Sequences = field(default_factory=lambda: Sequences({}))
    abandoned: list[str] = field(default_factory=list)
    """Operator tables of stalled views, to be dropped by the next epoch: they miss changes from now on."""
    pending: dict[str, Pending] = field(default_factory=dict)
    """Views being filled, by relation id."""
    left_jobs: list[Job] = field(default_factory=list)
    """What the engine has to fill from the start on."""
    one_epoch_rows_max: int = ONE_EPOCH_ROWS_MAX
    write_bytes_max: int = WRITE_BYTES_MAX
    plans: Plans = field(default_factory=dict)
    row_ids: dict[str, int] = field(default_factory=dict)
    """The next hidden row id of each table that has them."""

    def table(self, suffix: str, spec: TableSpec) -> StateTable:
        """A state table, new or recovered (`OpenContext`); those of relations can be read by anyone."""
        table = self.storage.table(suffix, spec)
        if self.catalog.by_id(suffix) is not None:
            self.tables[suffix] = table
        return table

    def content(self, scan: Scan, read: ReadContext) -> ZSet:
        """The current rows of a relation, this epoch's writes included. Raises ObjectNotReady."""
        if scan.relation in self.stalled:
            refuse_stalled(self.catalog, self.stalled, scan.relation)
        table = self.tables.get(scan.relation)
        if table is None:
            return relation_rows(scan, self.catalog, self.offsets, self.connectors, read)
        if isinstance(scan, KeyLookup):
            positions = rows_found(table.lookup(key_values(scan, read)))
            columns = table.take(positions, range(len(scan.schema_)))
            return ZSet(scan.schema_, tuple(columns), table.weights(positions))
        return scan.spread(*table.scan(scan.read))

    def parts(self, scan: Scan, read: ReadContext) -> Iterator[ZSet]:
        """What `content` gives, in parts; nothing may be written before the last."""
        table = self.tables.get(scan.relation)
        if table is None or isinstance(scan, KeyLookup) or scan.relation in self.stalled:
            yield self.content(scan, read)
            return
        for part in table.parts(scan.read):
            yield scan.spread(*part)

    def draw_row_ids(self, table: Table, count: int) -> int:
        """The first of `count` fresh row ids of `table`."""
        first = self.row_ids.get(table.id, 1)
        self.row_ids[table.id] = first + count
        return first

    def publish(
        self, number: int, time_us: int, before: Published | None, touched: Iterable[str]
    ) -> Published:
        """The state readers see from now on; snapshots of untouched tables are those of `before`."""
        if before is None:
            tables = {name: table.snapshot() for name, table in self.tables.items()}
        else:
            tables = dict(before.tables)
            for name in touched:
                if name in self.tables:
                    tables[name] = self.tables[name].snapshot()
                else:
                    tables.pop(name, None)
        return Published(number, time_us, self.catalog, tables, dict(self.offsets), dict(self.stalled))


@dataclass(frozen=True, slots=True)
class StateInputs:
    """The content of relations for a statement that runs within an epoch (`flow.PartedInputs`)."""

    state: State
    read: ReadContext

    def __call__(self, scan: Scan) -> ZSet:
        return self.state.content(scan, self.read)

    def parts(self, scan: Scan) -> Iterator[ZSet]:
        return self.state.parts(scan, self.read)


def table_spec(table: Table | Source) -> TableSpec:
    """How a table's rows are kept: by primary key, with an index for every UNIQUE constraint."""
    if isinstance(table, Source):
        return TableSpec(table.schema, table.key)
    return TableSpec(table.schema, table.key, tuple(unique.columns for unique in table.uniques))


def first_free_row_id(table: StateTable) -> int:
    """The first row id that no row of `table` has; its row id is the last column."""
    column = len(table.spec.schema) - 1
    highest = (pc.max(part).as_py() for part in table.last_keys(column))
    return max((number for number in highest if number is not None), default=0) + 1
