"""`millpond bench core` at a tiny size: every line runs, answers as DuckDB does, and is written down."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from millpond.server.bench.command import LINES


def bench(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "millpond.server", "bench", "core", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_every_line(tmp_path: Path) -> None:
    done = bench("--rows", "2000", "--json", str(tmp_path / "figures.json"))
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    written = json.loads((tmp_path / "figures.json").read_text())
    figures = written["figures"]
    assert {figure["line"] for figure in figures} == {line.name for line in LINES}
    assert all(figure["value"] > 0 for figure in figures)
    compared = {figure["line"] for figure in figures if figure["ratio"] is not None}
    assert {"group1k", "group1m", "extremes", "join", "chain", "join-changes", "join-skew"} <= compared
    assert len(done.stdout.splitlines()) == 1 + len(figures)
    assert written["machine"]["rows"] == 2000


def test_chosen_lines() -> None:
    done = bench("--rows", "1000", "--lines", "chain,group1k-changes")
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["line", "chain", "group1k-changes"]
    refused = bench("--lines", "group1k,nothing")
    assert refused.returncode == 1
    assert "there is no line 'nothing'" in refused.stderr
