"""`millpond demo` without a terminal: shows the result, exits 0, leaves nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_demo_without_a_terminal(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "COLUMNS": "120"}
    done = subprocess.run(
        [sys.executable, "-m", "millpond.server", "demo", "--seconds", "1.5"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert "psql -h 127.0.0.1 -p " in done.stdout
    rows = [line for line in done.stdout.splitlines() if line.startswith("│")]
    assert len(rows) == 10, done.stdout
    bids = int(done.stdout.partition(" s: ")[2].partition(" bids")[0].replace(",", ""))
    assert bids > 1000
    assert list(tmp_path.iterdir()) == []


def test_demo_ends_on_sigterm(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "millpond.server", "demo", "--seconds", "60", "--listen", "127.0.0.1:0"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    assert "psql" in process.stdout.readline() + process.stdout.readline() + process.stdout.readline()
    process.terminate()
    assert process.wait(timeout=30) == 0
    assert list(tmp_path.iterdir()) == []
