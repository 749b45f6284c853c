"""Each compiled loop against a plain twin."""

from __future__ import annotations

import random
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pytest

from millpond.storage import kernels, kernels_keys, kernels_rows, kernels_slots
from millpond.storage.keyvalues import decimal_bytes

M64 = (1 << 64) - 1
ALIVE = kernels_rows.ALIVE
NO_OFFSETS = np.empty(0, np.int64)
NO_BYTES = np.empty(0, np.uint8)


def plain_hash(key: bytes) -> int:
    """The hash called millpond-64-1."""
    k1, k2, k3, k4 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53
    h = len(key) * k3 & M64
    for i in range(0, len(key), 8):
        x = int.from_bytes(key[i : i + 8], "little") * k1 & M64
        x ^= x >> 32
        h = (h ^ x) * k2 & M64
        h ^= h >> 29
    h = (h ^ h >> 33) * k3 & M64
    h = (h ^ h >> 33) * k4 & M64
    return h ^ h >> 33


def pack(keys: Sequence[bytes]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    offsets = np.cumsum([0, *map(len, keys)], dtype=np.int64)
    return np.frombuffer(b"".join(keys) or b"\x00", np.uint8), offsets


def some_keys(rng: random.Random, count: int, width: int) -> list[bytes]:
    """Few different keys, so that they repeat; of `width` bytes or of any length (0)."""
    return [
        rng.choice(b"abc").to_bytes(1, "big") * (width or rng.choice([0, 1, 7, 8, 9, 40]))
        for _ in range(count)
    ]


@pytest.mark.parametrize("width", [0, 1, 8, 9, 17, 40])
def test_hash_keys(width: int) -> None:
    rng = random.Random(width)
    keys = [rng.randbytes(width or rng.randrange(60)) for _ in range(300)]
    data, offsets = pack(keys)
    out = np.empty(300, np.uint64)
    kernels.hash_keys(data, NO_OFFSETS if width else offsets, width, out)
    assert out.tolist() == [plain_hash(key) for key in keys]


@pytest.mark.parametrize("width", [0, 1, 9])
@pytest.mark.parametrize("slots", [301, 1000])
def test_group_keys(width: int, slots: int) -> None:
    keys = some_keys(random.Random(width), 300, width)
    data, offsets = pack(keys)
    ids, first = np.empty(300, np.int64), np.empty(300, np.int64)
    count = kernels.group_keys(data, offsets, width, np.zeros(slots, np.uint64), ids, first)
    seen: dict[bytes, int] = {}
    assert ids.tolist() == [seen.setdefault(key, len(seen)) for key in keys]
    assert first[:count].tolist() == [keys.index(key) for key in seen]


class PlainIndex:
    """Keys numbered as they come, and for each key its rows, newest first."""

    def __init__(self) -> None:
        self.entries: dict[bytes, int] = {}
        self.chains: list[list[int]] = []

    def intern(self, key: bytes) -> int:
        if key not in self.entries:
            self.entries[key] = len(self.chains)
            self.chains.append([])
        return self.entries[key]


class Index:
    """The arrays the kernels work on, large enough for the test."""

    def __init__(self, width: int, homes: int = 600, rows: int = 4000) -> None:
        self.width = width
        self.slots = self.after = np.zeros(2 * homes, np.uint64)
        self.swept = 0
        self.data = np.zeros(20_000, np.uint8)
        self.offsets = np.zeros(500, np.int64)
        self.head = np.full(500, -1, np.int32)
        self.link = np.full(rows, -1, np.int32)
        self.died = np.full(rows, ALIVE, np.uint32)
        self.count = 0

    def intern(self, keys: list[bytes]) -> npt.NDArray[np.int32]:
        data, offsets = pack(keys)
        out = np.empty(len(keys), np.int32)
        self.count = kernels.intern_keys(
            self.slots, self.after, self.swept, self.data, self.offsets, self.width, self.count, self.head,
            data, offsets, out,
        )  # fmt: skip
        return out

    def find(self, keys: list[bytes], limit: int | None = None) -> list[int]:
        data, offsets = pack(keys)
        out = np.empty(len(keys), np.int32)
        bound = self.count if limit is None else limit
        kernels.find_keys(
            self.slots, self.after, self.swept, self.data, self.offsets, self.width, bound, data, offsets, out
        )
        return out.tolist()

    def chain(self, entry: int) -> list[int]:
        rows: list[int] = []
        position = int(self.head[entry])
        while position >= 0:
            rows.append(position)
            position = int(self.link[position])
        return rows


def distinct_keys(rng: random.Random, count: int, width: int) -> list[bytes]:
    return list({rng.randbytes(width or rng.randrange(30)) for _ in range(count)})


@pytest.mark.parametrize("width", [0, 2, 9])
@pytest.mark.parametrize("least", [1, 50, 10_000])
def test_intern_and_find_while_slots_are_swept(width: int, least: int) -> None:
    rng = random.Random(width)
    pool = distinct_keys(rng, 480, width)
    index, plain = Index(width), PlainIndex()
    earlier: list[tuple[int, int, list[int]]] = []

    def check() -> None:
        batch = [rng.choice(pool[:450]) for _ in range(100)]
        assert index.intern(batch).tolist() == [plain.intern(key) for key in batch]
        expected = [plain.entries.get(key, -1) for key in pool]
        assert index.find(pool) == expected
        assert index.find(pool, 50) == [entry if entry < 50 else -1 for entry in expected]
        earlier.append((index.swept, index.count, expected))

    check()
    index.after = np.zeros(2 * 977, np.uint64)
    while index.swept < 600:
        index.swept = kernels_slots.sweep_slots(index.slots, index.after, index.swept, least)
        assert index.swept == 1200 or not index.slots[index.swept]
        check()
    # A reader of each moment still finds what there was.
    last = index.swept, index.count
    for index.swept, index.count, expected in earlier:
        assert index.find(pool) == expected
    index.swept, index.count = last
    index.slots, index.swept = index.after, 0
    assert index.find(pool) == [plain.entries.get(key, -1) for key in pool]


def test_slots_behind_the_last_home_are_used() -> None:
    """All keys at home in the last slot: they lie behind it, and move with it."""
    keys = [key.to_bytes(8, "big") for key in range(200_000)]
    last = [key for key in keys if (plain_hash(key) >> 32) * 600 >> 32 == 599][:300]
    index, plain = Index(8), PlainIndex()
    assert index.intern(last).tolist() == [plain.intern(key) for key in last]
    assert np.flatnonzero(index.slots).tolist() == list(range(599, 599 + len(last)))
    index.after = np.zeros(2 * 700, np.uint64)
    index.swept = kernels_slots.sweep_slots(index.slots, index.after, 0, 1)
    while index.swept < 600:
        index.swept = kernels_slots.sweep_slots(index.slots, index.after, index.swept, 1)
    assert index.find(last) == list(range(len(last)))


def test_replace_latest_and_unchain() -> None:
    rng = random.Random(2)
    index = Index(9)
    versions: list[list[int]] = [[] for _ in range(50)]
    died: dict[int, int] = {}
    start = 0
    for now in range(1, 30):
        entries = np.array(rng.sample(range(50), 10), np.int32)
        old = np.empty(10, np.int64)
        args = (entries, index.head, index.link, index.died, start, now, old)
        assert kernels_rows.replace_rows(*args) == -1
        for i, entry in enumerate(entries.tolist()):
            last = versions[entry][-1] if versions[entry] else -1
            alive = last >= 0 and last not in died
            assert old[i] == (last if alive else -1)
            if alive:
                died[last] = now
            versions[entry].append(start + i)
        ended = np.array([rng.randrange(start + 10)], np.int64)
        failed = kernels_rows.end_rows(ended, index.died, start + 10, now)
        assert failed == (0 if ended[0] in died else -1)
        died.setdefault(int(ended[0]), now)
        start += 10
        if rng.random() < 0.3:
            kernels_rows.unchain_rows(entries, index.head, index.link, start - 10)
            for entry in entries.tolist():
                versions[entry].pop()
        check_latest(index, versions, died, start)


def check_latest(index: Index, versions: list[list[int]], died: dict[int, int], rows: int) -> None:
    probes = np.array([-1, *range(50)], np.int32)
    out = np.empty(51, np.int64)
    for limit, as_of in ((rows, ALIVE - 1), (rows // 2, rows // 20), (0, 0)):
        kernels_rows.latest_rows(probes, index.head, index.link, index.died, limit, as_of, out)
        expected = [-1]
        for chain in versions:
            last = max((row for row in chain if row < limit), default=-1)
            expected.append(last if last >= 0 and died.get(last, ALIVE) > as_of else -1)
        assert out.tolist() == expected


def test_replace_refuses_a_key_twice() -> None:
    index = Index(9)
    entries, old = np.array([3, 4, 3], np.int32), np.empty(3, np.int64)
    assert kernels_rows.replace_rows(entries, index.head, index.link, index.died, 0, 1, old) == 2


def test_end_rows_changes_all_or_nothing() -> None:
    died = np.full(5, ALIVE, np.uint32)
    for positions in ([0, 1, 1], [2, 7], [3, -1]):
        assert kernels_rows.end_rows(np.array(positions), died, 5, 9) == len(positions) - 1
        assert (died == ALIVE).all()
    assert kernels_rows.end_rows(np.array([0, 4]), died, 5, 9) == -1
    assert died.tolist() == [9, ALIVE, ALIVE, ALIVE, 9]


def chained(rng: random.Random, width: int = 9) -> tuple[Index, list[bytes], list[int]]:
    """300 rows under 20 keys, half of them ended at epochs up to 20: (index, keys, entry of each row)."""
    index = Index(width)
    pool = distinct_keys(rng, 20, width)
    entry_of: list[int] = []
    for start in range(0, 300, 50):
        entries = index.intern([rng.choice(pool) for _ in range(50)])
        kernels_rows.chain_rows(entries, index.head, index.link, start)
        entry_of += entries.tolist()
    ended = rng.sample(range(300), 150)
    index.died[ended] = [rng.randint(0, 20) for _ in ended]
    return index, pool, entry_of


@pytest.mark.parametrize("seed", range(3))
def test_chains_are_counted_listed_and_pruned(seed: int) -> None:
    rng = random.Random(seed)
    index, _, entry_of = chained(rng)
    probes = np.array([-1, *(rng.randrange(index.count) for _ in range(30))], np.int32)
    for limit, as_of in ((300, ALIVE - 1), (300, 7), (111, 3), (0, 0)):
        expected = [
            (i, row)
            for i, entry in enumerate(probes.tolist())
            for row in range(limit)
            if entry_of[row] == entry and index.died[row] > as_of
        ]
        args = (probes, index.head, index.link, index.died, limit, as_of)
        total = kernels_rows.count_chain(*args)
        numbers, positions = np.empty(total, np.int64), np.empty(total, np.int64)
        kernels_rows.list_chain(*args, numbers, positions)
        assert list(zip(numbers.tolist(), positions.tolist(), strict=True)) == expected
    live = kernels_rows.prune_chain(probes, index.head, index.link, index.died, 10)
    wanted = sum(entry_of[r] == e and index.died[r] == ALIVE for e in probes.tolist() for r in range(300))
    assert live == wanted
    for entry in range(index.count):
        rows = [r for r in range(299, -1, -1) if entry_of[r] == entry]
        if entry in probes:
            rows = [r for r in rows if index.died[r] > 10]
        assert index.chain(entry) == rows


@pytest.mark.parametrize("width", [0, 9])
@pytest.mark.parametrize("swept", [0, 1])
def test_compact_keys(width: int, swept: int) -> None:
    rng = random.Random(width)
    index, pool, entry_of = chained(rng, width)
    index.died[[r for r in range(300) if entry_of[r] in (0, 3)]] = 5  # keys that have no row left
    alive = np.flatnonzero(index.died[:300] == ALIVE)
    moved = np.full(300, -1, np.int32)
    moved[alive] = np.arange(len(alive))
    new = Index(width, 64)
    renumbered = np.empty(index.count, np.int32)
    new.count = kernels_slots.compact_keys(
        index.head, index.link, moved, index.data, index.offsets, width, index.count, False,
        new.head, new.link, new.data, new.offsets, renumbered,
    )  # fmt: skip
    if swept:
        index.after = np.zeros(2 * 900, np.uint64)
        index.swept = kernels_slots.sweep_slots(index.slots, index.after, 0, 200)
        kernels_slots.renumber_slots(index.after, 0, index.swept, 600, new.slots, renumbered)
    kernels_slots.renumber_slots(index.slots, index.swept, 600, 600, new.slots, renumbered)
    before = index.find(pool)
    for entry, old in zip(new.find(pool), before, strict=True):
        rows = [int(moved[r]) for r in range(299, -1, -1) if entry_of[r] == old and moved[r] >= 0]
        assert (new.chain(entry) if entry >= 0 else []) == rows
        assert entry == (renumbered[old] if old >= 0 else -1)


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("flip", [0, 255])
def test_place_text(nulls: bool, flip: int) -> None:
    rng = random.Random(flip)
    values = [bytes(rng.choices(b"\x00\x01a\xff", k=rng.randrange(6))) for _ in range(100)]
    valid = np.array([rng.randrange(2) for _ in values], np.uint8) if nulls else NO_BYTES
    expected = [
        b"\x02"
        if nulls and not valid[i]
        else b"\x01" + bytes(b ^ flip for b in value.replace(b"\x00", b"\x00\xff") + b"\x00\x00")
        for i, value in enumerate(values)
    ]
    data, offsets = pack(values)
    sizes = np.full(100, 2, np.int64)
    kernels_keys.text_sizes(data, offsets.astype(np.int32), valid, sizes)
    assert sizes.tolist() == [len(e) + 2 for e in expected]
    ends = np.cumsum(sizes)
    out = np.zeros(int(ends[-1]), np.uint8)
    cursor = ends - sizes
    kernels_keys.place_text(data, offsets.astype(np.int32), valid, 1, 2, flip, out, cursor)
    assert out.tobytes() == b"".join(e + b"\x00\x00" for e in expected)
    assert cursor.tolist() == (ends - 2).tolist()


def test_place_bytes() -> None:
    data = np.arange(100, dtype=np.uint8)
    starts, sizes = np.array([7, 0, 50]), np.array([3, 0, 5])
    out, cursor = np.zeros(12, np.uint8), np.array([0, 4, 5])
    kernels_keys.place_bytes(data, starts, sizes, out, cursor)
    assert out.tolist() == [7, 8, 9, 0, 0, 50, 51, 52, 53, 54, 0, 0]
    assert cursor.tolist() == [3, 4, 10]


@pytest.mark.parametrize("scale", [0, 1, 2, 7, 37, 38])
def test_encode_decimals(scale: int) -> None:
    rng = random.Random(scale)
    unscaled = [0, 1, -1, 10**38 - 1, 1 - 10**38, 2**64, -(2**64), 2**64 - 1, 10**19, 5 * 10**37]
    unscaled += [rng.choice([1, -1]) * rng.randrange(10 ** rng.randint(1, 38)) for _ in range(500)]
    valid = np.array([rng.randrange(5) > 0 for _ in unscaled], np.uint8)
    words = np.array([[u & M64, (u >> 64) & M64] for u in unscaled], np.uint64)
    out = np.empty(len(unscaled) * kernels_keys.NUMERIC_BYTES, np.uint8)
    sizes = np.empty(len(unscaled), np.int64)
    kernels_keys.encode_decimals(words, valid, scale, 1, 2, out, sizes)
    rows = out.reshape(-1, kernels_keys.NUMERIC_BYTES)
    for i, number in enumerate(unscaled):
        expected = b"\x01" + decimal_bytes(Decimal(f"{number}e{-scale}")) if valid[i] else b"\x02"
        assert rows[i, : sizes[i]].tobytes() == expected, number


def test_encode_numeric_texts() -> None:
    rng = random.Random(8)
    texts = ["0", "-0.00", "000.100", "1e5", "-1.5E-3", "2e+2", "9" * 200, "-0." + "0" * 150 + "12"]
    for _ in range(500):
        digits = "".join(rng.choices("0012345678999", k=rng.randint(1, 40)))
        place = rng.randrange(len(digits))
        texts.append(rng.choice(["", "-"]) + digits[:place] + rng.choice(["0", "0."]) + digits[place:])
    specials = {"-Infinity": b"\x01\x01", "Infinity": b"\x01\x05", "NaN": b"\x01\x06"}
    texts += specials
    valid = np.array([rng.randrange(9) > 0 for _ in texts], np.uint8)
    data, offsets = pack([text.encode() for text in texts])
    starts = offsets[:-1] + np.arange(len(texts)) * kernels_keys.NUMERIC_TEXT_EXTRA
    out = np.full(int(starts[-1]) + 20, 170, np.uint8)
    sizes = np.empty(len(texts), np.int64)
    kernels_keys.encode_numeric_texts(data, offsets.astype(np.int32), valid, 1, 2, out, starts, sizes)
    for i, text in enumerate(texts):
        expected = specials.get(text) or b"\x01" + decimal_bytes(Decimal(text))
        assert out[starts[i] :][: sizes[i]].tobytes() == (expected if valid[i] else b"\x02"), text
        assert sizes[i] <= len(text) + kernels_keys.NUMERIC_TEXT_EXTRA


def test_group_entries() -> None:
    rng = random.Random(6)
    for span in (1, 7, 300):
        entries = [rng.randrange(span) for _ in range(200)]
        ids, first = np.empty(200, np.int64), np.empty(200, np.int64)
        numbers = np.zeros(span, np.int32)
        groups = kernels_rows.group_entries(np.array(entries, np.int32), numbers, ids, first)
        distinct = list(dict.fromkeys(entries))
        assert groups == len(distinct)
        assert ids.tolist() == [distinct.index(entry) for entry in entries]
        assert first[:groups].tolist() == [entries.index(entry) for entry in distinct]


def test_group_dense() -> None:
    rng = random.Random(5)
    for low, span in ((-3, 1), (0, 7), (10**15, 300)):
        values = [low + rng.randrange(span) for _ in range(200)]
        ids, first = np.empty(200, np.int64), np.empty(span, np.int64)
        numbers = np.zeros(span, np.int32)
        groups = kernels.group_dense(np.array(values), low, numbers, ids, first)
        distinct = list(dict.fromkeys(values))
        assert groups == len(distinct)
        assert ids.tolist() == [distinct.index(value) for value in values]
        assert first[:groups].tolist() == [values.index(value) for value in distinct]


def simple_plan(entries: list[int], weights: list[int], alive: dict[int, int]) -> list[int] | None:
    """The live row of each key of a simple delta to a keyed table."""
    going = [entry for entry, weight in zip(entries, weights, strict=True) if weight == -1]
    coming = [entry for entry, weight in zip(entries, weights, strict=True) if weight == 1]
    if len(going) + len(coming) < len(entries):
        return None
    if len(set(going)) < len(going) or len(set(coming)) < len(coming) or not set(going) <= alive.keys():
        return None
    if any((entry in alive) != (entry in going) for entry in coming):
        return None
    return [alive.get(entry, -1) for entry in entries]


@pytest.mark.parametrize("seed", range(20))
def test_plans_of_deltas(seed: int) -> None:
    rng = random.Random(seed)
    index, alive = Index(9), dict[int, int]()
    for entry in rng.sample(range(40), 25):
        index.head[entry] = position = rng.randrange(1000) * 4 + rng.randrange(2)
        if position % 4:
            index.died[position] = 7
        else:
            alive[entry] = position
    for _ in range(200):
        count = rng.randrange(1, 5)
        entries = [rng.randrange(40) for _ in range(count)]
        weights = [rng.choice([1, 1, -1, -1, 2]) for _ in range(count)]
        if rng.random() < 0.5:
            entries = [*alive][:count] * 2
            weights = [-1] * (len(entries) // 2) + [1] * (len(entries) // 2)
        numbers, old = np.array(entries, np.int32), np.full(len(entries), -9, np.int64)
        before = index.head.copy(), index.died.copy()
        bits = [np.zeros(63, np.uint8) for _ in range(3)]
        arguments = (numbers, np.array(weights), index.head, index.died, bits[0], bits[1], old)
        simple = kernels_rows.plan_keyed(*arguments)
        expected = simple_plan(entries, weights, alive)
        assert simple == (expected is not None)
        assert not simple or old.tolist() == expected
        assert (index.head == before[0]).all() and (index.died == before[1]).all()
        for part in bits:
            kernels_rows.clear_bits(numbers, part)
            assert not part.any()


@pytest.mark.parametrize("single", [False, True])
def test_relink_rows(single: bool) -> None:
    rng = random.Random(8)
    index, rows, chains = Index(9), 0, [list[int]() for _ in range(30)]
    for _ in range(15):
        entries = rng.sample(range(30), 6)
        kernels_rows.chain_rows(np.array(entries, np.int32), index.head, index.link, rows)
        for i, entry in enumerate(entries):
            chains[entry].insert(0, rows + i)
        rows += 6
    moved, left = np.full(rows, -1, np.int32), 0
    for row in range(rows):
        if rng.random() < 0.5 and not (single and row not in [chain[0] for chain in chains if chain]):
            moved[row], left = left, left + 1
    new = Index(9)
    new.head[:] = 77
    kernels_rows.relink_rows(index.head, index.link, moved, 30, single, new.head, new.link)
    for entry, chain in enumerate(chains):
        assert new.chain(entry) == [int(moved[row]) for row in chain if moved[row] >= 0]
