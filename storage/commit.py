"""`Storage`: all state tables of a data directory, committed together epoch by epoch, and recovered.

storage = Storage.open(Path("data"))
table = storage.table("r16384", spec)       # with its rows of the last committed epoch
storage.begin()                             # opens epoch storage.epoch + 1 in every table
table.upsert(...)
storage.commit({"source": b"offset"})       # changelog and offsets with one fsync, then visible
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .disk import REAL, Disk
from .table import StateTable, TableSpec


class Storage:
    """The tables of one data directory. One process, one thread (the engine's) uses it.

    `epoch`: the last committed epoch, 0 for a new directory.
    `sources`: connector offsets as of that epoch.
    `stale`: names of tables whose stored shape was not the one asked for; they began empty.
    """

    epoch: int
    sources: dict[str, bytes]
    stale: set[str]

    @staticmethod
    def open(data: Path, log: Path | None = None, disk: Disk = REAL) -> Storage:
        """Opens or creates the directory; the log lies in `data/log` unless `log` says where.

        Raises StartupError: the directory is in use, not writable or of a newer format, the log has
        a hole or lost committed epochs.
        """
        raise NotImplementedError

    def names(self) -> list[str]:
        """Names of all tables there are, opened or only stored, sorted."""
        raise NotImplementedError

    def table(self, name: str, spec: TableSpec) -> StateTable:
        """The table of that name with its recovered content, created when there is none.

        If what is stored has another schema or key, the table begins empty, its name is in `stale`,
        and the stored rows are forgotten at the next commit. Indexes may differ freely. A table
        created within an epoch goes again with its rollback.
        """
        raise NotImplementedError

    def drop(self, name: str) -> None:
        """Within an epoch: forgets the table, durably at commit. Raises KeyError when there is none."""
        raise NotImplementedError

    def begin(self) -> int:
        """Opens the next epoch in every table and returns its number."""
        raise NotImplementedError

    def commit(self, sources: Mapping[str, bytes]) -> int:
        """Makes the open epoch durable, then visible. Returns its number.

        `sources` are new offsets; names not given keep theirs, an empty value forgets the name.
        Raises DiskFull or IoError; then the epoch is rolled back and the next one may be tried.
        """
        raise NotImplementedError

    def rollback(self) -> None:
        """Undoes the open epoch in every table; created tables go, dropped ones are back."""
        raise NotImplementedError

    def checkpoint(self, wait: bool = False) -> None:
        """Brings the store up to the last committed epoch in a background thread.

        Afterwards the log may be compacted. With `wait`, returns when that is done and raises what
        went wrong; without, a failure is kept in `checkpoint_error` and tried again next time.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Rolls back an open epoch, checkpoints, closes all files, gives the directory free."""
        raise NotImplementedError
