"""The compiled loops over deltas of bags, beside plain Python."""

import random

import numpy as np
import pytest

from millpond.storage import kernels_bag
from millpond.storage.kernels_rows import ALIVE


@pytest.mark.parametrize("seed", range(20))
def test_deltas_are_added_up_and_settled(seed: int) -> None:
    rng = random.Random(seed)
    keys, rows = 40, 100
    head, died = np.full(keys, -1, np.int32), np.full(rows, ALIVE, np.uint32)
    counts = np.array([rng.randrange(1, 4) for _ in range(rows)], np.int64)
    live = dict[int, int]()
    for entry, position in enumerate(rng.sample(range(rows), keys)):
        if rng.random() < 0.7:
            head[entry] = position
            if rng.random() < 0.2:
                died[position] = 7
            else:
                live[entry] = position
    for count in (0, 1, 2, 3, 5, 8, 60):
        entries = [rng.randrange(keys) for _ in range(count)]
        made_count = rng.randrange(4)
        for entry in range(keys, keys + made_count):
            # Those made for the delta come in their order, and may come again.
            again = [entry] * (rng.randrange(3) if entry == keys + made_count - 1 else 0)
            entries += [entry, *again]
        count = len(entries)
        weights = [rng.choice([1, 1, 2, -1]) for _ in entries]
        net = dict[int, int]()
        for entry, weight in zip(entries, weights, strict=True):
            net[entry] = net.get(entry, 0) + weight
        had = {entry: int(counts[live[entry]]) if entry in live else 0 for entry in net}

        given = np.array(entries, np.int32)
        first, sums, old, before, kept, left, gone = np.empty((7, count), np.int64)
        slots, numbers = np.zeros(2 << count.bit_length(), np.int32), np.zeros(made_count, np.int32)
        tables = (keys, head, died, counts, slots, numbers, first, sums, old, before)
        assert kernels_bag.net_rows(given, np.array(weights, np.int64), *tables) == len(net)
        part = slice(0, len(net))
        assert first[part].tolist() == [entries.index(entry) for entry in net]
        assert sums[part].tolist() == [*net.values()]
        assert old[part].tolist() == [live.get(entry, -1) for entry in net]
        assert before[part].tolist() == [*had.values()]

        kept_entries, gone_entries = np.empty((2, count), np.int32)
        inputs = (given, first[part], sums[part], old[part], before[part])
        written = kernels_bag.settle_rows(*inputs, kept, left, kept_entries, gone, gone_entries)
        if any(had[entry] + net[entry] < 0 for entry in net):
            assert written == (-1, -1)
            continue
        stay = [entry for entry in net if net[entry] and had[entry] + net[entry]]
        end = [entry for entry in net if net[entry] and not had[entry] + net[entry]]
        assert written == (len(stay), len(end))
        assert kept[: len(stay)].tolist() == [entries.index(entry) for entry in stay]
        assert left[: len(stay)].tolist() == [had[entry] + net[entry] for entry in stay]
        assert kept_entries[: len(stay)].tolist() == stay
        assert gone[: len(end)].tolist() == [live[entry] for entry in end]
        assert gone_entries[: len(end)].tolist() == end
