"""`KnownKeys`: entries of keys that several small indexes are asked about at once.

Views that group the same rows alike ask each its own table for the same keys. These are numbered once, in a
dictionary that the tables share, and each table's index knows the entry of every number it was asked for
before: an array is read where keys would be hashed and compared.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from . import kernels_rows
from .index import Died, Entries, HashIndex
from .keycode import KeyColumns, encode_keys
from .keys import Keys
from .reserve import grown
from .tablespec import Positions
from .types import Type

SMALL_KEYS = 1024
"""Keys of an index up to which their numbers are kept."""

DICTIONARY_MAX = 1 << 15
"""Keys of a dictionary beyond which it is begun anew."""

ASKED_MIN = 2
"""So many indexes are asked by the keys themselves before these are numbered: it must be worth it."""

_local = threading.local()


class KnownKeys:
    """What one index knows: `entry_of[number]`, −1 where it was never asked."""

    __slots__ = ("dictionary", "entry_of")

    def __init__(self, dictionary: HashIndex) -> None:
        self.dictionary = dictionary
        self.entry_of: Entries = np.full(64, -1, np.int32)

    def note(self, numbers: Entries, entries: Entries) -> None:
        used, needed = len(self.entry_of), int(numbers.max(initial=-1)) + 1
        if needed > used:
            self.entry_of = grown(self.entry_of, used, needed)
            self.entry_of[used:] = -1
        self.entry_of[numbers] = entries


def enter_keys(
    index: HashIndex, keys: Sequence[object], types: tuple[Type, ...], length: int, died: Died, limit: int
) -> tuple[Entries, Positions, int]:
    """(entries of different keys, made where there are none; live rows, −1: none; how many those are)."""
    numbers = None
    if type(keys) is KeyColumns and index.count <= SMALL_KEYS:
        numbers = _numbers(keys, types, length)
        if numbers is not None:
            found = _known(index, numbers[0], numbers[1], died)
            if found is not None:
                return found
    entries = index.enter(encode_keys(keys, types, length))  # pyright: ignore[reportArgumentType]
    if numbers is not None and index.known is not None:
        index.known.note(numbers[1], entries)
    positions = index.latest(entries, died, limit, kernels_rows.ALIVE - 1)
    return entries, positions, int(np.count_nonzero(positions >= 0))


def _known(
    index: HashIndex, dictionary: HashIndex, numbers: Entries, died: Died
) -> tuple[Entries, Positions, int] | None:
    known = index.known
    if known is None or known.dictionary is not dictionary:
        index.known = KnownKeys(dictionary)
        return None
    entries = np.empty(len(numbers), np.int32)
    positions: npt.NDArray[np.int64] = np.empty(len(numbers), np.int64)
    count = kernels_rows.known_rows(numbers, known.entry_of, index.head, died, entries, positions)
    return None if count < 0 else (entries, positions, count)


def _numbers(keys: KeyColumns, types: tuple[Type, ...], length: int) -> tuple[HashIndex, Entries] | None:
    """The dictionary and the numbers of keys; None if too few indexes were asked for them."""
    keys.asked += 1
    if keys.asked <= ASKED_MIN:
        return None
    if keys.numbers is None or keys.numbers[0] != types:
        encoded = keys.keys(types, length)
        dictionary = _dictionary(types, encoded)
        keys.numbers = types, dictionary, dictionary.enter(encoded)
    return keys.numbers[1], keys.numbers[2]


def _dictionary(types: tuple[Type, ...], keys: Keys) -> HashIndex:
    """This thread's dictionary for keys of some types."""
    dictionaries: dict[tuple[Type, ...], HashIndex] | None = getattr(_local, "dictionaries", None)
    if dictionaries is None:
        dictionaries = _local.dictionaries = {}
    found = dictionaries.get(types)
    if found is None or found.count > DICTIONARY_MAX:
        found = dictionaries[types] = HashIndex(keys.width)
    return found
