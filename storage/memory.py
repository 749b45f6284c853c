"""`MemoryStore`: the slow and obvious store; the reference for `RocksStore` and the store of simulations."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from .store import Store, StoreBatch


class MemoryStore:
    """A dict and its sorted keys. With `durable`, shows how a store comes back from a crash.

    `durable` is the list of batches of which a crash leaves a prefix; `flushed` counts those that it
    cannot take.
    """

    def __init__(self, durable: list[StoreBatch] | None = None) -> None:
        self.batches = [] if durable is None else durable
        self.flushed = len(self.batches)
        self._rows: dict[bytes, bytes] = {}
        self._sorted: list[bytes] | None = None
        for batch in self.batches:
            self._apply(batch)

    def get(self, key: bytes) -> bytes | None:
        return self._rows.get(key)

    def values(self, low: bytes, high: bytes, chunk: int) -> Iterator[list[bytes]]:
        found = [value for _, value in self.items(low, high)]
        return (found[i : i + chunk] for i in range(0, len(found), chunk))

    def items(self, low: bytes, high: bytes) -> list[tuple[bytes, bytes]]:
        if self._sorted is None:
            self._sorted = sorted(self._rows)
        keys = self._sorted
        return [(key, self._rows[key]) for key in keys[bisect_left(keys, low) : bisect_left(keys, high)]]

    def snapshot(self) -> MemorySnapshot:
        return MemorySnapshot(dict(self._rows))

    def write(self, batch: StoreBatch) -> None:
        self.batches.append(batch)
        self._apply(batch)

    def flush(self) -> None:
        self.flushed = len(self.batches)

    def figures(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        self.flush()

    def copy_from(self, store: Store) -> None:
        """Takes over all content of another store."""
        batch = StoreBatch()
        for key, value in store.items(b"", b"\xff" * 8):
            batch.put(key, value)
        self.write(batch)

    def _apply(self, batch: StoreBatch) -> None:
        for low, high in batch.ranges:
            for key in [key for key in self._rows if low <= key < high]:
                del self._rows[key]
        self._sorted = None
        for key in batch.deletes:
            self._rows.pop(key, None)
        self._rows.update(zip(batch.keys, batch.values, strict=True))


class MemorySnapshot:
    """A copy."""

    def __init__(self, rows: dict[bytes, bytes]) -> None:
        self._rows = rows

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self._rows.get(key) for key in keys]

    def values(self, low: bytes, high: bytes, chunk: int) -> Iterator[list[bytes]]:
        found = [self._rows[key] for key in sorted(self._rows) if low <= key < high]
        return (found[i : i + chunk] for i in range(0, len(found), chunk))

    def part(self, low: bytes, high: bytes, chunk: int) -> tuple[list[bytes], bytes]:
        keys = [key for key in sorted(self._rows) if low <= key < high]
        return [self._rows[key] for key in keys[:chunk]], keys[chunk] if len(keys) > chunk else b""

    def last(self, low: bytes, high: bytes) -> bytes | None:
        keys = [key for key in self._rows if low <= key < high]
        return self._rows[max(keys)] if keys else None

    def continuations(self, prefixes: Sequence[bytes]) -> list[list[bytes]]:
        ordered = sorted(self._rows)
        return [[key[len(p) :] for key in ordered if key.startswith(p)] for p in prefixes]
