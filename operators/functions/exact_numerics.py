"""Exact sums of unconstrained numerics, kept by display scale, and what a sum or an average looks like.

numeric without a scale comes as PostgreSQL's text of each value. Values of one display scale are added as
integers; special values are counted. So a sum has the display scale of the values that are left in it,
whichever were added and taken away.
"""

from __future__ import annotations

import json
import sys

# A numeric has up to 147,455 digits, a sum of 2^63 of them 19 more; Python refuses to read and write integers
# of more than 4,300. There still is a limit: reading takes time in the square of the digits.
sys.set_int_max_str_digits(150_000)

Sums = dict[str, tuple[int, int]]
"""By display scale (or "NaN", "Infinity", "-Infinity"): (number of values, unscaled sum)."""


def read_numeric(text: str) -> tuple[str, int]:
    """(scale as text or the special's name, unscaled value) of a numeric's text."""
    head, _, tail = text.partition(".")
    if head.endswith(("N", "y")):
        return head, 0
    return str(len(tail)), int(head + tail)


def pack_sums(sums: Sums) -> str:
    kept = {k: list(v) for k, v in sorted(sums.items()) if v != (0, 0)}
    return json.dumps(kept, separators=(",", ":")) if kept else ""


def unpack_sums(text: str) -> Sums:
    """The inverse of the stored form."""
    return {k: (v[0], v[1]) for k, v in json.loads(text).items()} if text else {}


def add_sums(into: Sums, key: str, count: int, total: int) -> None:
    before = into.get(key, (0, 0))
    into[key] = (before[0] + count, before[1] + total)


def total_of(sums: Sums) -> tuple[int, int] | str:
    """(unscaled sum, display scale), or the special value that the sum is."""
    plus, minus = sums.get("Infinity", (0, 0))[0], sums.get("-Infinity", (0, 0))[0]
    if sums.get("NaN", (0, 0))[0] or (plus and minus):
        return "NaN"
    if plus or minus:
        return "Infinity" if plus else "-Infinity"
    finite = {int(k): v[1] for k, v in sums.items()}
    scale = max(finite, default=0)
    return sum(total * 10 ** (scale - k) for k, total in finite.items()), scale


def average(total: int, scale: int, count: int) -> str:
    """total · 10^−scale / count with the display scale of numeric division (select_div_scale).

    In integers, a quarter of the cost of `decimals_value.divide`: this runs for every changed group.
    """
    weight_a, first_a = _leading(abs(total), scale)
    weight_b, first_b = _leading(count, 0)
    weight = weight_a - weight_b - (first_a <= first_b)
    digits = min(max(16 - weight * 4, scale, 0), 1000)
    numerator = 2 * abs(total) * 10 ** (digits - scale) + count
    whole = numerator // (2 * count)
    return decimal_text(-whole if total < 0 else whole, digits)


def _leading(unscaled: int, scale: int) -> tuple[int, int]:
    """Weight and value of the first base-10000 digit that is not 0."""
    if not unscaled:
        return 0, 0
    text = str(unscaled)
    whole = len(text) - scale
    weight = (whole - 1) // 4
    length = whole - 4 * weight
    return weight, int(text[:length].ljust(length, "0"))


def decimal_text(unscaled: int, scale: int) -> str:
    """PostgreSQL's text of unscaled · 10^−scale, scale ≥ 0."""
    sign = "-" if unscaled < 0 else ""
    text = str(abs(unscaled)).rjust(scale + 1, "0")
    return f"{sign}{text[:-scale]}.{text[-scale:]}" if scale else sign + text
