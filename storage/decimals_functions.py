"""Roots, exponentials, logarithms and powers of numeric values, with PostgreSQL's scales.

Results carry at least 16 significant digits; how many exactly follows from an estimate of the result's
weight, made as numeric.c makes it. The digits come from `decimal`, which rounds correctly.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal

from .decimals_value import (
    BASE_DIGITS,
    CONTEXT,
    INFINITY,
    MAX_DISPLAY_SCALE,
    MAX_RESULT_SCALE,
    MAX_WEIGHT,
    NAN,
    ONE,
    SIGNIFICANT,
    ZERO,
    checked,
    display_scale,
    leading_digit,
    negate,
    of_unscaled,
    overflow,
    rounded,
    rounded_quotient,
    scale_of,
    to_unscaled,
)
from .errors import DivisionByZero, InvalidArgumentForLog, InvalidArgumentForPower

_LOG10_E = 0.434294481903252


def square_root(a: Decimal) -> Decimal:
    """Raises 2201F below zero."""
    if a.is_nan() or (a.is_infinite() and a > 0):
        return a
    if a < 0:
        raise InvalidArgumentForPower("cannot take square root of a negative number")
    weight = a.adjusted() // BASE_DIGITS if a else 0
    scale = display_scale(SIGNIFICANT - ((weight + 1) * BASE_DIGITS // 2 - 1), a)
    square = to_unscaled(a, 2 * scale)
    root = math.isqrt(square)
    return of_unscaled(root + (square - root * root > root), scale)


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
    estimate = max(-MAX_RESULT_SCALE, min(_as_float(a) * _LOG10_E, MAX_RESULT_SCALE))
    return _exponential(a, display_scale(SIGNIFICANT - int(estimate), a))


def _exponential(a: Decimal, scale: int) -> Decimal:
    if abs(a) >= MAX_RESULT_SCALE * 3:
        if a > 0:
            raise overflow()
        return of_unscaled(0, scale)
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
        weight, head = leading_digit(distance)
        return weight * BASE_DIGITS + int(math.log10(head))
    weight, head = leading_digit(a)
    exponent = weight * BASE_DIGITS
    digits = a.as_tuple().digits
    count = a.adjusted() - exponent + 1
    if any(digits[count:]):
        following = digits[count : count + BASE_DIGITS]
        second = int("".join(map(str, following)).ljust(BASE_DIGITS, "0"))
        head, exponent = head * 10000 + second, exponent - BASE_DIGITS
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
    scale = display_scale(SIGNIFICANT - _log_weight(a), a)
    return rounded(_narrow(scale + max(_log_weight(a), 0) + 2).ln(a), scale)


def logarithm(base: Decimal, a: Decimal) -> Decimal:
    """The logarithm of `a` to `base`. Raises 2201E, and 22012 for base 1."""
    if base.is_nan() or a.is_nan():
        return NAN
    _check_logarithm(base)
    _check_logarithm(a)
    if base.is_infinite() or a.is_infinite():
        return NAN if base.is_infinite() and a.is_infinite() else ZERO if base.is_infinite() else a
    scale = display_scale(SIGNIFICANT - (_log_weight(a) - _log_weight(base)), base, a)
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
        return of_unscaled(0, SIGNIFICANT)
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
    if estimate > (MAX_WEIGHT // BASE_DIGITS + 1) * BASE_DIGITS:
        raise overflow()
    if estimate + 1 < -MAX_DISPLAY_SCALE:
        return of_unscaled(0, MAX_DISPLAY_SCALE)
    scale = max(display_scale(SIGNIFICANT - int(estimate), base), exponent_scale)
    scale = min(scale, MAX_DISPLAY_SCALE)
    if exponent == 0:
        return rounded(ONE, scale)
    if exponent == -1:
        return checked(rounded_quotient(ONE, base, scale))
    context = _narrow(max(int(estimate), 0) + scale + 10)
    return checked(rounded(context.power(base, exponent), scale))


def _real_power(base: Decimal, exponent: Decimal) -> Decimal:
    rough = _narrow(max(8 - _log_weight(base), 0) + 8)
    estimate = _as_float(rough.multiply(rough.ln(base), exponent))
    if abs(estimate) > MAX_RESULT_SCALE * 3.01:
        if estimate > 0:
            raise overflow()
        return of_unscaled(0, MAX_DISPLAY_SCALE)
    scale = display_scale(SIGNIFICANT - int(estimate * _LOG10_E), base, exponent)
    context = _narrow(scale + int(abs(estimate)) + 20)
    return _exponential(context.multiply(context.ln(base), exponent), scale)
