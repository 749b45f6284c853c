"""`millpond bench kafka` at a tiny size: every line runs and counts every message."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from millpond.server.bench.kafka import LINES, MESSAGE_BYTES, message

from .broker import Broker


def test_every_line(broker: Broker, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "millpond.server", "bench", "kafka", "--kafka", broker.bootstrap]
    written = tmp_path / "figures.json"
    done = subprocess.run(
        [*command, "--rows", "2000", "--json", str(written)], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(written.read_text())["figures"]
    assert {figure["line"] for figure in figures} == {line.name for line in LINES}
    assert all(figure["value"] > 0 for figure in figures)


def test_messages_have_their_size() -> None:
    for number in (0, 999, 1_234_567):
        text = message(number)
        assert len(text) == MESSAGE_BYTES
        assert json.loads(text)["id"] == number
