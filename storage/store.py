"""`Store`: ordered bytes, written in atomic batches. A cache of the changelog (I1).

    0000                        what the store says of itself (`mirror.py`)
    number, vnode, key bytes    one row of table `number` (4 bytes, from 1, big-endian; `storedrows.py`)

A store needs no log of its own: after a crash it holds some prefix of the batches written, at least those
before the last `flush`, and never a part of a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from .errors import IoError


@dataclass(slots=True)
class StoreBatch:
    """Writes that happen together.

    First `ranges` ([low, high)) are emptied, then `deletes`, then each of `keys` gets its of `values`.
    """

    ranges: list[tuple[bytes, bytes]] = field(default_factory=list)
    deletes: Sequence[bytes] = ()
    keys: list[bytes] = field(default_factory=list)
    values: list[bytes] = field(default_factory=list)

    def put(self, key: bytes, value: bytes) -> None:
        self.keys.append(key)
        self.values.append(value)


class StoreSnapshot(Protocol):
    """The store as it was at one moment. From any thread, as long as the store is not closed."""

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]: ...

    def values(self, low: bytes, high: bytes, chunk: int) -> Iterator[list[bytes]]:
        """As `Store.values`."""
        ...

    def part(self, low: bytes, high: bytes, chunk: int) -> tuple[list[bytes], bytes]:
        """The first `chunk` of `values`, and the key behind them: empty if there is none."""
        ...

    def last(self, low: bytes, high: bytes) -> bytes | None:
        """The value of the highest key in [low, high)."""
        ...

    def continuations(self, prefixes: Sequence[bytes]) -> list[list[bytes]]:
        """Of each prefix, what follows it in the keys that begin with it, ascending."""
        ...


class Store(Protocol):
    """Readable from any thread, also beside the one thread that writes. Reading raises StoreFailure."""

    def get(self, key: bytes) -> bytes | None: ...

    def values(self, low: bytes, high: bytes, chunk: int) -> Iterator[list[bytes]]:
        """The values of the keys in [low, high), in key order, at most `chunk` in a list.

        They are those at the time of the call.
        """
        ...

    def items(self, low: bytes, high: bytes) -> list[tuple[bytes, bytes]]:
        """The same with keys, for small ranges."""
        ...

    def snapshot(self) -> StoreSnapshot: ...

    def write(self, batch: StoreBatch) -> None:
        """Applies the batch as a whole. Raises OSError."""
        ...

    def flush(self) -> None:
        """Makes all written batches durable. Raises OSError."""
        ...

    def figures(self) -> Mapping[str, int]:
        """Bytes by what takes them: `files`, `buffers`, `cache`, `indexes`; none once it is closed."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class TakesFiles(Protocol):
    """A store to which files of sorted keys can be added."""

    def ingest(self, file: Path) -> None:
        """Makes a file's keys part of the store, over what it has under them; durably. The file goes.

        Raises OSError.
        """
        ...


class StoreFailure(IoError):
    """Something in the store could not be read."""


class StoreUnreadable(Exception):
    """The store's files cannot be read: it must be rebuilt from the log."""
