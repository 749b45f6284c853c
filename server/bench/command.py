"""`millpond bench core`: runs the chosen lines one after the other and prints their figures."""

from __future__ import annotations

import gc
import os
import platform
import sys

from ...storage.errors import StartupError
from . import commits, duck, evicted, filling, flows, many_views, serving
from .figures import Figure, Line, Printer, write_json

ROWS = 5_000_000
LINES: tuple[Line, ...] = (
    *flows.LINES,
    *serving.LINES,
    *many_views.LINES,
    *commits.LINES,
    *filling.LINES,
    *evicted.LINES,
)


def bench_core(lines: str, rows: int, json_file: str) -> int:
    """`lines`: names with commas between, all when empty; `rows` 0 for the full size. The exit status."""
    rows = rows or ROWS
    if not duck.available():
        print("duckdb is not installed (pip install duckdb): there will be no ratios", file=sys.stderr)
    printer = Printer()
    figures: list[Figure] = []
    with serving.Bench(rows) as bench:
        for line in chosen(lines):
            measured = line.measure(bench) if line in serving.LINES else line.measure(rows)
            for figure in measured:
                printer.show(figure)
                figures.append(figure)
            gc.collect()
    if json_file:
        machine = {"cores": os.cpu_count(), "python": platform.python_version(), "rows": rows}
        write_json(json_file, figures, machine)
    return 0


def chosen(names: str) -> list[Line]:
    """The lines of these names in the benchmark's order. Raises StartupError for an unknown name."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    known = {line.name for line in LINES}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise StartupError(
            f"there is no line {unknown[0]!r}; there are: {', '.join(line.name for line in LINES)}"
        )
    return [line for line in LINES if not wanted or line.name in wanted]
