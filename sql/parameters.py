"""`ParameterTypes`: the types of `$1`, `$2`, … of one statement, inferred as PostgreSQL does.

A parameter the client declared has that type. Any other is unknown until its context wants a type
of it (a comparison, a function argument, an assignment): the first context decides, a later one that
differs is an error. Shown bare in a select list it is text; never given a type, it is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..operators.expr import Parameter
from ..storage.errors import AmbiguousParameter, IndeterminateDatatype, UndefinedParameter
from ..storage.types import UNKNOWN, Type

PARAMETERS_MAX = 65535


class ParameterTypes:
    """The declared and inferred types of a statement's parameters, by number (1-based)."""

    def __init__(self, declared: Sequence[Type | None] = ()) -> None:
        self._types: dict[int, Type | None] = dict(enumerate(declared, 1))

    def use(self, number: int, position: int = 0) -> Parameter:
        """The expression `$number`; its type is unknown as long as nothing decided it."""
        if not 1 <= number <= PARAMETERS_MAX:
            raise UndefinedParameter(f"there is no parameter ${number}", position=position)
        type_ = self._types.setdefault(number, None)
        return Parameter(number, type_ or UNKNOWN)

    def decide(self, number: int, wanted: Type, position: int = 0) -> Type:
        """The type of `$number` now that its context wants `wanted`.

        Raises 42P08 if another context decided differently.
        """
        wanted = wanted.bare()
        known = self._types.get(number)
        if known is None or known.name == "unknown":
            self._types[number] = known = _storable(wanted)
        elif not known.same(wanted):
            raise AmbiguousParameter(
                f"inconsistent types deduced for parameter ${number}",
                detail=f"{known} versus {wanted}",
                position=position,
            )
        return known

    def known(self, number: int) -> Type | None:
        return self._types.get(number)

    def types(self) -> tuple[Type, ...]:
        """All types, in order. Raises 42P18 for one that nothing decided."""
        found: list[Type] = []
        for number in range(1, max(self._types, default=0) + 1):
            type_ = self._types.get(number)
            if type_ is None or type_.name == "unknown":
                raise IndeterminateDatatype(f"could not determine data type of parameter ${number}")
            found.append(type_)
        return tuple(found)


def _storable(type_: Type) -> Type:
    """A parameter's value has any scale, so a numeric parameter is unconstrained."""
    return Type("numeric") if type_.name == "numeric" else type_
