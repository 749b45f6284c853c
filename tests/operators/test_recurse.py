"""WITH RECURSIVE ends with an error where there is no room for its rows."""

from __future__ import annotations

import pytest

from millpond.operators.expr import Literal
from millpond.operators.flow import run
from millpond.operators.node import EpochContext
from millpond.operators.recurse import Recurse
from millpond.operators.scan import Scan
from millpond.operators.values import Values
from millpond.operators.zset import ZSet
from millpond.storage import room
from millpond.storage.errors import OutOfMemory
from millpond.storage.schema import Schema
from millpond.storage.types import INT8


def test_rows_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "LOOK_BYTES", 1000)
    monkeypatch.setattr(room, "machine_bytes", lambda: 40_000)
    schema = Schema.of(n=INT8)
    node = Recurse(Values(schema, ((Literal(1, INT8),),)), Scan("r", schema), "r", distinct=False)
    context = EpochContext(1, 0, cancelled=Patience(2000))
    with pytest.raises(OutOfMemory):
        _ = run(node, lambda scan: ZSet.empty(scan.schema), context)


class Patience:
    """Fails a test that would go on for ever."""

    def __init__(self, calls: int) -> None:
        self._left = calls

    def __call__(self) -> None:
        self._left -= 1
        assert self._left, "it goes on for ever"
