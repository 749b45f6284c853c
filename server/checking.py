"""`millpond check DIR`: whether a data directory at rest is sound, from checksums up to the views' content.

`storage.check` verifies files, log and store. Here every materialized view is computed from its inputs as
the log has them, sources read again included, and compared with its stored rows. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from ..operators import functions
from ..operators.consolidate import consolidate
from ..operators.dataflow import run
from ..operators.node import EpochContext
from ..operators.scan import Scan
from ..operators.zset import ZSet, concat
from ..planner.build import view_plan
from ..runtime.relations import ReadContext, relation_rows
from ..runtime.source import Connectors
from ..runtime.state import CATALOG
from ..sql.catalog import Catalog
from ..sql.catalog_rows import CatalogRow, from_rows
from ..sql.entries import MaterializedView
from ..sql.system import SYSTEM_RELATIONS
from ..storage.changelog import decode_meta
from ..storage.check import check
from ..storage.disk import REAL
from ..storage.errors import SqlError
from ..storage.log import LogEpoch
from ..storage.log_reader import LogReader
from ..storage.memory import MemoryStore
from ..storage.mirror import Mirror
from ..storage.replay import follow
from ..storage.schema import Schema
from .connectors import CONNECTORS

_REGISTERED = functions
"""Imported for the functions it registers."""


def check_directory(data: str, log: str = "") -> int:
    """Prints what is wrong with a data directory; 0 when nothing is, else 1."""
    folder, log_folder = Path(data), Path(log) if log else None
    findings = check(folder, log_folder)
    views = 0
    if not findings:
        contents = Contents.read(log_folder or folder / "log")
        views, findings = check_views(contents)
    for finding in findings:
        print(finding)
    if findings:
        return 1
    print(f"{folder} is sound: log and store agree, {views} materialized view(s) equal their queries")
    return 0


@dataclass(slots=True)
class Contents:
    """All relations as the log has them, in memory."""

    catalog: Catalog
    tables: Mapping[str, ZSet]
    offsets: Mapping[str, bytes]
    epoch: int
    connectors: Connectors = CONNECTORS

    @staticmethod
    def read(log: Path) -> Contents:
        """What the log alone says. The directory must have been checked."""
        return Contents.of_epochs(LogReader(log, REAL).read(None))

    @staticmethod
    def of_epochs(epochs: Iterable[LogEpoch]) -> Contents:
        """What a whole log comes to."""
        mirror = Mirror(MemoryStore(), b"")
        for stretch in follow(epochs, {}):
            mirror.apply(stretch)
        tables = {
            name: concat(
                spec.schema, [ZSet(spec.schema, tuple(r.columns), r.weights) for r in mirror.load(spec)]
            )
            for name, spec in mirror.specs.items()
        }
        epoch = mirror.position.epoch if mirror.position else 0
        return Contents(_catalog(tables.get(CATALOG)), tables, decode_meta(mirror.offsets), epoch)

    def of(self, scan: Scan) -> ZSet:
        """The whole content of a Scan's relation. Raises SqlError when a source cannot be read again."""
        stored = self.tables.get(scan.relation)
        if stored is not None:
            return ZSet(scan.schema_, stored.columns[: len(scan.schema_)], stored.weights)
        entry = self.catalog.by_id(scan.relation)
        if isinstance(entry, MaterializedView):
            return ZSet.empty(entry.schema)
        return relation_rows(scan, self.catalog, self.offsets, self.connectors, ReadContext(self.context()))

    def context(self) -> EpochContext:
        return EpochContext(self.epoch, 0, errors=[])


def _catalog(rows: ZSet | None) -> Catalog:
    if rows is None or not len(rows):
        return Catalog.initial(SYSTEM_RELATIONS)
    values = zip(*(column.to_pylist() for column in rows.columns), strict=True)
    return from_rows([CatalogRow(*row) for row in values], SYSTEM_RELATIONS)


def check_views(contents: Contents) -> tuple[int, list[str]]:
    """How many materialized views there are, and what is wrong with them."""
    views = [view for view in contents.catalog.of(MaterializedView) if isinstance(view, MaterializedView)]
    return len(views), [finding for view in views for finding in check_view(view, contents)]


def check_view(view: MaterializedView, contents: Contents) -> Iterator[str]:
    """What tells a view's stored rows from its query over the stored inputs."""
    try:
        plan = view_plan(view, contents.catalog)
        wanted = run(plan, contents.of, contents.context())
    except SqlError as error:
        yield f'view "{view.name}" cannot be computed from its inputs: {error.message}'
        return
    stored = contents.tables.get(view.id)
    rows = ZSet.empty(wanted.schema)
    if stored is not None:
        rows = ZSet(wanted.schema, stored.columns[: len(wanted.schema)], stored.weights)
    difference = consolidate(concat(wanted.schema, [rows, wanted.negate()]))
    if len(difference):
        extra = int(np.sum(difference.weights[difference.weights > 0]))
        missing = -int(np.sum(difference.weights[difference.weights < 0]))
        shown = _first_row(difference, wanted.schema)
        yield (
            f'view "{view.name}" differs from its query: {extra} row(s) too many, {missing} missing, '
            f"such as {shown}"
        )


def _first_row(rows: ZSet, schema: Schema) -> str:
    values: list[pa.Scalar] = [column[0] for column in rows.columns]
    return ", ".join(f"{name} = {value}" for name, value in zip(schema.names, values, strict=True))
