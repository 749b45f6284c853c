"""Filters of keys in the store: what was added is found, and few others; the loops and their plain twins."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millpond.storage import kernels_filter
from millpond.storage.key_filter import KEYS_WORD, PRIMARY, KeyFilter, KeyFilters
from millpond.storage.keycode import encode_keys
from millpond.storage.keys import Keys
from millpond.storage.schema import Schema
from millpond.storage.tablespec import TableSpec
from millpond.storage.types import INT8, TEXT
from millpond.storage.versions import GrowingRows


def keys(low: int, high: int) -> Keys:
    return encode_keys([pa.array(np.arange(low, high))], [INT8], high - low)


def test_keys_that_were_added_are_found_and_few_others() -> None:
    filter_ = KeyFilter()
    assert len(filter_.may_have(keys(0, 100))) == 0
    for start in range(0, 60_000, 5000):
        filter_.add(keys(start, start + 5000))
    assert len(filter_.may_have(keys(0, 60_000))) == 60_000
    assert len(filter_.may_have(keys(100_000, 200_000))) < 2000


def test_keys_added_again_take_no_room() -> None:
    filter_ = KeyFilter()
    filter_.add(keys(0, 2000))
    size = filter_.nbytes
    for _ in range(20):
        filter_.add(keys(0, 2000))
    assert filter_.nbytes == size
    filter_.add(keys(2000, 2000 + KEYS_WORD * size // 8))
    assert filter_.nbytes > size


def test_rows_are_found_by_their_primary_key_and_by_each_index() -> None:
    spec = TableSpec(Schema.of(id=INT8, name=TEXT), (0,), ((1,),))
    rows = GrowingRows(spec, 0)
    columns = [pa.array([1, 2, 3]), pa.array(["a", None, "c"])]
    rows.enter(columns, 3)
    rows.append(columns, None, 3)
    filters = KeyFilters(1)
    filters.add(rows, np.array([0, 1]))
    ids = encode_keys([pa.array([3, 2, 1])], [INT8], 3)
    names = encode_keys([pa.array(["c", "a", None])], [TEXT], 3)
    assert filters.may_have(PRIMARY, ids).to_bytes_list() == ids.to_bytes_list()[1:]
    assert filters.may_have(0, names).to_bytes_list() == names.to_bytes_list()[1:]


def word_of(hash_: int, words: int) -> tuple[int, int]:
    bits = 0
    for shift in (0, 6, 12, 18):
        bits |= 1 << (hash_ >> shift & 63)
    return (hash_ >> 24) & (words - 1), bits


def test_the_loops_do_what_their_plain_twins_do() -> None:
    random = np.random.default_rng(4)
    hashes = random.integers(0, 1 << 64, 300, np.uint64)
    words = np.zeros(64, np.uint64)
    kernels_filter.add_hashes(words, hashes[:100])
    expected = [0] * 64
    for hash_ in hashes[:100].tolist():
        at, bits = word_of(hash_, 64)
        expected[at] |= bits
    assert words.tolist() == expected
    found = np.zeros(300, np.bool_)
    found[299] = True
    kernels_filter.find_hashes(words, hashes, found)
    plain = [expected[at] & bits == bits for at, bits in (word_of(hash_, 64) for hash_ in hashes.tolist())]
    assert found.tolist() == [*plain[:299], True]
    assert all(plain[:100])
