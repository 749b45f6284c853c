"""to_char and to_number of numbers, by PostgreSQL's template patterns (its manual, 9.8), and format()."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from ...storage import decimals_value as exact
from ...storage import types as t
from ...storage.errors import InvalidParameterValue, InvalidTextRepresentation, NullNotAllowed
from ...storage.types import Type
from .formatting_dates import ordinal
from .registry import Kernel, scalar
from .text_join import output_text
from .text_quote import quote_ident, quote_literal
from .vector import call_each, each, typed

if TYPE_CHECKING:
    from ..node import EpochContext

_TOKEN = re.compile(
    r'"((?:[^"\\]|\\.)*)"?|(FM|EEEE|RN|TH|MI|PL|SG|PR|[90.DG,SLV$])|(.)', re.IGNORECASE | re.DOTALL
)
_ROMAN = ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
          (10, "X"),
          (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))  # fmt: skip


@dataclass(slots=True)
class _Template:
    """A number template: its pieces, and how many digits stand before and after the point."""

    pieces: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    before: int = 0
    after: int = 0
    shift: int = 0
    words: set[str] = field(default_factory=set[str])
    first_zero: int = -1
    last_zero: int = -1
    leading_sign: bool = False


@lru_cache(1024)
def _template(text: str) -> _Template:
    found = _Template()
    point = False
    for match in _TOKEN.finditer(text):
        quoted, word, char = match.groups()
        if word is None or word == "$":
            found.pieces.append(
                ("text", re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else word or char)
            )
            continue
        key = word.upper()
        if key in "90" and len(key) == 1:
            _count_digit(found, key, point)
        elif key in (".", "D", "V"):
            point = True
        if key == "S":
            found.leading_sign = not (found.before or found.after)
        found.words.add(key)
        found.pieces.append((key, word))
    return found


def _count_digit(found: _Template, key: str, point: bool) -> None:
    if "V" in found.words:
        found.shift += 1
        found.before += 1
    elif point:
        found.after += 1
        if key == "0":
            found.last_zero = found.after
    else:
        if key == "0" and found.first_zero < 0:
            found.first_zero = found.before
        found.before += 1


def _roman(value: Decimal, template: _Template, lower: bool) -> str:
    number = int(value.to_integral_value(ROUND_HALF_UP)) if value.is_finite() else 0
    if not 0 < number < 4000:
        return "#" * 15
    out = ""
    for size, letters in _ROMAN:
        out += letters * (number // size)
        number %= size
    out = out.lower() if lower else out
    return out if "FM" in template.words else out.rjust(15)


def _scientific(value: Decimal, template: _Template) -> str:
    text = f"{value or 0.0:.{template.after}e}" if value.is_finite() else "#"
    mantissa, _, exponent = text.partition("e")
    exponent = f"{exponent[0]}{exponent[1:].rjust(2, '0')}"
    return f"{'' if value < 0 or 'FM' in template.words else ' '}{mantissa}e{exponent}"


class _Writer:
    """Writes one number piece by piece, as PostgreSQL's NUM_processor does."""

    def __init__(self, value: Decimal, template: _Template) -> None:
        self.template, self.out = template, list[str]()
        self.fill = "FM" not in template.words
        value = value.scaleb(template.shift) if template.shift else value
        shown = value.quantize(Decimal(1).scaleb(-template.after), ROUND_HALF_UP, exact.CONTEXT)
        self.negative = value < 0 and bool(shown)
        whole, _, self.fraction = f"{abs(shown):f}".partition(".")
        self.whole = "" if whole == "0" and (template.after or template.first_zero >= 0) else whole
        if len(self.whole) > template.before:
            self.whole, self.fraction = "#" * template.before, "#" * template.after
        if not self.fill and not shown and template.after and template.first_zero < 0:
            self.whole = "0"
        self.start = template.before - len(self.whole)
        if 0 <= template.first_zero < self.start:
            self.whole = "0" * (self.start - template.first_zero) + self.whole
            self.start = template.first_zero
        self.kept = (
            max(len(self.fraction.rstrip("0")), template.last_zero) if not self.fill else template.after
        )
        self.place = self.decimals = 0
        self.signed = False
        self.total = whole

    def run(self) -> str:
        point = False
        for key, word in self.template.pieces:
            if key in ("9", "0"):
                self.decimal() if point else self.digit()
            elif key in (".", "D"):
                point = True
                self.sign()
                self.out.append(".")
            elif key in (",", "G"):
                self.group()
            elif key in ("S", "MI", "PL", "SG", "PR", "TH", "L"):
                self.mark(key, word)
            elif key == "text":
                self.out.append(word)
        if "PR" in self.template.words and not self.signed:
            self.sign()
        return "".join(self.out)

    def sign(self) -> None:
        """What stands directly before the first digit."""
        if self.signed:
            return
        self.signed = True
        words = self.template.words
        if "PR" in words:
            self.out.append("<" if self.negative else " " if self.fill else "")
        elif "S" in words:
            if self.template.leading_sign:
                self.out.append("-" if self.negative else "+")
        elif not words & {"MI", "SG"}:
            self.out.append("-" if self.negative else " " if self.fill else "")

    def digit(self) -> None:
        if self.place < self.start:
            self.out.append(" " if self.fill else "")
        else:
            self.sign()
            self.out.append(self.whole[self.place - self.start])
        self.place += 1

    def decimal(self) -> None:
        if self.decimals < self.kept:
            self.out.append(self.fraction[self.decimals])
        self.decimals += 1

    def group(self) -> None:
        if self.place > self.start:
            self.out.append(",")
        elif self.fill:
            self.out.append(" ")

    def mark(self, key: str, word: str) -> None:
        blank = " " if self.fill else ""
        if key == "S" and not self.template.leading_sign:
            self.out.append("-" if self.negative else "+")
        elif key == "MI":
            self.out.append("-" if self.negative else blank)
        elif key == "PL":
            self.out.append(blank if self.negative else "+")
        elif key == "SG":
            self.out.append("-" if self.negative else "+")
        elif key == "PR":
            self.out.append(">" if self.negative else blank)
        elif key == "TH" and not self.negative and not self.template.after and "#" not in self.whole:
            self.out.append(ordinal(self.total, word))
        elif key == "L":
            self.out.append(blank)


def number_text(value: Decimal, template_text: str) -> str:
    """A number as text by a template."""
    template = _template(template_text)
    if "RN" in template.words:
        lower = any(word == "rn" for _, word in template.pieces)
        return _roman(value, template, lower)
    if "EEEE" in template.words:
        return _scientific(value, template)
    if not value.is_finite():
        return _special(value, template)
    return _Writer(value, template).run()


def _special(value: Decimal, template: _Template) -> str:
    text = "NaN" if value.is_nan() else "Infinity"
    if len(text) > template.before + (template.after and template.after + 1):
        body = "#" * template.before + ("." + "#" * template.after if template.after else "")
    else:
        body = text.rjust(template.before)
    sign = "-" if value < 0 else " "
    return (sign + body).strip() if "FM" in template.words else sign + body


def _as_printed(value: float, digits: int, after: int) -> Decimal:
    """A float rounded as C prints it, by its binary value, within its significant digits."""
    if not math.isfinite(value):
        return exact.from_float(value, digits)
    whole = len(f"{abs(value):.0f}")
    return Decimal(f"{value:.{max(min(after, digits - whole), 0)}f}")


def _to_char(type_: Type) -> Kernel:
    digits = 6 if type_ == t.FLOAT4 else 15

    def one(value: object, template: str) -> str:
        if isinstance(value, float):
            return number_text(_as_printed(value, digits, _template(template).after), template)
        return number_text(exact.parse(value) if isinstance(value, str) else Decimal(value), template)  # pyright: ignore[reportArgumentType]

    def kernel(args: Sequence[pa.Array], length: int, context: EpochContext) -> pa.Array:
        """The number as text by a template."""
        return pa.array(
            call_each(one, zip(args[0].to_pylist(), args[1].to_pylist(), strict=True)), pa.string()
        )

    return kernel


for _type in (t.INT4, t.INT8, t.NUMERIC, t.FLOAT4, t.FLOAT8):
    scalar("to_char", (_type, t.TEXT), t.TEXT)(_to_char(_type))


def _to_number(text: str, template_text: str) -> str | None:
    """A number read from text by a template: digits, sign and point count, the rest is passed over."""
    template = _template(template_text)
    if not template_text:
        return None
    kept = re.sub(r"[^0-9.+<>-]", "", text)
    negative = "-" in kept or "<" in kept
    digits = re.sub(r"[^0-9.]", "", kept)
    if not re.search(r"\d", digits):
        raise InvalidTextRepresentation(f'invalid input syntax for type numeric: "{text.strip() or " "}"')
    whole, _, fraction = digits.partition(".")
    whole, fraction = whole[: template.before] or "0", fraction[: template.after]
    value = Decimal(
        f"{'-' if negative else ''}{whole}.{fraction}" if fraction else f"{'-' if negative else ''}{whole}"
    )
    return exact.to_text(value.scaleb(-template.shift) if template.shift else value)


scalar("to_number", (t.TEXT, t.TEXT), t.NUMERIC)(each(_to_number, pa.string()))


# format()

_SPECIFIER = re.compile(r"%(?:(\d+)\$)?(-)?(\d+|\*(?:(\d+)\$)?)?(.)?", re.DOTALL)


def _format(template: str | None, *values: str | None) -> str | None:
    if template is None:
        return None
    following = 0
    out: list[str] = []
    last = 0

    def argument(number: str | None) -> str | None:
        nonlocal following
        following = int(number) if number else following + 1
        if following == 0:
            raise InvalidParameterValue("format specifies argument 0, but arguments are numbered from 1")
        if following > len(values):
            raise InvalidParameterValue("too few arguments for format()")
        return values[following - 1]

    for match in _SPECIFIER.finditer(template):
        out.append(template[last : match.start()])
        last = match.end()
        number, left, width_text, width_argument, kind = match.groups()
        if kind is None:
            message = "unterminated format() type specifier"
            raise InvalidParameterValue(message, hint='For a single "%" use "%%".')
        if kind == "%":
            out.append("%")
            continue
        if kind not in "sIL":
            message = f'unrecognized format() type specifier "{kind}"'
            raise InvalidParameterValue(message, hint='For a single "%" use "%%".')
        width = 0
        if width_text:
            width = int(argument(width_argument) or 0) if width_text[0] == "*" else int(width_text)
        text = _formatted(kind, argument(number))
        out.append(text.ljust(abs(width)) if left or width < 0 else text.rjust(width))
    return "".join(out) + template[last:]


def _formatted(kind: str, value: str | None) -> str:
    if kind == "s":
        return value or ""
    if kind == "L":
        return "NULL" if value is None else quote_literal(value)
    if value is None:
        raise NullNotAllowed("null values cannot be formatted as an SQL identifier")
    return quote_ident(value)


@scalar("format", (t.TEXT,), t.TEXT, strict=False, volatility="stable")
@scalar("format", (t.TEXT, Type("any")), t.TEXT, strict=False, variadic=True, volatility="stable")
@typed
def _format_kernel(
    args: Sequence[pa.Array], length: int, context: EpochContext, types: tuple[Type, ...] = ()
) -> pa.Array:
    """The template with %s, %I and %L replaced by the arguments."""
    texts = [output_text(a, ty, context).to_pylist() for a, ty in zip(args[1:], types[1:], strict=True)]
    return pa.array(call_each(_format, zip(args[0].to_pylist(), *texts, strict=True)), pa.string())
