"""nextval, currval, lastval, setval: the numbers of sequences.

Numbers are drawn from `SystemContext.sequences`, all rows of a call at once. What this session drew
last is kept in `SystemContext.drawn`, by the sequence's OID; under `LAST` is the OID drawn from last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ...operators.functions.registry import scalar
from ...operators.functions.tables import table
from ...operators.functions.vector import values
from ...storage import types as t
from ...storage.errors import (
    FeatureNotSupported,
    NumericOutOfRange,
    ObjectNotReady,
    UndefinedTable,
    WrongObjectType,
)
from ..entries import Sequence as SequenceEntry
from .each import catalog_function
from .objects import SEQUENCE_COLUMNS
from .registry import SystemContext

if TYPE_CHECKING:
    from ...operators.node import EpochContext

LAST = 0


def _sequence(oid: int, system: SystemContext) -> SequenceEntry:
    """Raises UndefinedTable, WrongObjectType."""
    entry = system.catalog.by_oid(oid)
    if entry is None:
        raise UndefinedTable(f"could not open relation with OID {oid}")
    if not isinstance(entry, SequenceEntry):
        raise WrongObjectType(f'"{entry.name}" is not a sequence')
    return entry


@scalar("nextval", (t.REGCLASS,), t.INT8, volatility="volatile")
def next_value(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The next number of a sequence; of n rows the next n."""
    system: SystemContext = context.surroundings
    oids = values(args[0])
    result = np.empty(length, np.int64)
    for oid in dict.fromkeys(oids.tolist()):
        sequence = _sequence(oid, system)
        rows = np.flatnonzero(oids == oid)
        first = system.sequences.draw(sequence, len(rows))
        result[rows] = first + sequence.increment * np.arange(len(rows), dtype=np.int64)
        system.drawn[oid] = int(result[rows[-1]])
        system.drawn[LAST] = oid
    return pa.array(result)


@scalar("currval", (t.REGCLASS,), t.INT8, volatility="volatile")
def current_value(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The number this session drew last from a sequence."""
    system: SystemContext = context.surroundings
    done: list[int] = []
    for oid in args[0].to_pylist():
        sequence = _sequence(oid, system)
        if oid not in system.drawn:
            raise ObjectNotReady(f'currval of sequence "{sequence.name}" is not yet defined in this session')
        done.append(system.drawn[oid])
    return pa.array(done, pa.int64())


@scalar("lastval", (), t.INT8, volatility="volatile")
def last_value(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """The number this session drew last, from whichever sequence."""
    system: SystemContext = context.surroundings
    if LAST not in system.drawn:
        raise ObjectNotReady("lastval is not yet defined in this session")
    return pa.repeat(pa.scalar(system.drawn[system.drawn[LAST]], pa.int64()), length)


def _last(sequence: SequenceEntry, system: SystemContext) -> int | None:
    return None if system.sequences is None else system.sequences.last(sequence)


@catalog_function("pg_sequence_last_value", (t.REGCLASS,), result=t.INT8, volatility="volatile")
def _last_value_of(system: SystemContext, oid: int) -> int | None:
    """The number drawn last from a sequence, by whomever; NULL if none ever was."""
    return _last(_sequence(oid, system), system)


@table("pg_get_sequence_data", (t.REGCLASS,), SEQUENCE_COLUMNS)
def _sequence_data(
    args: Sequence[pa.Array], length: int, context: EpochContext
) -> tuple[pa.Array, list[pa.Array]]:
    """What a sequence shows when it is read like a table."""
    system = context.surroundings
    if not isinstance(system, SystemContext):
        raise FeatureNotSupported("a materialized view cannot read a sequence")
    found = [_sequence(oid, system) for oid in args[0].to_pylist()]
    last = [_last(sequence, system) for sequence in found]
    values_ = [s.start if number is None else number for s, number in zip(found, last, strict=True)]
    zeros = pa.array([0] * length, pa.int64())
    called = pa.array([number is not None for number in last], pa.bool_())
    return pa.array(range(length), pa.int64()), [pa.array(values_, pa.int64()), zeros, called]


def _set_value(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
    """Sets the number of a sequence; with false behind it, the number comes next, else the one after."""
    system: SystemContext = context.surroundings
    called = args[2].to_pylist() if len(args) > 2 else [True] * length
    for oid, value, used in zip(args[0].to_pylist(), args[1].to_pylist(), called, strict=True):
        sequence = _sequence(oid, system)
        if not sequence.minimum <= value <= sequence.maximum:
            raise NumericOutOfRange(
                f'setval: value {value} is out of bounds for sequence "{sequence.name}" '
                f"({sequence.minimum}..{sequence.maximum})"
            )
        system.sequences.set_next(oid, value + sequence.increment if used else value)
        if used:
            system.drawn[oid] = value
            system.drawn.setdefault(LAST, oid)
    return args[1]


scalar("setval", (t.REGCLASS, t.INT8), t.INT8, volatility="volatile")(_set_value)
scalar("setval", (t.REGCLASS, t.INT8, t.BOOL), t.INT8, volatility="volatile")(_set_value)
