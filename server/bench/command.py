"""`millpond bench core|kafka`: runs the chosen lines one after the other and prints their figures."""

from __future__ import annotations

import gc
import os
import platform
import sys
from collections.abc import Iterable, Sequence

from ...storage.errors import StartupError
from ...storage.kernels_lazy import load_all
from . import commits, duck, evicted, filling, flows, kafka, many_views, serving
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
    run = _Run(Printer("DuckDB"))
    # As a server does once it listens: the lines that run in this process measure no loading.
    _ = load_all()
    with serving.Bench(rows) as bench:
        for line in chosen(lines, LINES):
            run.add(line.measure(bench) if line in serving.LINES else line.measure(rows))
    run.write(json_file, rows)
    return 0


def bench_kafka(bootstrap: str, lines: str, rows: int, json_file: str) -> int:
    """The lines of `kafka.LINES` against the broker at `bootstrap`; else as `bench_core`."""
    if not bootstrap:
        raise StartupError("bench kafka needs a broker: --kafka HOST:PORT")
    place = kafka.Place(bootstrap, rows or kafka.ROWS)
    run = _Run(Printer("consume"))
    for line in chosen(lines, kafka.LINES):
        run.add(line.measure(place))
    run.write(json_file, place.rows)
    return 0


class _Run:
    """Figures shown as they come, and kept."""

    def __init__(self, printer: Printer) -> None:
        self._printer = printer
        self._figures: list[Figure] = []

    def add(self, figures: Iterable[Figure]) -> None:
        for figure in figures:
            self._printer.show(figure)
            self._figures.append(figure)
        gc.collect()

    def write(self, json_file: str, rows: int) -> None:
        if json_file:
            machine = {"cores": os.cpu_count(), "python": platform.python_version(), "rows": rows}
            write_json(json_file, self._figures, machine)


def chosen(names: str, lines: Sequence[Line]) -> list[Line]:
    """The `lines` of these names, in their order; all when empty. Raises StartupError for an unknown name."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    known = {line.name for line in lines}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        there = ", ".join(line.name for line in lines)
        raise StartupError(f"there is no line {unknown[0]!r}; there are: {there}")
    return [line for line in lines if not wanted or line.name in wanted]
