"""What many epochs of changelog come to: per store the last word on each key.

Used wherever the log is followed: by checkpoints, recovery and standbys. `follow` cuts the log into
`Stretch`es of bounded size; each is applied as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from .changelog import Rows, StoredSpec, concat_columns, decode_count, decode_deleted, decode_rows
from .keycode import encode_keys, group_ids
from .log import Frame, FrameKind, LogDamaged, LogEpoch, Position

STRETCH_BYTES_MAX = 128 << 20
"""Payload bytes gathered before they are applied; a single larger epoch is applied alone."""


@dataclass(slots=True)
class NetChange:
    """What becomes of one store: first all older rows go if `truncated`, then `deleted`, then `rows` come.

    No key is in two of `rows` and `deleted`. `rows` may be several batches. `count`: how many rows there are
    then, if the log says so.
    """

    spec: StoredSpec
    truncated: bool = False
    rows: list[Rows] = field(default_factory=list)
    deleted: list[pa.Array] = field(default_factory=list)
    deleted_count: int = 0
    count: int | None = None


@dataclass(slots=True)
class Stretch:
    """Consecutive epochs taken together.

    `dropped` are numbers of stores that are gone; `changes` are by store name. A `base` stretch begins with
    the whole content of the log: everything older is void.
    """

    position: Position
    meta: bytes
    base: bool
    dropped: list[int]
    specs: dict[str, StoredSpec]
    changes: dict[str, NetChange]


def follow(
    epochs: Iterable[LogEpoch],
    specs: Mapping[str, StoredSpec],
    bytes_max: int = STRETCH_BYTES_MAX,
    pause: Callable[[], None] = lambda: None,
) -> Iterator[Stretch]:
    """Cuts committed epochs into stretches. `specs` are the stores there are before the first.

    `pause` is called after each epoch: whoever follows may let others go first.
    """
    known = dict(specs)
    pending: list[LogEpoch] = []
    size = 0
    for epoch in epochs:
        more = sum(len(frame.payload) for frame in epoch.frames)
        pause()
        if pending and size + more > bytes_max:
            yield _stretch(pending, known, pause)
            pending, size = [], 0
        pending.append(epoch)
        size += more
    if pending:
        yield _stretch(pending, known, pause)


def _stretch(epochs: Sequence[LogEpoch], known: dict[str, StoredSpec], pause: Callable[[], None]) -> Stretch:
    """Nets `epochs`; updates `known` to the stores there are after them."""
    if epochs[0].base:
        known.clear()
    last = epochs[-1]
    stretch = Stretch(last.position, last.meta, epochs[0].base, [], {}, {})
    gathered: dict[str, _Gathered] = {}
    for epoch in epochs:
        for frame in epoch.frames:
            _take_frame(frame, stretch, known, gathered, epoch.epoch)
        pause()
    stretch.changes = {name: one.net() for name, one in gathered.items()}
    return stretch


def _take_frame(
    frame: Frame, stretch: Stretch, known: dict[str, StoredSpec], gathered: dict[str, _Gathered], epoch: int
) -> None:
    name = frame.store
    if frame.kind == FrameKind.SPEC:
        spec = StoredSpec.decode(bytes(frame.payload))
        known[name] = stretch.specs[name] = spec
        return
    if name not in known:
        raise LogDamaged(f"epoch {epoch} of the log changes {name!r}, of which no description was found")
    if frame.kind == FrameKind.DROPPED:
        stretch.dropped.append(known.pop(name).number)
        stretch.specs.pop(name, None)
        gathered.pop(name, None)
        return
    if name not in gathered:
        gathered[name] = _Gathered(known[name])
    gathered[name].take(frame, epoch)


class _Gathered:
    """The operations on one store, in order."""

    def __init__(self, spec: StoredSpec) -> None:
        self._spec = spec
        self._truncated = False
        self._epochs: set[int] = set()
        self._rows: list[tuple[int, Rows]] = []
        self._deleted: list[tuple[int, list[pa.Array], int]] = []
        self._order = 0
        self._count: int | None = None

    def take(self, frame: Frame, epoch: int) -> None:
        if frame.kind == FrameKind.COUNT:
            self._count = decode_count(frame.payload)
            return
        self._count = None
        self._epochs.add(epoch)
        self._order += 1
        if frame.kind == FrameKind.TRUNCATED:
            self._truncated = True
            self._rows.clear()
            self._deleted.clear()
        elif frame.kind == FrameKind.DELETED:
            columns, count = decode_deleted(frame.payload, self._spec)
            self._deleted.append((self._order, columns, count))
        else:
            self._rows.append((self._order, decode_rows(frame.payload, self._spec)))

    def net(self) -> NetChange:
        if len(self._epochs) > 1 and len(self._rows) + len(self._deleted) > 1:
            net = self._last_words()
            net.count = self._count
            return net
        # One epoch names each key once.
        net = NetChange(self._spec, self._truncated, [rows for _, rows in self._rows], count=self._count)
        if self._deleted:
            net.deleted = concat_columns([columns for _, columns, _ in self._deleted])
            net.deleted_count = sum(count for _, _, count in self._deleted)
        return net

    def _last_words(self) -> NetChange:
        """Of each key only the last operation, found by grouping the keys of all operations."""
        spec = self._spec
        rows = Rows.concat([rows for _, rows in self._rows], spec)
        deleted = concat_columns([columns for _, columns, _ in self._deleted])
        counts = [len(one) for _, one in self._rows] + [count for _, _, count in self._deleted]
        orders = [order for order, _ in self._rows] + [order for order, _, _ in self._deleted]
        order = np.repeat(np.array(orders, np.int64), counts)
        keys = concat_columns(
            [part for part in ([rows.columns[i] for i in spec.key_columns], deleted) if part]
        )
        ids, first = group_ids(encode_keys(keys, spec.key_types, len(order)))
        last = np.empty(len(first), np.int64)
        sequence = np.argsort(order, kind="stable")
        last[ids[sequence]] = sequence
        last.sort()
        kept, gone = last[last < len(rows)], last[last >= len(rows)] - len(rows)
        net = NetChange(spec, self._truncated)
        net.rows = [_take_rows(rows, kept)] if len(kept) else []
        net.deleted, net.deleted_count = [column.take(pa.array(gone)) for column in deleted], len(gone)
        return net


def _take_rows(rows: Rows, positions: np.ndarray) -> Rows:
    return rows if len(positions) == len(rows) else rows.take(positions)
