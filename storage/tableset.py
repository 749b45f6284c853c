"""`TableSet`: which tables a storage has, as its open epoch has them and as the log knows them.

An epoch may create tables and drop some; its rollback undoes that. The log is told when a table comes or
goes, and in each segment of the shape of those that change there, so that a reader needs nothing else
(`changelog.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from .changelog import StoredSpec
from .log import Frame, FrameKind
from .table import StateTable
from .tablespec import TableSpec


@dataclass(slots=True)
class _Undo:
    """What the open epoch changed, as it was before."""

    opened: dict[str, StateTable]
    specs: dict[str, StoredSpec]
    stale: set[str]


class TableSet:
    """The tables by name.

    `opened`: those with their rows.
    `specs`: shapes of all there are in the open epoch.
    `durable`: shapes of all there were at the last commit.
    `stale`: names of tables whose stored shape was not the one asked for; they began empty.
    `stamped`: names of tables whose shape the segment of the log has.
    """

    def __init__(self, specs: dict[str, StoredSpec], last_number: int) -> None:
        self.opened: dict[str, StateTable] = {}
        self.specs = dict(specs)
        self.durable = dict(specs)
        self.stale: set[str] = set()
        self.stamped: set[str] = set()
        self._last_number = last_number
        self._undo: _Undo | None = None
        self._segment = -1

    def remember(self) -> None:
        """Within an epoch, before it changes which tables there are: what a rollback goes back to."""
        if self._undo is None:
            self._undo = _Undo(dict(self.opened), dict(self.specs), set(self.stale))

    def create(self, name: str, spec: TableSpec) -> StateTable:
        """A new, empty table, to be opened; in the place of what is stored under its name, which is stale."""
        if name in self.specs:
            self.stale.add(name)
        self._last_number += 1
        self.specs[name] = StoredSpec(self._last_number, spec.schema, spec.key)
        return StateTable(name, spec)

    def loaded(self, name: str, table: StateTable) -> None:
        """Opened with what was stored, which is let go: it must survive a rollback, even of its drop."""
        if self._undo is not None:
            self._undo.opened[name] = table

    def drop(self, name: str) -> None:
        """Raises KeyError when there is none."""
        del self.specs[name]
        self.opened.pop(name, None)
        self.stale.discard(name)

    def commit(self) -> None:
        """The open epoch is durable."""
        self._undo = None
        if self.durable != self.specs:
            self.durable = dict(self.specs)

    def rollback(self) -> None:
        undo = self._undo
        if undo is not None:
            self.opened, self.specs, self.stale = undo.opened, undo.specs, undo.stale
        self._undo = None

    def begin_frames(self, segment: int) -> list[Frame]:
        """Before an epoch is written to a segment: tables that went, tables that are new."""
        if segment != self._segment:
            self._segment, self.stamped = segment, set()
        frames: list[Frame] = []
        if self.specs == self.durable:
            return frames
        for name, spec in self.durable.items():
            if name not in self.specs or self.specs[name].number != spec.number:
                frames.append(Frame(name, FrameKind.DROPPED, b""))
        for name, spec in self.specs.items():
            if name not in self.durable or self.durable[name].number != spec.number:
                frames.append(self.stamp(name))
        return frames

    def stamp(self, name: str) -> Frame:
        """The frame with a table's shape."""
        self.stamped.add(name)
        return Frame(name, FrameKind.SPEC, self.specs[name].encode())
