"""The words of Nexmark's texts, as Arrow arrays to draw from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pyarrow as pa

from .randomness import Randomness

_POOL = 1024


def _letters(field: str, low: int, high: int, count: int = _POOL) -> pa.Array:
    """Random lower-case words with lengths from `low` to `high`."""
    random = Randomness(0)
    numbers = np.arange(count)
    lengths = low + random.below(field, numbers, high - low + 1)
    texts = [
        bytes((97 + random.below(f"{field} {i}", np.arange(int(length)), 26)).astype(np.uint8)).decode()
        for i, length in enumerate(lengths)
    ]
    return pa.array(texts)


_FIRST = ["Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"]
_LAST = ["Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"]

NAMES = pa.array([f"{first} {last}" for first, last in product(_FIRST, _LAST)])
CITIES = pa.array(
    ["Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent",
     "Cheyenne"]
)  # fmt: skip
STATES = pa.array(["AZ", "CA", "ID", "OR", "WA", "WY"])
CHANNELS = pa.array(["Google", "Facebook", "Baidu", "Apple", *(f"channel-{i}" for i in range(96))])
URLS = pa.array(
    [f"https://www.nexmark.com/{a}/{b}/item.htm?query=1&channel_id={i}"
     for i, (a, b) in enumerate(zip(_letters("path", 5, 5, 100).to_pylist(),
                                    _letters("page", 5, 5, 100).to_pylist(), strict=True))]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Extras:
    padding: pa.Array
    emails: pa.Array
    cards: pa.Array


@dataclass(frozen=True, slots=True)
class _AuctionWords:
    items: pa.Array
    descriptions: pa.Array


EXTRAS = _Extras(
    _letters("padding", 20, 60),
    pa.array([f"{a}@{b}.com" for a, b in zip(_letters("user", 7, 7).to_pylist(),
                                             _letters("host", 5, 5).to_pylist(), strict=True)]),
    pa.array([" ".join(f"{part:04d}" for part in Randomness(0).below(f"card {i}", np.arange(4), 10_000))
              for i in range(_POOL)]),
)  # fmt: skip
AUCTION_WORDS = _AuctionWords(_letters("item", 10, 20), _letters("description", 30, 100))
