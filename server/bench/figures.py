"""What is measured, and how it is shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value. `ratio`: to the baseline of the suite, None where there is nothing to compare.

    `target`: what the value must not be below, or above where less is better.
    """

    line: str
    what: str
    value: float
    unit: str
    ratio: float | None = None
    target: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a benchmark: `measure` yields its figures. `title` says what is done."""

    name: str
    title: str
    measure: Callable[..., Iterable[Figure]]


def shown(value: float) -> str:
    """A number with as many digits as matter."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.2f}"


HEAD = ("line", "what", "value", "unit", "ratio", "wanted", "note")


def cells(figure: Figure) -> tuple[str, ...]:
    ratio = "" if figure.ratio is None else f"{figure.ratio:.3f}"
    return (figure.line, figure.what, shown(figure.value), figure.unit, ratio, figure.target, figure.note)


class Printer:
    """Prints figures as they come, in columns of fixed width; `baseline`: what ratios are to."""

    _WIDTHS = (18, 40, 12, 9, 14, 16, 0)

    def __init__(self, baseline: str) -> None:
        self._print((*HEAD[:4], f"{baseline} ratio", *HEAD[5:]))

    def show(self, figure: Figure) -> None:
        self._print(cells(figure))

    def _print(self, row: Sequence[str]) -> None:
        parts = [
            text.rjust(width) if number in (2, 4) else text.ljust(width)
            for number, (text, width) in enumerate(zip(row, self._WIDTHS, strict=True))
        ]
        print("  ".join(parts).rstrip(), flush=True)


def write_json(path: str, figures: Sequence[Figure], machine: Mapping[str, object]) -> None:
    content = {"machine": machine, "figures": [asdict(figure) for figure in figures]}
    Path(path).write_text(json.dumps(content, indent=1) + "\n")
