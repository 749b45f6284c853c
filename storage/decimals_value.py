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
    InvalidArgumentForLog,
    InvalidArgumentForPower,
    InvalidTextRepresentation,
    NumericOutOfRange,
)
from .types import Type, numeric_modifier

CONTEXT = Context(prec=160_000, Emax=999_999, Emin=-999_999, rounding=ROUND_HALF_UP, traps=[])
"""Wide enough that sums and products of any two numerics are exact."""

ZERO, ONE = Decimal(0), Decimal(1)
NAN, INFINITY = Decimal("NaN"), Decimal("Infinity")
_SIGNIFICANT = 16
_MAX_DISPLAY_SCALE = 1000
_MAX_RESULT_SCALE = 2000
_MAX_WEIGHT = 131_071
_MAX_SCALE = 16_383
_BASE_DIGITS = 4
_LOG10_E = 0.434294481903252


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
    if value.adjusted() > _MAX_WEIGHT and value:
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
    if len(digits) - 1 + shift - len(fraction) > _MAX_WEIGHT:
        return Decimal(f"{sign}1e{_MAX_WEIGHT + 1}")
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
    digits = max(-_MAX_RESULT_SCALE, min(digits, _MAX_SCALE))
    quantum = Decimal((0, (1,), -digits))
    result = value.quantize(quantum, rounding=rounding, context=CONTEXT)
    return result.quantize(ONE, context=CONTEXT) if digits < 0 else result


def round_to(value: Decimal, digits: int = 0) -> Decimal:
    """SQL's round(value, digits)."""
    return checked(rounded(value, max(-_MAX_RESULT_SCALE, min(digits, _MAX_RESULT_SCALE))))


def truncate(value: Decimal, digits: int = 0) -> Decimal:
    """SQL's trunc(value, digits)."""
    return rounded(value, max(-_MAX_RESULT_SCALE, min(digits, _MAX_RESULT_SCALE)), ROUND_DOWN)


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


def _head(value: Decimal) -> tuple[int, int]:
    """(weight, value) of the first non-zero digit in base 10000; (0, 0) for zero."""
    if not value:
        return 0, 0
    adjusted = value.adjusted()
    weight = adjusted // _BASE_DIGITS
    count = adjusted - weight * _BASE_DIGITS + 1
    digits = value.as_tuple().digits[:count]
    head = 0
    for digit in digits:
        head = head * 10 + digit
    return weight, head * 10 ** (count - len(digits))


def _display_scale(scale: int, *values: Decimal) -> int:
    return min(max(scale, 0, *(scale_of(value) for value in values)), _MAX_DISPLAY_SCALE)


def division_scale(a: Decimal, b: Decimal) -> int:
    """Digits after the point of a / b: PostgreSQL's select_div_scale."""
    weight_a, head_a = _head(a)
    weight_b, head_b = _head(b)
    weight = weight_a - weight_b - (head_a <= head_b)
    return _display_scale(_SIGNIFICANT - weight * _BASE_DIGITS, a, b)


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
    return checked(_quotient(a, b, division_scale(a, b)))


def unscaled(value: Decimal) -> tuple[int, int]:
    """(integer, scale) of a finite value: integer × 10^−scale."""
    scale = scale_of(value)
    return _integer(value, scale), scale


def _integer(value: Decimal, scale: int) -> int:
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
    scale = min(max(_SIGNIFICANT - weight * _BASE_DIGITS, scale_a, scale_b), _MAX_DISPLAY_SCALE)
    shift = scale + scale_b - scale_a
    dividend, divisor = abs(a) * 10 ** max(shift, 0), abs(b) * 10 ** max(-shift, 0)
    quotient, rest = divmod(dividend, divisor)
    quotient += 2 * rest >= divisor
    digits = str(quotient).zfill(scale + 1)
    sign = "-" if quotient and (a < 0) != (b < 0) else ""
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else sign + digits


def _head_of_integer(size: int, scale: int) -> tuple[int, int]:
    """`_head` of size × 10^−scale."""
    if not size:
        return 0, 0
    digits = str(size)
    adjusted = len(digits) - 1 - scale
    weight = adjusted // _BASE_DIGITS
    count = adjusted - weight * _BASE_DIGITS + 1
    return weight, int(digits[:count].ljust(count, "0"))


def _quotient(a: Decimal, b: Decimal, scale: int) -> Decimal:
    common = max(scale_of(a), scale_of(b))
    dividend, divisor = _integer(a, common) * 10**scale, _integer(b, common)
    quotient, rest = divmod(abs(dividend), abs(divisor))
    quotient += 2 * rest >= abs(divisor)
    return _decimal(-quotient if (dividend < 0) != (divisor < 0) else quotient, scale)


def _decimal(coefficient: int, scale: int) -> Decimal:
    return Decimal(coefficient).scaleb(-scale, context=CONTEXT)


def integer_quotient(a: Decimal, b: Decimal) -> Decimal:
    """SQL's div(a, b): the quotient cut towards zero."""
    if a.is_finite() and b.is_finite() and b:
        common = max(scale_of(a), scale_of(b))
        dividend, divisor = _integer(a, common), _integer(b, common)
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
    dividend, divisor = _integer(a, common), abs(_integer(b, common))
    rest = abs(dividend) % divisor
    return _decimal(-rest if dividend < 0 else rest, common)


def square_root(a: Decimal) -> Decimal:
    """Raises 2201F below zero."""
    if a.is_nan() or (a.is_infinite() and a > 0):
        return a
    if a < 0:
        raise InvalidArgumentForPower("cannot take square root of a negative number")
    weight = a.adjusted() // _BASE_DIGITS if a else 0
    scale = _display_scale(_SIGNIFICANT - ((weight + 1) * _BASE_DIGITS // 2 - 1), a)
    square = _integer(a, 2 * scale)
    root = math.isqrt(square)
    return _decimal(root + (square - root * root > root), scale)


def _as_float(value: Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _narrow(digits: int) -> Context:
    return Context(prec=max(digits, 1) + 12, Emax=999_999, Emin=-999_999, traps=[])


def exponential(a: Decimal) -> Decimal:
    """e^a. Raises 22003."""
    if not a.is_finite():
        return ZERO if a.is_infinite() and a < 0 else a
    estimate = max(-_MAX_RESULT_SCALE, min(_as_float(a) * _LOG10_E, _MAX_RESULT_SCALE))
    return _exponential(a, _display_scale(_SIGNIFICANT - int(estimate), a))


def _exponential(a: Decimal, scale: int) -> Decimal:
    if abs(a) >= _MAX_RESULT_SCALE * 3:
        if a > 0:
            raise overflow()
        return _decimal(0, scale)
    digits = int(float(a) * _LOG10_E) + scale
    return checked(rounded(_narrow(digits).exp(a), scale))


def _log_weight(a: Decimal) -> int:
    """Decimal weight of ln(a), estimated as numeric.c does (estimate_ln_dweight)."""
    if a <= 0:
        return 0
    if Decimal("0.9") <= a <= Decimal("1.1"):
        distance = CONTEXT.subtract(a, ONE)
        if not distance:
            return 0
        weight, head = _head(distance)
        return weight * _BASE_DIGITS + int(math.log10(head))
    weight, head = _head(a)
    exponent = weight * _BASE_DIGITS
    digits = a.as_tuple().digits
    count = a.adjusted() - exponent + 1
    if any(digits[count:]):
        following = digits[count : count + _BASE_DIGITS]
        second = int("".join(map(str, following)).ljust(_BASE_DIGITS, "0"))
        head, exponent = head * 10000 + second, exponent - _BASE_DIGITS
    logarithm = abs(math.log(head) + exponent * 2.302585092994046)
    return int(math.log10(logarithm)) if logarithm else 0


def _check_logarithm(a: Decimal) -> None:
    if a < 0:
        raise InvalidArgumentForLog("cannot take logarithm of a negative number")
    if not a:
        raise InvalidArgumentForLog("cannot take logarithm of zero")


def natural_logarithm(a: Decimal) -> Decimal:
    """ln(a). Raises 2201E."""
    if a.is_nan():
        return a
    _check_logarithm(a)
    if a.is_infinite():
        return a
    scale = _display_scale(_SIGNIFICANT - _log_weight(a), a)
    return rounded(_narrow(scale + max(_log_weight(a), 0) + 2).ln(a), scale)


def logarithm(base: Decimal, a: Decimal) -> Decimal:
    """The logarithm of `a` to `base`. Raises 2201E, and 22012 for base 1."""
    if base.is_nan() or a.is_nan():
        return NAN
    _check_logarithm(base)
    _check_logarithm(a)
    if base.is_infinite() or a.is_infinite():
        return NAN if base.is_infinite() and a.is_infinite() else ZERO if base.is_infinite() else a
    scale = _display_scale(_SIGNIFICANT - (_log_weight(a) - _log_weight(base)), base, a)
    context = _narrow(2 * scale + 40)
    divisor = context.ln(base)
    if not divisor:
        raise DivisionByZero("division by zero")
    return rounded(context.divide(context.ln(a), divisor), scale)


def power(base: Decimal, exponent: Decimal) -> Decimal:
    """base ^ exponent. Raises 2201F and 22003."""
    if not (base.is_finite() and exponent.is_finite()):
        return _special_power(base, exponent)
    if not base and exponent < 0:
        raise InvalidArgumentForPower("zero raised to a negative power is undefined")
    integral = exponent == exponent.to_integral_value(context=CONTEXT)
    if base < 0 and not integral:
        raise InvalidArgumentForPower(
            "a negative number raised to a non-integer power yields a complex result"
        )
    if integral and -(1 << 31) <= exponent < 1 << 31:
        return _integer_power(base, int(exponent), scale_of(exponent))
    if not base:
        return _decimal(0, _SIGNIFICANT)
    odd = integral and int(exponent) % 2 == 1
    result = _real_power(base.copy_abs(), exponent)
    return negate(result) if base < 0 and odd else result


def _special_power(base: Decimal, exponent: Decimal) -> Decimal:
    if base == 1 or (not exponent.is_nan() and not exponent):
        return ONE
    if base.is_nan() or exponent.is_nan():
        return NAN
    if exponent.is_infinite():
        if not base and exponent < 0:
            raise InvalidArgumentForPower("zero raised to a negative power is undefined")
        size = base.copy_abs()
        if size == 1:
            return ONE
        return INFINITY if (size > 1) == (exponent > 0) else ZERO
    if base > 0:
        return INFINITY if exponent > 0 else ZERO
    if exponent != exponent.to_integral_value(context=CONTEXT):
        raise InvalidArgumentForPower(
            "a negative number raised to a non-integer power yields a complex result"
        )
    if exponent < 0:
        return ZERO
    return -INFINITY if int(exponent) % 2 else INFINITY


def _integer_power(base: Decimal, exponent: int, exponent_scale: int) -> Decimal:
    estimate = 0.0
    if base:
        estimate = exponent * (
            math.log10(float(base.copy_abs().scaleb(-base.adjusted(), CONTEXT))) + base.adjusted()
        )
    if estimate > (_MAX_WEIGHT // _BASE_DIGITS + 1) * _BASE_DIGITS:
        raise overflow()
    if estimate + 1 < -_MAX_DISPLAY_SCALE:
        return _decimal(0, _MAX_DISPLAY_SCALE)
    scale = max(_display_scale(_SIGNIFICANT - int(estimate), base), exponent_scale)
    scale = min(scale, _MAX_DISPLAY_SCALE)
    if exponent == 0:
        return rounded(ONE, scale)
    if exponent == -1:
        return checked(_quotient(ONE, base, scale))
    context = _narrow(max(int(estimate), 0) + scale + 10)
    return checked(rounded(context.power(base, exponent), scale))


def _real_power(base: Decimal, exponent: Decimal) -> Decimal:
    rough = _narrow(max(8 - _log_weight(base), 0) + 8)
    estimate = _as_float(rough.multiply(rough.ln(base), exponent))
    if abs(estimate) > _MAX_RESULT_SCALE * 3.01:
        if estimate > 0:
            raise overflow()
        return _decimal(0, _MAX_DISPLAY_SCALE)
    scale = _display_scale(_SIGNIFICANT - int(estimate * _LOG10_E), base, exponent)
    context = _narrow(scale + int(abs(estimate)) + 20)
    return _exponential(context.multiply(context.ln(base), exponent), scale)


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
