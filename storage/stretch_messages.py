"""What a server and the process that makes files for its store tell each other, as pickles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .changelog import StoredSpec
from .log import Position
from .replay import Stretch
from .stretch_files import Indexes


@dataclass(frozen=True, slots=True)
class Request:
    """The epochs of a log behind `after` (None: from its base) up to `end`, as files in `folder`.

    A file is to have `stretch_bytes` of changelog. `specs` and `indexes` are those of the store.
    """

    log: Path
    folder: Path
    after: Position | None
    end: Position
    specs: Mapping[str, StoredSpec]
    indexes: Indexes
    stretch_bytes: int


@dataclass(frozen=True, slots=True)
class Part:
    """The next stretch, without rows; these are in `file` if there are any."""

    stretch: Stretch
    file: Path | None


@dataclass(frozen=True, slots=True)
class Done:
    """There are no more stretches."""


@dataclass(frozen=True, slots=True)
class Failed:
    """What came in between: as it was raised, or in words."""

    error: Exception


Reply = Part | Done | Failed
