"""`GroupWriter`: the new rows of groups, written where they will lie.

A row of a group is its old row with a few numbers changed. Counts, sums and extremes of numbers go in one
pass from the old row to the new one, both in the table's own memory; only what is of another kind goes by way
of arrays. So what an epoch of a few rows costs is a few calls a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..storage import kernels_sums
from ..storage.columns import GrowingColumn, GrowingFixed
from ..storage.index import Entries
from ..storage.kernels_groups import COUNT as WEIGHTS
from ..storage.versions import GrowingRows
from .aggregate_calls import Groups, Measure, Rows
from .aggregate_fused import FusedWriter, Step, call_steps, kept_step
from .aggregate_table import COUNT, GroupTable
from .batch import Int64Array, poll
from .node import EpochContext


@dataclass(frozen=True, slots=True)
class _Call:
    """A call at work: the table's columns of its state, and the one of its result unless that is state."""

    measure: Measure
    feed: int
    states: tuple[int, ...]
    result: int | None
    writes: bool
    """Whether the state can be written in place."""


@dataclass(frozen=True, slots=True)
class Written:
    """Rows of groups from position `start` on, not yet entered. `least`: the least of their counts."""

    rows: GrowingRows
    start: int
    stop: int
    least: int

    def columns(self, places: Sequence[int]) -> list[pa.Array]:
        return [self.rows.columns[place].array(self.start, self.stop) for place in places]

    def copied(self) -> list[pa.Array]:
        """All columns, in memory of their own."""
        positions = np.arange(self.start, self.stop)
        return [column.take(positions, None) for column in self.rows.columns]


class GroupWriter:
    """Writes the rows of a table that has the results of its calls, none of which can fail."""

    def __init__(self, groups: GroupTable, measures: Sequence[tuple[Measure, int]]) -> None:
        self._table = groups.table
        self.count = groups.column(COUNT)
        kinds = list(enumerate(groups.parts))
        self._keys = [(place, number) for place, (kind, number, _) in kinds if kind == "key"]
        self._calls: list[_Call] = []
        written = {self.count, *(place for place, _ in self._keys)}
        for number, (measure, feed) in enumerate(measures):
            states = tuple(groups.column(("state", number, i)) for i in range(len(measure.accumulators)))
            result = groups.column(("result", number, 0))
            shared = result in (*states, self.count)
            call = _Call(measure, feed, states, None if shared else result, measure.writes)
            if states != (self.count,):
                self._calls.append(call)
            written.update((*states, result))
        self.results = [groups.column(("result", number, 0)) for number in range(len(measures))]
        self._copies = [
            (place, groups.column(part)) for place, part in kinds if place not in written
        ]  # a column that is shown twice
        self._fused, self._others = self._fusable()

    def _fusable(self) -> tuple[FusedWriter | None, list[_Call]]:
        """What is written by one call, and the calls that are not; None if there is a key of another kind."""
        columns = self._table.columns
        steps: list[Step] = [(WEIGHTS, self.count, 0)]
        for place in [place for place, _ in self._keys]:
            step = kept_step(columns[place], place)
            if step is None:
                return None, []
            steps.append(step)
        data, others = list[tuple[int, bool]](), list[_Call]()
        for call in self._calls:
            function = call.measure.call.function
            if not function.adds or (call.result is not None and function.shows is None):
                others.append(call)
                continue
            data.append((call.feed, "sum" in function.adds))
            steps += call_steps(call.states, function.adds, function.shows, call.result, len(data) - 1)
        return FusedWriter(self._table, steps, data), others

    def renew(
        self,
        weights: Int64Array,
        fed: Sequence[Rows],
        groups: Groups,
        entries: Entries,
        positions: Int64Array,
        context: EpochContext,
    ) -> Written | None:
        """Writes and enters rows of groups, all there already; None, and nothing is done, if it cannot."""
        if self._fused is None or groups.known < groups.count:
            return None
        found = self._fused.write(weights, groups.ids, positions, entries, fed)
        if found is None:
            return None
        rows, start = found
        written = Written(rows, start, rows.limit, 1)
        self._finish(written, self._others, fed, groups, positions, context)
        return written

    def begin(self, weights: Int64Array, ids: Int64Array, positions: Int64Array) -> Written:
        """Begins the rows of groups that were at `positions`, −1 being new, with their counts."""
        rows, start = self._table.room()
        stop = start + len(positions)
        counts = rows.columns[self.count]
        assert isinstance(counts, GrowingFixed)
        counts.open(start, stop)
        least = kernels_sums.write_counts(weights, ids, positions, start, counts.values)
        return Written(rows, start, stop, int(least))

    def finish(
        self,
        written: Written,
        fed: Sequence[Rows],
        groups: Groups,
        positions: Int64Array,
        context: EpochContext,
    ) -> None:
        """Writes everything else; `fed` is what the feeds show."""
        columns, start = written.rows.columns, written.start
        for place, number in self._keys:
            columns[place].append(groups.keys[number], start)
        self._finish(written, self._calls, fed, groups, positions, context)

    def _finish(
        self,
        written: Written,
        calls: Sequence[_Call],
        fed: Sequence[Rows],
        groups: Groups,
        positions: Int64Array,
        context: EpochContext,
    ) -> None:
        columns, start, stop = written.rows.columns, written.start, written.stop
        for call in calls:
            poll(context)
            rows = fed[call.feed]
            if not (call.writes and self._write(call, written, rows, groups, positions)):
                self._update(call, written, rows, groups, positions)
        for place, source in self._copies:
            columns[place].append(columns[source].array(start, stop), start)

    def _write(
        self, call: _Call, written: Written, rows: Rows, groups: Groups, positions: Int64Array
    ) -> bool:
        """A call whose state can be written in place; False if not of these rows."""
        columns, start, stop = written.rows.columns, written.start, written.stop
        states = [columns[place] for place in call.states]
        least = call.measure.write(rows, groups, positions, start, states)
        if least is None or call.result is None:
            return least is not None
        function, result = call.measure.call.function, columns[call.result]
        if function.shows is not None:
            counts, shown = states[0], states[function.shows]
            assert isinstance(counts, GrowingFixed) and isinstance(shown, GrowingFixed)
            assert isinstance(result, GrowingFixed)
            result.copy(shown, start, stop)
            if least <= 0:
                result.note_nulls(start, counts.values[start:stop] > 0)
        elif function.show is None or least <= 0 or not self._shown(call, states, written):
            result.append(call.measure.finish(written.columns(call.states)), start)
        return True

    def _shown(self, call: _Call, states: Sequence[GrowingColumn], written: Written) -> bool:
        show = call.measure.call.function.show
        assert show is not None and call.result is not None
        result = written.rows.columns[call.result]
        return isinstance(result, GrowingFixed) and show(states, written.start, written.stop, result)

    def _update(
        self, call: _Call, written: Written, rows: Rows, groups: Groups, positions: Int64Array
    ) -> None:
        """Any other call, by way of arrays."""
        columns, start = written.rows.columns, written.start
        old = written.rows.take(positions[: groups.known], call.states)
        new = call.measure.update(rows, groups, old)
        for place, state in zip(call.states, new, strict=True):
            columns[place].append(state, start)
        if call.result is not None:
            columns[call.result].append(call.measure.finish(new), start)
