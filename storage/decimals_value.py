"""PostgreSQL's numeric, one value at a time, on `decimal.Decimal`.

The display scale of a value is the number of digits after its point, so `Decimal("1.10")` has 2. Sums
and products are exact. Division, roots and logarithms choose a scale that gives at least 16 significant
digits; PostgreSQL derives it from digits in base 10000, and so do we (numeric.c, select_div_scale and
its siblings; documented in "Numeric Types"). Ties round away from zero. NaN equals itself and is greatest.
"""

from __future__ import annotations

import math
import re
from decimal import (
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_UP,
    Context,
    Decimal,
)

import numpy as np

from .errors import (
    DivisionByZero,
    FeatureNotSupported,
    InvalidTextRepresentation,
    NumericOutOfRange,
)
from .types import Type, numeric_modifier

CONTEXT = Context(prec=160_000, Emax=999_999, Emin=-999_999, rounding=ROUND_HALF_UP, traps=[])
"""Wide enough that sums and products of any two numerics are exact."""

ZERO, ONE = Decimal(0), Decimal(1)
NAN, INFINITY = Decimal("NaN"), Decimal("Infinity")
SIGNIFICANT = 16
MAX_DISPLAY_SCALE = 1000
MAX_RESULT_SCALE = 2000
MAX_WEIGHT = 131_071
_MAX_SCALE = 16_383
BASE_DIGITS = 4


def overflow() -> NumericOutOfRange:
    return NumericOutOfRange("value overflows numeric format")


def scale_of(value: Decimal) -> int:
    """Digits after the point."""
    exponent = value.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def to_text(value: Decimal) -> str:
    """PostgreSQL's text: never an exponent, no negative zero."""
    if not value.is_finite():
        return "NaN" if value.is_nan() else "Infinity" if value > 0 else "-Infinity"
    return f"{value:f}" if value else f"{value.copy_abs():f}"


def checked(value: Decimal) -> Decimal:
    """`value` unless it has more digits than a numeric can (22003); its scale is cut to 16383."""
    if not value.is_finite():
        return value
    if value.adjusted() > MAX_WEIGHT and value:
        raise overflow()
    return rounded(value, _MAX_SCALE) if scale_of(value) > _MAX_SCALE else value


_PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)", re.ASCII)
_SPELLED = re.compile(
    r"([+-]?)(?:((?:\d+(?:_\d+)*)?)(\.?)((?:\d+(?:_\d+)*)?)(?:[eE]([+-]?\d+(?:_\d+)*))?"
    r"|0([xX](?:_?[0-9a-fA-F])+|[oO](?:_?[0-7])+|[bB](?:_?[01])+))",
    re.ASCII,
)
_WORDS = {
    "nan": NAN, "inf": INFINITY, "+inf": INFINITY, "infinity": INFINITY, "+infinity": INFINITY,
    "-inf": -INFINITY, "-infinity": -INFINITY,
}  # fmt: skip
_RADIX = {"x": 16, "o": 8, "b": 2}


def parse(text: str) -> Decimal:
    """A numeric from its text, display scale as written. Raises 22P02 and 22003."""
    return checked(read(text))


def read(text: str) -> Decimal:
    """Like `parse`, but not yet refusing values with too many digits before the point."""
    if _PLAIN.fullmatch(text) and len(text) < 1000:
        return Decimal(text)
    stripped = text.strip(" \t\n\v\f\r")
    word = _WORDS.get(stripped.lower())
    if word is not None:
        return word
    match = _SPELLED.fullmatch(stripped)
    if match is None or not (match[2] or match[4] or match[6]):
        raise InvalidTextRepresentation(f'invalid input syntax for type numeric: "{text}"')
    sign, whole, _, fraction, exponent, integer = match.groups()
    if integer:
        return Decimal(sign + str(int(integer[1:].replace("_", ""), _RADIX[integer[0].lower()])))
    return _scaled(
        sign, whole.replace("_", ""), fraction.replace("_", ""), (exponent or "0").replace("_", "")
    )


def _scaled(sign: str, whole: str, fraction: str, exponent: str) -> Decimal:
    # Exponents beyond an int are refused before looking at the digits.
    if abs(int(exponent)) >= (1 << 31) // 2:
        raise overflow()
    shift = int(exponent)
    if max(0, len(fraction) - shift) > _MAX_SCALE:
        raise overflow()
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return Decimal((0, (0,), -max(0, len(fraction) - shift)))
    if len(digits) - 1 + shift - len(fraction) > MAX_WEIGHT:
        return Decimal(f"{sign}1e{MAX_WEIGHT + 1}")
    value = CONTEXT.create_decimal(f"{sign}{digits}e{shift - len(fraction)}")
    return value.quantize(ONE, context=CONTEXT) if shift > len(fraction) else value


def fit(type_: Type, value: Decimal) -> Decimal:
    """`value` rounded to the scale of `type_`; raises 22003 when it exceeds the declared precision.

    A type with known scale but no declared precision holds up to 38 digits.
    """
    if type_.typmod < 0:
        return checked(value) if type_.scale is None else _fit_physical(value, type_.scale)
    precision, scale = numeric_modifier(type_.typmod)
    if not value.is_finite():
        if value.is_nan() and type_.scale is None:
            return value
        raise _field_overflow(precision, scale, value)
    if value and value.adjusted() > precision - scale:
        raise _field_overflow(precision, scale, value)
    value = rounded(value, scale)
    if value and value.adjusted() >= precision - scale:
        raise _field_overflow(precision, scale, value)
    return value


def _fit_physical(value: Decimal, scale: int) -> Decimal:
    if not value.is_finite() or (value and value.adjusted() > 38):
        raise overflow()
    value = rounded(value, scale)
    if value and value.adjusted() + scale >= 38:
        raise overflow()
    return value


def _field_overflow(precision: int, scale: int, value: Decimal) -> NumericOutOfRange:
    whole = precision - scale
    if value.is_nan():
        return NumericOutOfRange("numeric field overflow", detail="NaN needs numeric without precision.")
    if value.is_infinite():
        what = "cannot hold an infinite value."
    else:
        what = f"must round to an absolute value less than {f'10^{whole}' if whole else '1'}."
    return NumericOutOfRange(
        "numeric field overflow", detail=f"A field with precision {precision}, scale {scale} {what}"
    )


def rounded(value: Decimal, digits: int, rounding: str = ROUND_HALF_UP) -> Decimal:
    """`value` with `digits` after the point (negative: zeros before it), ties away from zero."""
    if not value.is_finite():
        return value
    digits = max(-MAX_RESULT_SCALE, min(digits, _MAX_SCALE))
    quantum = Decimal((0, (1,), -digits))
    result = value.quantize(quantum, rounding=rounding, context=CONTEXT)
    return result.quantize(ONE, context=CONTEXT) if digits < 0 else result


def round_to(value: Decimal, digits: int = 0) -> Decimal:
    """SQL's round(value, digits)."""
    return checked(rounded(value, max(-MAX_RESULT_SCALE, min(digits, MAX_RESULT_SCALE))))


def truncate(value: Decimal, digits: int = 0) -> Decimal:
    """SQL's trunc(value, digits)."""
    return rounded(value, max(-MAX_RESULT_SCALE, min(digits, MAX_RESULT_SCALE)), ROUND_DOWN)


def ceiling(value: Decimal) -> Decimal:
    return rounded(value, 0, ROUND_CEILING)


def floor(value: Decimal) -> Decimal:
    return rounded(value, 0, ROUND_FLOOR)


def add(a: Decimal, b: Decimal) -> Decimal:
    return checked(CONTEXT.add(a, b))


def subtract(a: Decimal, b: Decimal) -> Decimal:
    return checked(CONTEXT.subtract(a, b))


def multiply(a: Decimal, b: Decimal) -> Decimal:
    return checked(CONTEXT.multiply(a, b))


def negate(a: Decimal) -> Decimal:
    return a.copy_negate() if a or a.is_nan() else a.copy_abs()


def absolute(a: Decimal) -> Decimal:
    return a.copy_abs()


def sign(a: Decimal) -> Decimal:
    return NAN if a.is_nan() else Decimal((a > 0) - (a < 0))


def leading_digit(value: Decimal) -> tuple[int, int]:
    """(weight, value) of the first non-zero digit in base 10000; (0, 0) for zero."""
    if not value:
        return 0, 0
    adjusted = value.adjusted()
    weight = adjusted // BASE_DIGITS
    count = adjusted - weight * BASE_DIGITS + 1
    digits = value.as_tuple().digits[:count]
    head = 0
    for digit in digits:
        head = head * 10 + digit
    return weight, head * 10 ** (count - len(digits))


def display_scale(scale: int, *values: Decimal) -> int:
    return min(max(scale, 0, *(scale_of(value) for value in values)), MAX_DISPLAY_SCALE)


def division_scale(a: Decimal, b: Decimal) -> int:
    """Digits after the point of a / b: PostgreSQL's select_div_scale."""
    weight_a, head_a = leading_digit(a)
    weight_b, head_b = leading_digit(b)
    weight = weight_a - weight_b - (head_a <= head_b)
    return display_scale(SIGNIFICANT - weight * BASE_DIGITS, a, b)


def divide(a: Decimal, b: Decimal) -> Decimal:
    """a / b. Raises 22012."""
    if a.is_nan() or b.is_nan():
        return NAN
    if not b:
        raise DivisionByZero("division by zero")
    if a.is_infinite():
        return NAN if b.is_infinite() else a if b > 0 else -a
    if b.is_infinite():
        return ZERO
    return checked(rounded_quotient(a, b, division_scale(a, b)))


def unscaled(value: Decimal) -> tuple[int, int]:
    """(integer, scale) of a finite value: integer × 10^−scale."""
    scale = scale_of(value)
    return to_unscaled(value, scale), scale


def to_unscaled(value: Decimal, scale: int) -> int:
    """value × 10^scale, which must be an integer."""
    return int(value.scaleb(scale, context=CONTEXT))


def divide_unscaled(a: int, scale_a: int, b: int, scale_b: int) -> str:
    """The text of `divide` for two values given as integers × 10^−scale. Raises 22012.

    The same as by way of Decimal, several times quicker.
    """
    if b == 0:
        raise DivisionByZero("division by zero")
    weight_a, head_a = _head_of_integer(abs(a), scale_a)
    weight_b, head_b = _head_of_integer(abs(b), scale_b)
    weight = weight_a - weight_b - (head_a <= head_b)
    scale = min(max(SIGNIFICANT - weight * BASE_DIGITS, scale_a, scale_b), MAX_DISPLAY_SCALE)
    shift = scale + scale_b - scale_a
    dividend, divisor = abs(a) * 10 ** max(shift, 0), abs(b) * 10 ** max(-shift, 0)
    quotient, rest = divmod(dividend, divisor)
    quotient += 2 * rest >= divisor
    digits = str(quotient).zfill(scale + 1)
    sign = "-" if quotient and (a < 0) != (b < 0) else ""
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else sign + digits


def _head_of_integer(size: int, scale: int) -> tuple[int, int]:
    """`leading_digit` of size × 10^−scale."""
    if not size:
        return 0, 0
    digits = str(size)
    adjusted = len(digits) - 1 - scale
    weight = adjusted // BASE_DIGITS
    count = adjusted - weight * BASE_DIGITS + 1
    return weight, int(digits[:count].ljust(count, "0"))


def rounded_quotient(a: Decimal, b: Decimal, scale: int) -> Decimal:
    common = max(scale_of(a), scale_of(b))
    dividend, divisor = to_unscaled(a, common) * 10**scale, to_unscaled(b, common)
    quotient, rest = divmod(abs(dividend), abs(divisor))
    quotient += 2 * rest >= abs(divisor)
    return of_unscaled(-quotient if (dividend < 0) != (divisor < 0) else quotient, scale)


def of_unscaled(coefficient: int, scale: int) -> Decimal:
    return Decimal(coefficient).scaleb(-scale, context=CONTEXT)


def integer_quotient(a: Decimal, b: Decimal) -> Decimal:
    """SQL's div(a, b): the quotient cut towards zero."""
    if a.is_finite() and b.is_finite() and b:
        common = max(scale_of(a), scale_of(b))
        dividend, divisor = to_unscaled(a, common), to_unscaled(b, common)
        quotient = abs(dividend) // abs(divisor)
        return checked(Decimal(-quotient if (dividend < 0) != (divisor < 0) else quotient))
    return divide(a, b)


def modulo(a: Decimal, b: Decimal) -> Decimal:
    """a % b with the sign of a. Raises 22012."""
    if a.is_nan() or b.is_nan():
        return NAN
    if not b:
        raise DivisionByZero("division by zero")
    if a.is_infinite():
        return NAN
    if b.is_infinite():
        return a
    common = max(scale_of(a), scale_of(b))
    dividend, divisor = to_unscaled(a, common), abs(to_unscaled(b, common))
    rest = abs(dividend) % divisor
    return of_unscaled(-rest if dividend < 0 else rest, common)


def compare(a: Decimal, b: Decimal) -> int:
    """−1, 0 or 1; NaN equals NaN and is greater than everything else."""
    if a.is_nan() or b.is_nan():
        return int(a.is_nan()) - int(b.is_nan())
    return (a > b) - (a < b)


def from_float(value: float, digits: int = 15) -> Decimal:
    """A float as numeric: rounded to `digits` significant ones (15 for float8, 6 for float4)."""
    if math.isfinite(value):
        return parse(f"{value:.{digits}g}")
    return NAN if value != value else INFINITY if value > 0 else -INFINITY


def to_integer(value: Decimal, sql_name: str, bits: int) -> int:
    """A numeric rounded to an integer type. Raises 22003, and 0A000 for NaN and infinity."""
    if not value.is_finite():
        word = "NaN" if value.is_nan() else "infinity"
        raise FeatureNotSupported(f"cannot convert {word} to {sql_name}")
    result = int(value.to_integral_value(ROUND_HALF_UP, context=CONTEXT))
    if not -(1 << (bits - 1)) <= result < 1 << (bits - 1):
        raise NumericOutOfRange(f"{sql_name} out of range")
    return result


def to_float(value: Decimal, name: str = "float8") -> float:
    """A numeric as float8 or float4. Raises 22003 when it does not fit."""
    if not value.is_finite():
        return float(value) if not value.is_nan() else math.nan
    result = float(value)
    if name == "float4":
        with np.errstate(over="ignore"):
            result = float(np.float32(result))
    if math.isinf(result) or (result == 0 and value):
        raise NumericOutOfRange(f'"{to_text(value)}" is out of range for type {Type(name)}')
    return result
