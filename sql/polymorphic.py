"""Pseudo-types of a function's arguments and what they stand for in a call (section 38.2.5).

`anyelement`, `anyarray`, `anynonarray` stand for one exact type; `anycompatible`, `anycompatiblearray`
for a common type that all arguments can become; `any` for whatever comes.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..storage.errors import DatatypeMismatch, SqlError
from ..storage.types import TEXT, Type, array_of
from .coerce import common_numeric, common_type

_EXACT = frozenset({"anyelement", "anyarray", "anynonarray", "anyenum"})
_COMPATIBLE = frozenset({"anycompatible", "anycompatiblearray", "anycompatiblenonarray"})
PSEUDO = _EXACT | _COMPATIBLE | {"any"}


def consistent(declared: Sequence[Type], args: Sequence[Type]) -> bool:
    """Whether the pseudo-types among `declared` can stand for `args`."""
    for names in (_EXACT, _COMPATIBLE):
        used = [(d, a) for d, a in zip(declared, args, strict=True) if d.name in names]
        if any(not _has_shape(d, a) for d, a in used):
            return False
        elements = [_element(d, a) for d, a in used if a.name != "unknown"]
        if names is _EXACT and len({element.name for element in elements}) > 1:
            return False
        if names is _COMPATIBLE and elements and not _has_common(elements):
            return False
    return True


def _has_shape(declared: Type, arg: Type) -> bool:
    if arg.name == "unknown":
        return True
    if declared.name.endswith("nonarray"):
        return arg.element is None
    return arg.element is not None if declared.name.endswith("array") else True


def _element(declared: Type, arg: Type) -> Type:
    if declared.name.endswith("array") and not declared.name.endswith("nonarray"):
        assert arg.element is not None
        return arg.element
    return arg


def _has_common(types: Sequence[Type]) -> bool:
    try:
        common_type(types, "")
    except SqlError:
        return False
    return True


def resolved(declared: Sequence[Type], args: Sequence[Type], position: int) -> tuple[Type, ...]:
    """`declared` with its pseudo-types replaced by what they stand for; `any` remains.

    Raises DatatypeMismatch when only untyped literals could tell.
    """
    result = list(declared)
    for names in (_EXACT, _COMPATIBLE):
        places = [i for i, d in enumerate(declared) if d.name in names]
        if not places:
            continue
        known = [_element(declared[i], args[i]) for i in places if args[i].name != "unknown"]
        element = _stands_for(known, names is _EXACT, position)
        for i in places:
            is_array = declared[i].name.endswith("array") and not declared[i].name.endswith("nonarray")
            result[i] = array_of(element) if is_array else element
    return tuple(result)


def _stands_for(known: Sequence[Type], exact: bool, position: int) -> Type:
    if not known and exact:
        raise DatatypeMismatch(
            "could not determine polymorphic type because input has type unknown", position=position
        )
    if not known:
        return TEXT
    if known[0].name == "numeric" and exact:
        return common_numeric(known)
    return known[0].bare() if exact and len(known) > 1 else common_type(known, "")
