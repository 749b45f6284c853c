"""Conversions the binder puts in, and the common type of several: PostgreSQL's rules (section 10.4, 10.5).

An untyped literal is a `Literal` of type UNKNOWN; it takes the type its context asks for, and is then
parsed at once (so `'x'::int4` fails while binding, at the literal). Literals whose meaning hangs on the
moment or on the catalogue (`'now'`, `'t'::regclass`) stay a cast and are parsed when the query runs.

numeric has two physical forms (see `storage/types.py`): a common type has a fixed scale only when every
value shows that many digits, so that `CASE WHEN a THEN 1 ELSE 2.50 END` shows 1 and 2.50.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa

from ..operators.constants import plain_value
from ..operators.expr import Cast, Expr, Literal
from ..operators.functions.casts import cast_context
from ..storage.errors import CannotCoerce, DatatypeMismatch, SqlError
from ..storage.textform import DEFAULT_SETTINGS, TextSettings, parse_text
from ..storage.types import (
    INTEGERS,
    NAMED_OIDS,
    NUMERIC,
    TEXT,
    UNKNOWN,
    Type,
    array_of,
    fixed_numeric,
    format_type,
)

_RANK = {"implicit": 0, "assignment": 1, "explicit": 2}
_TEMPORAL = frozenset({"date", "time", "timestamp", "timestamptz"})
_MOMENT = re.compile(r"\b(now|today|tomorrow|yesterday)\b", re.IGNORECASE)
_INTEGER_LIMITS = {"int2": 2**15, "int4": 2**31, "int8": 2**63}


def coerce(
    expr: Expr, target: Type, context: str = "implicit", position: int = 0,
    settings: TextSettings = DEFAULT_SETTINGS,
) -> Expr:  # fmt: skip
    """`expr` as exactly a `target`, by a cast allowed in `context`: implicit, assignment or explicit.

    `settings` are the session's, by which date and time literals are read.
    Raises CannotCoerce (42846) `cannot cast type x to y` for an explicit cast that does not exist, and
    DatatypeMismatch (42804) in the other contexts; callers with better words ask `can_coerce` first.
    """
    if expr.type == target:
        return expr
    if isinstance(expr, Literal):
        found = _literal(expr, target, context, position, settings)
        if found is not None:
            return found
    if not can_coerce(expr.type, target, context):
        message = f"cannot cast type {format_type(expr.type.bare())} to {format_type(target.bare())}"
        raise (CannotCoerce if context == "explicit" else DatatypeMismatch)(message, position=position)
    if expr.type.same(target) and target.typmod == -1 and expr.type.arrow == target.arrow:
        return expr
    return Cast(expr, target, context == "explicit")


def can_coerce(source: Type, target: Type, context: str = "implicit") -> bool:
    """Whether a value of `source` may become a `target` in that context. UNKNOWN may become anything."""
    if target.name in ("any", "unknown") or source.name == "unknown":
        return True
    found = cast_context(source, target)
    return found is not None and _RANK[found] <= _RANK[context]


# Literals.
def _literal(
    literal: Literal, target: Type, context: str, position: int, settings: TextSettings
) -> Expr | None:
    """A constant as another constant, or None when it takes a cast."""
    if literal.value is None:
        if can_coerce(literal.type, target, context):
            return Literal(None, target)
        return None
    if literal.type.name == "unknown":
        return _parsed(str(literal.value), target, context == "explicit", position, settings)
    if literal.type.name in INTEGERS and isinstance(literal.value, int):
        return _integer(literal.value, target, context)
    return None


def _parsed(text: str, target: Type, explicit: bool, position: int, settings: TextSettings) -> Expr:
    """An untyped literal read by the input function of `target`. Errors stand at `position`."""
    if _hangs_on_run(text, target):
        return Cast(Literal(text, TEXT), target, True)
    cut = target.name in ("varchar", "bpchar") and target.typmod != -1
    wanted = target.bare() if cut else target
    try:
        value = plain_value(wanted, parse_text(wanted, pa.array([text], pa.string()), settings))
    except SqlError as error:
        error.rows = None
        raise error.at(position) from None
    literal = Literal(value, wanted)
    return Cast(literal, target, explicit) if cut else literal


def _hangs_on_run(text: str, target: Type) -> bool:
    base = target.element or target
    if base.name in NAMED_OIDS:
        return not text.strip().isdigit()
    return base.name in _TEMPORAL and _MOMENT.search(text) is not None


def _integer(value: int, target: Type, context: str) -> Expr | None:
    """An integer constant as a constant of another number type, where that loses nothing."""
    limit = _INTEGER_LIMITS.get(target.name)
    if limit is not None:
        fits = -limit <= value < limit
        return Literal(value, target) if fits and (context != "implicit" or target.name != "int2") else None
    if target.name == "numeric" and target.typmod == -1:
        if target.scale is None:
            return Literal(str(value), target)
        return Literal(Decimal(value).scaleb(0).quantize(Decimal(1).scaleb(-target.scale)), target)
    if target.name == "float8" and abs(value) <= 2**53:
        return Literal(float(value), target)
    return None


# Common types.
def common_type(types: Sequence[Type], construct: str, position: int = 0) -> Type:
    """The type of UNION, CASE, VALUES, ARRAY, COALESCE … (section 10.5); `construct` is that word.

    UNKNOWN when all are; PostgreSQL then takes text, except where a column's type is still to come.
    Raises DatatypeMismatch `CASE types integer and text cannot be matched`.
    """
    chosen = _choose([type_.bare() for type_ in types], construct, position)
    if chosen.name == "numeric":
        return compared_numeric(types) if construct == "IN" else common_numeric(types)
    if chosen.element is not None and chosen.element.name == "numeric":
        elements = [type_.element or UNKNOWN for type_ in types]
        return array_of(common_numeric(elements))
    if all(type_.same(chosen) for type_ in types) and len({type_.typmod for type_ in types}) == 1:
        return types[0]
    return chosen


def _choose(types: Sequence[Type], construct: str, position: int) -> Type:
    """PostgreSQL's select_common_type: a preferred or more general type of one category wins."""
    chosen = types[0]
    for type_ in types[1:]:
        if type_.name == "unknown" or type_.same(chosen):
            continue
        if chosen.name == "unknown":
            chosen = type_
        elif type_.category != chosen.category:
            message = f"{construct} types {format_type(chosen)} and {format_type(type_)} cannot be matched"
            raise DatatypeMismatch(message, position=position)
        elif not chosen.info.preferred and can_coerce(chosen, type_) and not can_coerce(type_, chosen):
            chosen = type_
    for type_ in types:
        if not can_coerce(type_, chosen):
            place = "CASE/WHEN" if construct == "CASE" else construct
            message = f"{place} could not convert type {format_type(type_)} to {format_type(chosen)}"
            raise CannotCoerce(message, position=position)
    return chosen


def common_numeric(types: Sequence[Type]) -> Type:
    """numeric as all of `types` can be it: modifier and scale kept where all agree on them.

    An integer shows no digits behind the point; anything else (a literal, too) may show any number.
    """
    if len(set(types)) == 1:
        return types[0]
    scales = {_scale(type_) for type_ in types}
    scale = scales.pop() if len(scales) == 1 else None
    return NUMERIC if scale is None else fixed_numeric(scale)


def numeric_beside_nulls(exprs: Sequence[Expr]) -> Type:
    """The common numeric of `exprs`, where a NULL constant shows no digits and so does not count."""
    return common_numeric([e.type for e in exprs if not (isinstance(e, Literal) and e.value is None)]).bare()


def compared_numeric(types: Sequence[Type]) -> Type:
    """numeric in which values of `types` can be compared, though not shown: the largest scale of them."""
    scales = [_scale(type_) for type_ in types]
    known = [scale for scale in scales if scale is not None]
    return fixed_numeric(max(known)) if len(known) == len(scales) else NUMERIC


def _scale(type_: Type) -> int | None:
    return 0 if type_.name in INTEGERS else type_.scale
