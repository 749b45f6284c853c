"""Writes of single rows by prepared statements, all those of an epoch at once (`planner/row_template.py`).

The rows of statements with one template are computed, checked and applied as one batch. If anything is wrong
with it, nothing of it has been applied: it is cut in two, and the halves are tried one after the other, down
to single statements. So each has the outcome, the error too, that it would have had alone and in its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..operators.evaluate import evaluate
from ..operators.node import EpochContext
from ..operators.zset import ZSet
from ..planner.row_template import NOW, RowTemplate
from ..storage.apply import group_entries
from ..storage.arrowview import one_value
from ..storage.errors import SqlError, StatementTooComplex
from ..storage.table import StateTable
from .constraints import check_rows
from .epoch import Epoch, HalfWritten
from .relations import ReadContext
from .works import Work, WriteOutcome, current_table
from .writes import (
    Columns,
    RowChanges,
    evaluate_all,
    evaluate_write,
    refuse_existing_keys,
    take_all,
    with_row_ids,
)

Value = pa.Array | int | float | str | None
"""What a parameter is bound to: a simple value, or an array of length 1."""
Answer = tuple[Work, Any, SqlError | None]
"""A work, what it gave, or why it failed."""
Places = npt.NDArray[np.int64] | npt.NDArray[np.intp]


@dataclass(slots=True)
class RowWork(Work):
    """One row written by a prepared statement outside a transaction block."""

    template: RowTemplate = field(kw_only=True)
    values: Sequence[Value] = field(kw_only=True)
    now_us: int = field(kw_only=True)
    answer: Callable[[WriteOutcome], Any] = field(kw_only=True)
    """What the future gives, of the outcome."""
    cancelled: Callable[[], None] = field(kw_only=True)
    """Raises QueryCanceled when the statement is no longer wanted."""
    read: ReadContext | None = field(kw_only=True, default=None)
    """The client's context, if the template has personal expressions."""
    row: Columns | None = None
    """The row, if it is computed by itself: no number is drawn twice for it."""

    def written(self) -> Iterable[int]:
        return (self.template.write.table.oid,)

    def run(self, epoch: Epoch) -> Any:
        [(_, result, error)] = run_rows([self], epoch)
        if error is not None:
            raise error
        return result


class _Repeated(Exception):
    """The statements from `place` on must see what those before it did."""

    def __init__(self, place: int) -> None:
        super().__init__()
        self.place = place


def run_rows(works: Sequence[RowWork], epoch: Epoch) -> list[Answer]:
    """Runs works of one template; each is answered, those that fail have changed nothing."""
    batch = _Batch(works[0].template, epoch)
    answers: list[Answer] = []
    pending = [batch.begun(works, answers)]
    while pending:
        some = pending.pop()
        if not some:
            continue
        try:
            outcomes = batch.write(some)
        except _Repeated as repeated:
            pending += [some[repeated.place :], some[: repeated.place]]
        except (SqlError, RecursionError) as error:
            if len(some) == 1:
                answers.append((some[0], None, _told(error)))
            else:
                half = len(some) // 2
                pending += [some[half:], some[:half]]
        else:
            answers += [(work, work.answer(o), None) for work, o in zip(some, outcomes, strict=True)]
    return answers


def _told(error: SqlError | RecursionError) -> SqlError:
    return error if isinstance(error, SqlError) else StatementTooComplex("stack depth limit exceeded")


class _Batch:
    """Statements of one template within an epoch."""

    def __init__(self, template: RowTemplate, epoch: Epoch) -> None:
        self._template = template
        self._epoch = epoch
        self._context = EpochContext(epoch.number, epoch.context.now_us)

    def begun(self, works: Sequence[RowWork], answers: list[Answer]) -> list[RowWork]:
        """The works that are still wanted, rows with personal expressions computed."""
        begun: list[RowWork] = []
        for work in works:
            try:
                work.cancelled()
                if self._template.personal:
                    assert work.read is not None
                    work.row = self._computed([], self._sources([work]), 1, work.read.context)
            except (SqlError, RecursionError) as error:
                answers.append((work, None, _told(error)))
            else:
                begun.append(work)
        return begun

    def write(self, works: Sequence[RowWork]) -> list[WriteOutcome]:
        """Writes the rows of all. Raises before anything is written; _Repeated to have them cut."""
        epoch, template = self._epoch, self._template
        table = current_table(epoch, template.write.table)
        stored = epoch.state.tables[table.id]
        rows, places = self._rows(works, stored)
        if template.fresh:
            return self._insert(rows, stored, len(works))
        changes = evaluate_write(
            template.write,
            ZSet.inserts(template.schema, rows),
            stored,
            self._context,
            lambda count: epoch.state.draw_row_ids(table, count),
        )
        outcomes = _outcomes(len(works), changes, places)
        _apply(lambda: epoch.write(changes))
        return outcomes

    def _insert(self, rows: Columns, stored: StateTable, count: int) -> list[WriteOutcome]:
        """INSERT where the primary key alone decides: what finds its rows also enters new ones."""
        epoch, write = self._epoch, self._template.write
        table = write.table
        rows = with_row_ids(table, rows, count, lambda n: epoch.state.draw_row_ids(table, n))
        check_rows(table, rows, self._context)
        entries, existing = stored.enter([rows[i] for i in table.key or ()], count)
        if existing.max() >= 0 or (count > 1 and len(group_entries(entries)[1]) < count):
            refuse_existing_keys(table, rows, stored)
        returning = None
        if write.returning is not None:
            returning = evaluate_all(write.returning, rows, self._context)
        _apply(lambda: epoch.insert(table, rows, entries))
        return _outcomes(count, RowChanges(table, [], rows, count, returning), None)

    def _rows(self, works: Sequence[RowWork], stored: StateTable) -> tuple[Columns, Places | None]:
        """Rows of the write's node, and which work each is of (None: one a work, in order)."""
        template, count = self._template, len(works)
        if template.personal:
            rows = [work.row for work in works if work.row is not None]
            return [pa.concat_arrays(parts) for parts in zip(*rows, strict=True)], None
        sources = self._sources(works)
        if template.keys is None:
            return self._computed([], sources, count, self._context), None
        found = stored.lookup([evaluate(key, sources, count, self._context) for key in template.keys])
        places = np.flatnonzero(found >= 0)
        found = found[places]
        _refuse_repeated(found, places)
        if len(places) < count:
            sources = take_all(sources, places)
        return self._computed(stored.take(found), sources, len(places), self._context), places

    def _sources(self, works: Sequence[RowWork]) -> Columns:
        columns: Columns = []
        for number, type_ in self._template.sources:
            arrow = type_.arrow
            if number == NOW:
                columns.append(pa.array([work.now_us for work in works], pa.int64()).view(arrow))
            else:
                columns.append(column_of([work.values[number] for work in works], arrow))
        return columns

    def _computed(self, row: Columns, sources: Columns, count: int, context: EpochContext) -> Columns:
        for layer in self._template.layers:
            inputs = [*row, *sources]
            row = [evaluate(expr, inputs, count, context) for expr in layer]
        return row


def _apply(writing: Callable[[], None]) -> None:
    """Does what may have been done in part when it fails, so that the whole epoch must not be."""
    try:
        writing()
    except SqlError as error:
        raise HalfWritten(error) from error


_SIMPLE = frozenset({int, float, str, type(None)})


def column_of(values: Sequence[Value], arrow: pa.DataType) -> pa.Array:
    """Bound values as one column."""
    if len(values) == 1:
        [value] = values
        return value if isinstance(value, pa.Array) else one_value(value, arrow)
    if _SIMPLE.issuperset(map(type, values)):
        return pa.array(values, arrow)
    parts = [value if isinstance(value, pa.Array) else one_value(value, arrow) for value in values]
    return pa.concat_arrays(parts)


def _refuse_repeated(found: Places, places: Places) -> None:
    """Raises _Repeated if two statements change one row: the second must see what the first made of it."""
    if len(found) > 1:
        first = np.unique(found, return_index=True)[1]
        if len(first) < len(found):
            again = np.ones(len(found), np.bool_)
            again[first] = False
            raise _Repeated(int(places[np.flatnonzero(again)[0]]))


_ONE_ROW = WriteOutcome(1, None)


def _outcomes(count: int, changes: RowChanges, places: Places | None) -> list[WriteOutcome]:
    """What each of `count` works did; `places` says which one each row of the write's node is of."""
    if count == 1:
        return [WriteOutcome(changes.affected, changes.returning)]
    of_rows = changes.origins
    if of_rows is not None and places is not None:
        of_rows = places[of_rows]
    elif of_rows is None:
        of_rows = places
    returning = changes.returning
    if of_rows is None:
        if returning is None:
            return [_ONE_ROW] * count
        return [WriteOutcome(1, [column.slice(i, 1) for column in returning]) for i in range(count)]
    affected = np.bincount(of_rows, minlength=count).tolist()
    if returning is None:
        return [WriteOutcome(number, None) for number in affected]
    rows = [np.flatnonzero(of_rows == i) for i in range(count)]
    return [WriteOutcome(len(mine), take_all(returning, mine)) for mine in rows]
