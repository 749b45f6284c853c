"""What every `Log` does, whatever it lies on: one class of tests, run over files and over Kafka.

`Content` is the plain twin of a log: stores as dicts. A test writes epochs to both, and what any reader makes
of the log's epochs, from wherever it stood, must be the twin.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pytest

from millpond.storage.changelog import StoredSpec, change_frames, decode_meta, encode_meta
from millpond.storage.fence import Fenced
from millpond.storage.log import Frame, FrameKind, Log, LogEpoch, LogPlace, LogSource, Position
from millpond.storage.replay import follow
from millpond.storage.schema import Schema
from millpond.storage.tablespec import TableChange
from millpond.storage.types import INT8, TEXT

SCHEMA = Schema.of(id=INT8, name=TEXT)
KEYS: dict[str, tuple[int, ...] | None] = {"keyed": (0,), "bag": None, "all.keys": (1, 0)}
Row = tuple[int, str | None]


@dataclass(slots=True)
class Content:
    """Stores by name: their specs, and of each row its weight."""

    specs: dict[str, StoredSpec] = field(default_factory=dict)
    rows: dict[str, dict[Row, int]] = field(default_factory=dict)

    def key(self, store: str, row: Row) -> tuple[Any, ...]:
        key = self.specs[store].key
        return row if key is None else tuple(row[i] for i in key)

    def put(self, store: str, rows: dict[Row, int]) -> None:
        for row, weight in rows.items():
            self.delete(store, [self.key(store, row)])
            self.rows[store][row] = weight

    def delete(self, store: str, keys: Iterable[tuple[Any, ...]]) -> None:
        wanted = set(keys)
        self.rows[store] = {r: w for r, w in self.rows[store].items() if self.key(store, r) not in wanted}

    def follow(self, epochs: Iterable[LogEpoch]) -> Position | None:
        """Takes over what a log says; the last position."""
        position = None
        for stretch in follow(epochs, self.specs):
            position = stretch.position
            if stretch.base:
                self.specs, self.rows = {}, {}
            gone = {n for n, spec in self.specs.items() if spec.number in stretch.dropped}
            self.specs = {n: s for n, s in self.specs.items() if n not in gone} | stretch.specs
            self.rows = {n: r for n, r in self.rows.items() if n not in gone and n in self.specs}
            for name in self.specs:
                _ = self.rows.setdefault(name, {})
            for name, change in stretch.changes.items():
                if change.truncated:
                    self.rows[name] = {}
                if change.deleted_count:
                    columns = [column.to_pylist() for column in change.deleted]
                    self.delete(name, zip(*columns, strict=True))
                for rows in change.rows:
                    columns = [column.to_pylist() for column in rows.columns]
                    whole = zip(*columns, strict=True)
                    self.put(name, dict(zip(whole, rows.weights.tolist(), strict=True)))
        return position


class Writer:
    """Writes epochs to a log as `Storage` does, and to the twin."""

    def __init__(self, log: Log, content: Content) -> None:
        self.log = log
        self.content = content
        self._durable = dict(content.specs)
        self._segment = -1
        self._stamped: set[str] = set()
        self.frames: list[Frame] = []

    def create(self, store: str, number: int) -> None:
        self.content.specs[store] = StoredSpec(number, SCHEMA, KEYS[store.partition("#")[0]])
        self.content.rows[store] = {}
        self._stamped.discard(store)

    def drop(self, store: str) -> None:
        del self.content.specs[store], self.content.rows[store]
        self.frames.append(Frame(store, FrameKind.DROPPED, b""))

    def change(
        self, store: str, rows: dict[Row, int], deleted: list[Row] | None = None, truncated: bool = False
    ) -> None:
        """Rows that come or change, after keys (of a bag: rows) that go."""
        spec, gone = self.content.specs[store], deleted or []
        if truncated:
            self.content.rows[store] = {}
        keys = [self.content.key(store, row) for row in gone]
        self.content.delete(store, keys)
        self.content.put(store, rows)
        columns = [pa.array([row[i] for row in rows], spec.arrow[i]) for i in range(2)]
        key_columns = [
            pa.array([key[i] for key in keys], spec.arrow[c]) for i, c in enumerate(spec.key_columns)
        ]
        weights = np.array(list(rows.values()), np.int64)
        self.stamp(store)
        self.frames += change_frames(
            TableChange(store, 1, columns, weights, key_columns, len(keys), truncated), spec
        )

    def stamp(self, store: str) -> None:
        """The spec, before the store's first other frame in a segment."""
        segment = self.log.ready()
        if segment != self._segment:
            self._segment, self._stamped = segment, set()
        if store not in self._stamped:
            self._stamped.add(store)
            self.frames.append(Frame(store, FrameKind.SPEC, self.content.specs[store].encode()))

    def commit(self, **sources: bytes) -> Position:
        self.log.append(self.frames)
        self.frames = []
        return self.log.commit(self.log.end.epoch + 1, encode_meta(sources))


class Rivalled(Protocol):
    """A place of which a test can become a second writer."""

    place: LogPlace

    def rival(self, known: Position) -> Log: ...


def read_all(source: LogSource, until: Position) -> Content:
    content = Content()
    _ = content.follow(source.read(None, until))
    return content


class LogProtocol:
    """Subclasses give the fixture `at`."""

    def test_an_empty_log_has_no_epochs(self, at: Rivalled) -> None:
        log = at.place.open()
        assert log.end.epoch == 0
        assert list(at.place.source().read(None, log.end)) == []
        log.close()

    def test_what_was_committed_is_read_by_anyone_and_after_a_restart(self, at: Rivalled) -> None:
        log = at.place.open()
        writer = Writer(log, Content())
        writer.create("keyed", 1)
        writer.create("bag", 2)
        writer.change("keyed", {(1, "a"): 1, (2, None): 1})
        writer.change("bag", {(1, "x"): 3})
        _ = writer.commit(source=b"offset 1")
        writer.change("keyed", {(1, "b"): 1, (3, ""): 1}, [(2, None)])
        end = writer.commit(source=b"offset 2")
        source = at.place.source()
        assert source.end_mark(settled=True) == end
        assert read_all(source, end) == writer.content
        last = list(at.place.source().read(None, end))[-1]
        assert (last.epoch, decode_meta(last.meta)) == (2, {"source": b"offset 2"})
        identity = log.identity
        log.close()
        again = at.place.open()
        assert (again.end.epoch, again.identity) == (2, identity)
        assert read_all(again.reader, again.end) == writer.content
        again.close()

    def test_a_rolled_back_epoch_leaves_nothing(self, at: Rivalled) -> None:
        log = at.place.open()
        writer = Writer(log, Content())
        writer.create("keyed", 1)
        writer.change("keyed", {(1, "a"): 1})
        _ = writer.commit()
        before = copy.deepcopy(writer.content)
        writer.change("keyed", {(9, "never"): 1})
        log.append(writer.frames)
        log.rollback()
        writer.frames, writer.content = [], before
        writer.change("keyed", {(2, "b"): 1})
        end = writer.commit()
        assert read_all(at.place.source(), end) == writer.content
        log.close()

    def test_stores_come_and_go_and_come_again(self, at: Rivalled) -> None:
        log = at.place.open()
        writer = Writer(log, Content())
        source, standby = at.place.source(), Content()
        writer.create("keyed", 1)
        writer.change("keyed", {(1, "a"): 1})
        position = self.catch_up(standby, source, None, writer.commit())
        writer.drop("keyed")
        writer.create("keyed", 2)
        writer.change("keyed", {(1, "other"): 1})
        writer.create("bag", 3)
        writer.change("bag", {(1, "x"): 1})
        position = self.catch_up(standby, source, position, writer.commit())
        assert standby == writer.content
        writer.change("bag", {(5, "y"): 2}, truncated=True)
        position = self.catch_up(standby, source, position, writer.commit())
        assert standby == writer.content
        writer.drop("bag")
        _ = self.catch_up(standby, source, position, writer.commit())
        assert standby == writer.content
        assert read_all(at.place.source(), log.end) == writer.content
        log.close()

    def test_a_second_writer_fences_the_first(self, at: Rivalled) -> None:
        log = at.place.open()
        writer = Writer(log, Content())
        writer.create("keyed", 1)
        writer.change("keyed", {(1, "a"): 1})
        end = writer.commit()
        kept = copy.deepcopy(writer.content)
        writer.change("keyed", {(2, "zombie"): 1})
        rival = at.rival(end)
        assert (rival.end.epoch, rival.identity) == (1, log.identity)
        assert rival.writer > log.writer
        with pytest.raises(Fenced):
            _ = writer.commit()
        assert log.fenced()
        assert not rival.fenced()
        other = Writer(rival, kept)
        other.change("keyed", {(3, "mine"): 1})
        end = other.commit()
        with pytest.raises(Fenced):
            log.ready()
        assert read_all(at.place.source(), end) == kept
        log.close()
        rival.close()
        last = at.place.open()
        assert last.end.epoch == 2
        assert read_all(last.reader, last.end) == kept
        last.close()

    @pytest.mark.parametrize("seed", range(3))
    def test_any_reader_from_anywhere_comes_to_the_same(self, at: Rivalled, seed: int) -> None:
        chance = random.Random(seed)
        log = at.place.open()
        writer, number = Writer(log, Content()), 0
        tail, standby, position = at.place.source(), Content(), None
        stood: list[tuple[Position, Content]] = []
        for _ in range(12):
            for _ in range(chance.randint(1, 4)):
                number += random_change(chance, writer, number)
            end = writer.commit(n=str(number).encode())
            if chance.random() < 0.6:
                position = self.catch_up(standby, tail, position, end)
                assert standby == writer.content
                stood.append((position, copy.deepcopy(standby)))
            if chance.random() < 0.2:
                content = writer.content
                writer.log.close()
                writer = Writer(at.place.open(), content)
        end = writer.log.end
        for position, content in [*chance.sample(stood, min(3, len(stood))), (None, Content())]:
            _ = content.follow(at.place.source().read(position, end))
            assert content == writer.content
        writer.log.close()

    def catch_up(
        self, content: Content, source: LogSource, after: Position | None, until: Position
    ) -> Position:
        position = content.follow(source.read(after, until)) or after
        assert position is not None
        assert position.epoch == until.epoch
        # A position survives being written down.
        return Position.decode(position.encode())


def random_change(chance: random.Random, writer: Writer, number: int) -> int:
    """One change to a store that this epoch has not changed yet; how many stores it made."""
    changed = {frame.store for frame in writer.frames}
    free = [name for name in writer.content.specs if name not in changed]
    if not free or chance.random() < 0.2:
        name = f"{chance.choice(list(KEYS))}#{number}"
        writer.create(name, number + 1)
        writer.change(name, random_rows(chance))
        return 1
    name = chance.choice(free)
    if chance.random() < 0.1:
        writer.drop(name)
        return 0
    there = list(writer.content.rows[name])
    deleted = chance.sample(there, chance.randint(0, len(there)))
    keys = {writer.content.key(name, row) for row in deleted}
    rows = {r: w for r, w in random_rows(chance).items() if writer.content.key(name, r) not in keys}
    if writer.content.specs[name].key is not None:
        rows = dict.fromkeys({writer.content.key(name, row): row for row in rows}.values(), 1)
    writer.change(name, rows, deleted, truncated=chance.random() < 0.1)
    return 0


def random_rows(chance: random.Random) -> dict[Row, int]:
    """Rows no two of which have an id in common."""
    ids = chance.sample(range(8), chance.randint(0, 6))
    return {(i, chance.choice(["a", "b\0c", "", None])): 1 for i in ids}
