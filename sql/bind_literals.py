"""Constants and parameters."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from ..operators.expr import Expr, Literal
from ..storage.errors import FeatureNotSupported, NumericOutOfRange, SyntaxFault
from ..storage.types import BOOL, INT4, INT8, NUMERIC, NUMERIC_PRECISION, UNKNOWN, fixed_numeric
from .dialect import position_of

if TYPE_CHECKING:
    from .bind import Ast, ExpressionBinder

_INT4_MAX, _INT8_MAX = 2**31 - 1, 2**63 - 1
_INT8_DIGITS = 19
_DIGITS_MAX = 131072
"""Digits before the point that a numeric may have."""


def number(text: str) -> Literal:
    """A numeric constant: the smallest of integer, bigint and numeric that holds it."""
    if len(text) <= _INT8_DIGITS + 1 and text.lstrip("-").isdigit():
        value = int(text)
        if -_INT4_MAX - 1 <= value <= _INT4_MAX:
            return Literal(value, INT4)
        if -_INT8_MAX - 1 <= value <= _INT8_MAX:
            return Literal(value, INT8)
    return _numeric(Decimal(text))


def _numeric(value: Decimal) -> Literal:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    if value.adjusted() >= _DIGITS_MAX:
        raise NumericOutOfRange("value overflows numeric format")
    scale, plain = max(0, -exponent), format(value, "f")
    digits = len(plain.lstrip("-0.").replace(".", ""))
    if scale <= NUMERIC_PRECISION and max(digits, scale) <= NUMERIC_PRECISION:
        return Literal(Decimal(plain), fixed_numeric(scale))
    return Literal(plain, NUMERIC)


def bind_literal(binder: ExpressionBinder, ast: Ast) -> Expr:
    if not ast.args.get("is_string"):
        return number(str(ast.this))
    return binder.environment.note(Literal(str(ast.this), UNKNOWN), position_of(ast))


def bind_boolean(binder: ExpressionBinder, ast: Ast) -> Expr:
    return Literal(bool(ast.this), BOOL)


def bind_null(binder: ExpressionBinder, ast: Ast) -> Expr:
    return Literal(None, UNKNOWN)


def bind_parameter(binder: ExpressionBinder, ast: Ast) -> Expr:
    return binder.environment.parameters.use(int(ast.this.this), position_of(ast))


def bind_bits(binder: ExpressionBinder, ast: Ast) -> Expr:
    raise FeatureNotSupported("type bit is not supported", position=position_of(ast))


def bind_variable(binder: ExpressionBinder, ast: Ast) -> Expr:
    if str(ast.this).upper() == "DEFAULT":
        raise SyntaxFault("DEFAULT is not allowed in this context", position=position_of(ast))
    raise FeatureNotSupported(f"{ast.this} is not supported here", position=position_of(ast))


RULES = {
    exp.Literal: bind_literal,
    exp.Boolean: bind_boolean,
    exp.Null: bind_null,
    exp.Parameter: bind_parameter,
    exp.BitString: bind_bits,
    exp.HexString: bind_bits,
    exp.Var: bind_variable,
}
