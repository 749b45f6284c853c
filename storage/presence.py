"""Who is there: small files in the log's folder by which the processes on one log know of each other.

    PRIMARY            the writer: its number, name, address, epoch; written anew at every beat
    NAME.replica       a standby: name, address, epoch, lag; likewise

Nothing is decided by them alone: a beat that stays out makes a standby try to take over, and the fence
(`fence.py`) makes that safe however wrong the suspicion was. They are never synced.
"""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from .disk import Disk, read_whole

PRIMARY_NAME = "PRIMARY"
REPLICA_SUFFIX = ".replica"

BEAT_S = 0.25
"""Between two beats of a process."""

FORGOTTEN_S = 600.0
"""A standby silent for so long is not shown any more."""


@dataclass(frozen=True, slots=True)
class PrimaryBeat:
    """What the writer says of itself. `beat` counts up; `time_us` is since 1970."""

    name: str
    address: str
    writer: int
    epoch: int
    beat: int
    time_us: int
    records: int = 0
    """That the log has got so far; 0 if it does not say."""


@dataclass(frozen=True, slots=True)
class ReplicaBeat:
    """What a standby says of itself. Lags are None when it has not measured them."""

    name: str
    address: str
    epoch: int
    lag_epochs: int | None
    lag_ms: float | None
    time_us: int
    lag_records: int | None = None


class Presence(Protocol):
    """Where the processes on one log say that they live. A failure to say so is passed over."""

    def announce_primary(self, beat: PrimaryBeat) -> None: ...

    def announce_replica(self, beat: ReplicaBeat) -> None: ...

    def withdraw_replica(self, name: str) -> None:
        """The standby `name` ends, or is the primary now."""
        ...

    def read_primary(self) -> PrimaryBeat | None:
        """None when nobody has announced itself, or what is there cannot be read."""
        ...

    def read_replicas(self, now_us: int) -> list[ReplicaBeat]:
        """All standbys heard of lately, by name."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class FilePresence:
    """Files in the log's folder."""

    folder: Path
    disk: Disk

    def announce_primary(self, beat: PrimaryBeat) -> None:
        announce_primary(self.folder, self.disk, beat)

    def announce_replica(self, beat: ReplicaBeat) -> None:
        announce_replica(self.folder, self.disk, beat)

    def withdraw_replica(self, name: str) -> None:
        withdraw_replica(self.folder, self.disk, name)

    def read_primary(self) -> PrimaryBeat | None:
        return read_primary(self.folder, self.disk)

    def read_replicas(self, now_us: int) -> list[ReplicaBeat]:
        return read_replicas(self.folder, self.disk, now_us)

    def close(self) -> None:
        """Nothing is open."""


def replica_file(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name) + REPLICA_SUFFIX


def announce_primary(folder: Path, disk: Disk, beat: PrimaryBeat) -> None:
    """Replaces PRIMARY. A failure is passed over: there is a next beat."""
    _replace(disk, folder / PRIMARY_NAME, asdict(beat))


def announce_replica(folder: Path, disk: Disk, beat: ReplicaBeat) -> None:
    _replace(disk, folder / replica_file(beat.name), asdict(beat))


def withdraw_replica(folder: Path, disk: Disk, name: str) -> None:
    """The standby `name` ends, or is the primary now."""
    with contextlib.suppress(OSError):
        disk.remove(folder / replica_file(name))


def read_primary(folder: Path, disk: Disk) -> PrimaryBeat | None:
    """None when nobody has announced itself, or what is there cannot be read."""
    content = _read(disk, folder / PRIMARY_NAME)
    try:
        return None if content is None else PrimaryBeat(**content)
    except TypeError:
        return None


def read_replicas(folder: Path, disk: Disk, now_us: int) -> list[ReplicaBeat]:
    """All standbys heard of lately, by name."""
    found: list[ReplicaBeat] = []
    for name in disk.names(folder):
        content = _read(disk, folder / name) if name.endswith(REPLICA_SUFFIX) else None
        if content is None:
            continue
        with contextlib.suppress(TypeError):
            beat = ReplicaBeat(**content)
            if now_us - beat.time_us < FORGOTTEN_S * 1e6:
                found.append(beat)
    return found


def _replace(disk: Disk, path: Path, content: dict[str, object]) -> None:
    temporary = path.with_name(f"{path.name}.{disk.token().hex()}.new")
    try:
        file = disk.create(temporary)
        try:
            file.write_at(0, [json.dumps(content).encode()])
        finally:
            file.close()
        disk.rename(temporary, path)
    except OSError:
        # On a full disk each beat would leave one.
        with contextlib.suppress(OSError):
            disk.remove(temporary)


def _read(disk: Disk, path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(read_whole(disk, path))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None
