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
from .keycode import encode_keys
from .keys import group_ids
from .log import Frame, FrameKind, LogDamaged, LogEpoch, Payload, Position
from .tablespec import Int64Array

# Members of an IntEnum cost more to compare with than integers do, and there are some comparisons a frame.
COUNT, DELETED, TRUNCATED = (int(kind) for kind in (FrameKind.COUNT, FrameKind.DELETED, FrameKind.TRUNCATED))
OF_STORES = frozenset({int(FrameKind.SPEC), int(FrameKind.DROPPED)})
"""Frames that say which stores there are, not what they hold."""

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
        more = sum([len(frame.payload) for frame in epoch.frames])
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
        number = epoch.epoch
        for frame in epoch.frames:
            one = gathered.get(frame.store)
            if one is None or frame.kind in OF_STORES:
                _take_frame(frame, stretch, known, gathered, number)
            else:
                one.take(frame.kind, frame.payload, number)
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
    gathered[name].take(frame.kind, frame.payload, epoch)


class _Gathered:
    """The operations on one store. Payloads are decoded together, at the end: one by one they cost more."""

    __slots__ = ("_count", "_deleted", "_epoch", "_places", "_rows", "_several", "_spec", "_truncated")

    def __init__(self, spec: StoredSpec) -> None:
        self._spec = spec
        self._truncated = False
        self._rows: list[Payload] = []
        self._deleted: list[Payload] = []
        self._places: list[int] = []
        """Of each of `_deleted`, how many of `_rows` came before."""
        self._count: Payload | None = None
        self._epoch, self._several = -1, False

    def take(self, kind: int, payload: Payload, epoch: int) -> None:
        if kind == COUNT:
            self._count = payload
            return
        self._count = None
        if epoch != self._epoch:
            self._several = self._epoch >= 0
            self._epoch = epoch
        if kind == DELETED:
            self._deleted.append(payload)
            self._places.append(len(self._rows))
        elif kind == TRUNCATED:
            self._truncated = True
            self._rows, self._deleted, self._places = [], [], []
        else:
            self._rows.append(payload)

    def net(self) -> NetChange:
        spec = self._spec
        rows, row_counts = decode_rows(self._rows, spec)
        deleted, deleted_counts = decode_deleted(self._deleted, spec)
        if self._several and len(row_counts) + len(deleted_counts) > 1:
            orders = 2 * np.arange(len(row_counts)) + 1, 2 * np.array(self._places, np.int64)
            order = np.repeat(np.concatenate(orders), np.concatenate([row_counts, deleted_counts]))
            whole = Rows.concat(rows, spec)
            # Frees the parts.
            rows.clear()
            net = _last_words(spec, whole, deleted, order)
        else:
            # One epoch names each key once.
            net = NetChange(spec, False, rows, deleted, int(deleted_counts.sum()))
        net.truncated = self._truncated
        net.count = None if self._count is None else decode_count(self._count)
        return net


def _last_words(spec: StoredSpec, rows: Rows, deleted: list[pa.Array], order: Int64Array) -> NetChange:
    """Of each key only the last operation, found by grouping the keys of all operations.

    `order` says when each came, of `rows` and then of `deleted`.
    """
    keys = concat_columns([part for part in ([rows.columns[i] for i in spec.key_columns], deleted) if part])
    ids, first = group_ids(encode_keys(keys, spec.key_types, len(order)))
    last = np.empty(len(first), np.int64)
    if len(rows) == len(order):
        last[ids] = np.arange(len(order))
    else:
        sequence = np.argsort(order, kind="stable")
        last[ids[sequence]] = sequence
    stays = np.zeros(len(order), np.bool_)
    stays[last] = True
    kept, gone = np.flatnonzero(stays[: len(rows)]), np.flatnonzero(stays[len(rows) :])
    net = NetChange(spec)
    net.rows = [_take_rows(rows, kept)] if len(kept) else []
    net.deleted, net.deleted_count = [column.take(pa.array(gone)) for column in deleted], len(gone)
    return net


def _take_rows(rows: Rows, positions: np.ndarray) -> Rows:
    return rows if len(positions) == len(rows) else rows.take(positions)
