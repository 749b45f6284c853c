"""Overload choice (PostgreSQL documentation, sections 10.2 and 10.3) over the function registry.

The steps follow parse_func.c and parse_oper.c: an exact match; else of all overloads whose arguments can
be had by implicit casts the one with most exact matches, then with most preferred types, then what the
categories say of the untyped literals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ..storage.errors import AmbiguousFunction, SqlError, UndefinedFunction
from ..storage.types import INTEGERS, TEXT, UNKNOWN, Type, fixed_numeric, format_type
from .coerce import can_coerce
from .polymorphic import PSEUDO, consistent, resolved

CAST_HINT = " You might need to add explicit type casts."


class Overload(Protocol):
    """What ScalarFunction, TableFunction and AggregateFunction have in common."""

    @property
    def name(self) -> str: ...
    @property
    def args(self) -> tuple[Type, ...]: ...


F = TypeVar("F", bound=Overload)


@dataclass(frozen=True, slots=True)
class Resolved(Generic[F]):
    """The chosen overload, and the type each argument is to be coerced to (pseudo-types resolved).

    A target that equals the argument's type but for modifier or scale needs no cast: the argument's own
    type is then given, so that a numeric keeps its physical scale. An integer that becomes numeric is
    one of scale 0. UNKNOWN remains only where an overload takes "any".
    """

    function: F
    targets: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class _Candidate(Generic[F]):
    """An overload with its arguments spelt out to the number of the call's."""

    function: F
    args: tuple[Type, ...]


def resolve_function(
    name: str, args: Sequence[Type], overloads: Sequence[F], position: int = 0, shown: str = ""
) -> Resolved[F]:
    """The function `name(args)` means. UNKNOWN stands for untyped literals and parameters.

    Raises UndefinedFunction `function f(integer) does not exist`, AmbiguousFunction `… is not unique`.
    """
    candidates = _of_length(overloads, len(args))
    exact = next((c for c in candidates if _is_exact(c.args, args)), None)
    found = exact or _select(args, [c for c in candidates if _accepts(c.args, args)])
    if isinstance(found, _Candidate):
        return Resolved(found.function, _targets(found.args, args, position))
    call = f"function {shown or name}({', '.join(map(_shown, args))})"
    if found == 0:
        hint = "No function matches the given name and argument types." + CAST_HINT
        raise UndefinedFunction(f"{call} does not exist", position=position, hint=hint)
    hint = "Could not choose a best candidate function." + CAST_HINT
    raise AmbiguousFunction(f"{call} is not unique", position=position, hint=hint)


def resolve_operator(
    symbol: str, left: Type | None, right: Type, overloads: Sequence[F], position: int = 0
) -> Resolved[F]:
    """The operator `left symbol right`; `left` None for a prefix operator.

    Raises UndefinedFunction `operator does not exist: integer + text`.
    """
    args = (right,) if left is None else (left, right)
    candidates = _of_length(overloads, len(args))
    same = _as_other(args)
    exact = next((c for c in candidates if _is_exact(c.args, same)), None)
    found = exact or _select(args, [c for c in candidates if _accepts(c.args, args)])
    if isinstance(found, _Candidate):
        return Resolved(found.function, _targets(found.args, args, position))
    raise _operator_error(symbol, left, right, found == 0, position)


def _operator_error(symbol: str, left: Type | None, right: Type, missing: bool, position: int) -> SqlError:
    call = f"{symbol} {_shown(right)}" if left is None else f"{_shown(left)} {symbol} {_shown(right)}"
    if not missing:
        hint = "Could not choose a best candidate operator." + CAST_HINT
        return AmbiguousFunction(f"operator is not unique: {call}", position=position, hint=hint)
    hint = "No operator matches the given name and argument types." + CAST_HINT
    if left is None:
        hint = "No operator matches the given name and argument type."
        hint += " You might need to add an explicit type cast."
    return UndefinedFunction(f"operator does not exist: {call}", position=position, hint=hint)


def _shown(type_: Type) -> str:
    return type_.name if type_.name in PSEUDO else format_type(type_.bare())


def _as_other(args: tuple[Type, ...]) -> tuple[Type, ...]:
    """An operator is first looked for with an untyped operand taken for the type of the other."""
    if len(args) != 2 or (args[0].name == "unknown") == (args[1].name == "unknown"):
        return args
    known = args[1] if args[0].name == "unknown" else args[0]
    return known, known


def _of_length(overloads: Sequence[F], count: int) -> list[_Candidate[F]]:
    """The overloads that take `count` arguments; a variadic one repeats its last."""
    found: list[_Candidate[F]] = []
    for function in overloads:
        declared = function.args
        if len(declared) == count:
            found.append(_Candidate(function, declared))
        elif declared and count > len(declared) and getattr(function, "variadic", False):
            found.append(_Candidate(function, declared + declared[-1:] * (count - len(declared))))
    return found


def _is_exact(declared: Sequence[Type], args: Sequence[Type]) -> bool:
    return all(d.name == a.name for d, a in zip(declared, args, strict=True))


def _accepts(declared: Sequence[Type], args: Sequence[Type]) -> bool:
    plain = all(d.name in PSEUDO or can_coerce(a, d) for d, a in zip(declared, args, strict=True))
    return plain and consistent(declared, args)


def _category(type_: Type) -> str:
    return "P" if type_.name in PSEUDO else type_.category


def _is_preferred(type_: Type, category: str) -> bool:
    return type_.name not in PSEUDO and type_.category == category and type_.info.preferred


def _select(args: Sequence[Type], candidates: list[_Candidate[F]]) -> _Candidate[F] | int:
    """The best of several (func_select_candidate); else how many were left: 0, or too many.

    PostgreSQL has nothing declared over varchar, so an overload that is serves exact matches only.
    """
    candidates = [c for c in candidates if not any(d.name == "varchar" for d in c.args)] or candidates
    for narrow in (_most_exact, _most_preferred, _by_category, _by_known_type):
        if len(candidates) <= 1:
            break
        candidates = narrow(args, candidates)
    return candidates[0] if len(candidates) == 1 else len(candidates)


def _best(candidates: list[_Candidate[F]], scores: list[int]) -> list[_Candidate[F]]:
    highest = max(scores)
    return [c for c, score in zip(candidates, scores, strict=True) if score == highest]


def _most_exact(args: Sequence[Type], candidates: list[_Candidate[F]]) -> list[_Candidate[F]]:
    def score(c: _Candidate[F]) -> int:
        return sum(a.name != "unknown" and d.name == a.name for d, a in zip(c.args, args, strict=True))

    return _best(candidates, [score(c) for c in candidates])


def _most_preferred(args: Sequence[Type], candidates: list[_Candidate[F]]) -> list[_Candidate[F]]:
    def score(c: _Candidate[F]) -> int:
        return sum(
            a.name != "unknown" and (d.name == a.name or _is_preferred(d, a.category))
            for d, a in zip(c.args, args, strict=True)
        )

    return _best(candidates, [score(c) for c in candidates])


def _by_category(args: Sequence[Type], candidates: list[_Candidate[F]]) -> list[_Candidate[F]]:
    """Keeps what fits the category of each untyped argument: string if any takes one, else the only one."""
    wanted: dict[int, tuple[str, bool]] = {}
    for i, arg in enumerate(args):
        if arg.name != "unknown":
            continue
        slot = [c.args[i] for c in candidates]
        categories = {_category(type_) for type_ in slot}
        if "S" in categories:
            categories = {"S"}
        if len(categories) > 1:
            return candidates
        category = categories.pop()
        wanted[i] = category, any(_is_preferred(type_, category) for type_ in slot)
    kept = [c for c in candidates if all(_fits(c.args[i], *want) for i, want in wanted.items())]
    return kept or candidates


def _fits(type_: Type, category: str, preferred: bool) -> bool:
    return _category(type_) == category and (not preferred or _is_preferred(type_, category))


def _by_known_type(args: Sequence[Type], candidates: list[_Candidate[F]]) -> list[_Candidate[F]]:
    """If all typed arguments have one type, the untyped ones are taken for that too."""
    known = {arg.name: arg for arg in args if arg.name != "unknown"}
    if len(known) != 1 or len(known) == len(args):
        return candidates
    (type_,) = known.values()
    kept = [c for c in candidates if _accepts(c.args, [type_] * len(args))]
    return kept if len(kept) == 1 else candidates


def _targets(declared: Sequence[Type], args: Sequence[Type], position: int) -> tuple[Type, ...]:
    concrete = resolved(declared, args, position)
    return tuple(
        c if d.name in PSEUDO and _is_numeric(c) else _target(c, a)
        for d, c, a in zip(declared, concrete, args, strict=True)
    )


def _is_numeric(type_: Type) -> bool:
    """Whether values of the type lie in memory by their scale, so that all that meet need the same."""
    return (type_.element or type_).name == "numeric"


def _target(declared: Type, arg: Type) -> Type:
    if declared.name in ("any", arg.name):
        return arg
    if declared.name == "numeric" and arg.name in INTEGERS:
        return fixed_numeric(0)
    return TEXT if declared == UNKNOWN else declared
