"""Relations and changes in pieces: whatever a query multiplies flows on before the next piece is made.

A query's node gives its output as an iterator of ZSets whose sum it is. Nodes that look at one row at a
time pass pieces through; those that need all rows `collect` them, within the room there is. A running
operator with `steps` cuts its change in the same way (`dataflow.py`).

Cutting a change asks for care: whoever is stepped with one part after the other must see, after each, rows
that could be there. So the rows that go come first (`withdrawals_first`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from ..storage.errors import OutOfMemory
from ..storage.room import refuse_beyond_room
from .batch import poll
from .consolidate import consolidate
from .zset import ZSet, concat

if TYPE_CHECKING:
    from .node import EpochContext, Node

T = TypeVar("T")

SHORTAGES = (OutOfMemory, MemoryError, pa.ArrowCapacityError)
"""What is raised for lack of memory, and by Arrow for more than 2 GiB of texts in an array."""

PIECE_ROWS = 1 << 18
"""Rows of a piece that an operator makes. One that it was given it may hand on whole."""


def peek(rows: Iterator[ZSet]) -> tuple[Iterator[ZSet], bool]:
    """The same pieces, and whether there are several."""
    first = list(islice(rows, 2))
    return chain(first, rows), len(first) > 1


def collect(node: Node, pieces: Iterable[ZSet]) -> ZSet:
    """All of the output of `node`. Raises OutOfMemory when there is no room for it."""
    parts = held_within_room(pieces)
    return parts[0] if len(parts) == 1 else concat(node.schema, parts)


def held_within_room(pieces: Iterable[ZSet]) -> list[ZSet]:
    """All pieces. Raises OutOfMemory when there is no room for them."""
    parts: list[ZSet] = []
    held = 0
    for piece in pieces:
        parts.append(piece)
        if len(parts) > 1:
            held += sum(column.nbytes for column in piece.columns) + piece.weights.nbytes
            refuse_beyond_room(held)
    return parts


def coalesced(pieces: Iterable[ZSet], rows: int | None = None) -> Iterator[ZSet]:
    """The same rows in pieces of about `rows` (PIECE_ROWS unless given); no piece is cut."""
    bound = PIECE_ROWS if rows is None else rows
    held, count = list[ZSet](), 0
    for piece in pieces:
        if not len(piece):
            continue
        if held and count + len(piece) > bound:
            yield concat(held[0].schema, held)
            held, count = [], 0
        held.append(piece)
        count += len(piece)
    if held:
        yield concat(held[0].schema, held) if len(held) > 1 else held[0]


def reduced(pieces: Iterable[ZSet], reduce: Callable[[ZSet], ZSet], context: EpochContext) -> Iterator[ZSet]:
    """Pieces that stand for all of them, where of any rows `reduce` gives those that matter.

    A single piece is not reduced. The rows held are at most about twice those that matter, and two pieces.
    """
    held = list[ZSet]()
    count, matter = 0, 0
    for piece in pieces:
        poll(context)
        held.append(piece)
        count += len(piece)
        if len(held) > 1 and count > PIECE_ROWS + 2 * matter:
            held = [reduce(concat(held[0].schema, held))]
            count = matter = len(held[0])
    yield from held


def merged(pieces: Iterable[ZSet], context: EpochContext) -> Iterator[ZSet]:
    """Pieces with the same sum in which few rows are there twice."""
    return reduced(pieces, consolidate, context)


def divided(work: Callable[[ZSet], T], rows: ZSet) -> Iterator[T]:
    """What `work` makes of the rows: of all at once, or of parts if the results do not fit into one array."""
    try:
        done = work(rows)
    except SHORTAGES:
        if len(rows) <= 1:
            raise
        middle = len(rows) // 2
        yield from divided(work, rows.slice(0, middle))
        yield from divided(work, rows.slice(middle, len(rows) - middle))
    else:
        yield done


def withdrawals_first(delta: ZSet) -> ZSet:
    """The same change, each row once, those that go before those that come."""
    delta = consolidate(delta)
    if not len(delta) or delta.weights.min() > 0 or delta.weights.max() < 0:
        return delta
    return delta.take(np.argsort(delta.weights > 0, kind="stable"))


def sum_of(parts: Sequence[ZSet]) -> ZSet:
    """One ZSet of a change that came in parts; of several, with each row once."""
    return parts[0] if len(parts) == 1 else consolidate(concat(parts[0].schema, parts))
