"""`TypeName`: a type as it was written, and the `Type` it names.

Parsing never looks a type up; whoever needs the type calls `resolve()`, which raises with the
position of the name, as PostgreSQL does when it analyses a statement.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..storage.errors import FeatureNotSupported, InvalidParameterValue, SyntaxFault, UndefinedObject
from ..storage.types import Type, array_of, bpchar, numeric, type_by_name, varchar

SERIALS = {
    "serial": "int4", "serial4": "int4", "bigserial": "int8", "serial8": "int8", "smallserial": "int2",
    "serial2": "int2",
}  # fmt: skip
"""Names that are not types: an integer column with a sequence behind it."""

_PRECISE = frozenset({"timestamp", "timestamptz", "time", "timetz", "interval"})
VARCHAR_LENGTH_MAX = 10485760
NUMERIC_PRECISION_MAX = 1000


@dataclass(frozen=True, slots=True)
class TypeName:
    """`schema.name(modifiers)[]…` with `dimensions` bracket pairs; `name` is folded and canonical.

    `fields` is the restriction of an interval (`"day to second"`), `position` 1-based.
    """

    name: str
    modifiers: tuple[int, ...] = ()
    dimensions: int = 0
    schema: str = ""
    fields: str = ""
    position: int = 0

    @property
    def serial(self) -> bool:
        """Whether this is serial, bigserial or smallserial."""
        return self.name in SERIALS and not self.dimensions and not self.schema

    def resolve(self) -> Type:
        """The type. Raises UndefinedObject (42704), InvalidParameterValue (bad modifier)."""
        try:
            element = self._element()
        except (UndefinedObject, InvalidParameterValue, SyntaxFault) as error:
            raise error.at(self.position) from None
        if self.dimensions and element.element is not None:
            raise FeatureNotSupported("arrays of arrays are not supported", position=self.position)
        return array_of(element) if self.dimensions else element

    def _element(self) -> Type:
        if self.schema not in ("", "pg_catalog"):
            raise UndefinedObject(f'type "{self.schema}.{self.name}" does not exist')
        name = SERIALS.get(self.name, self.name) if self.serial else self.name
        base = type_by_name(name)
        if base is None or name == "unknown" or self.name.endswith("[]"):
            raise UndefinedObject(f'type "{self.name}" does not exist')
        return _with_modifiers(base, self.modifiers) if self.modifiers else _default_length(base, self)

    def __str__(self) -> str:
        modifiers = f"({','.join(map(str, self.modifiers))})" if self.modifiers else ""
        return f"{self.name}{modifiers}{'[]' * self.dimensions}"


def _default_length(base: Type, written: TypeName) -> Type:
    """`character` without a length is one character wide; its internal name `bpchar` is unlimited."""
    return bpchar(1) if base.name == "bpchar" and written.name == "character" else base


def _with_modifiers(base: Type, modifiers: tuple[int, ...]) -> Type:
    first = modifiers[0]
    if base.name in ("varchar", "bpchar"):
        _check_length(base.name, modifiers)
        return varchar(first) if base.name == "varchar" else bpchar(first)
    if base.name == "numeric":
        return _numeric(modifiers)
    if base.name in _PRECISE:
        return Type(base.name, min(first, 6))
    raise SyntaxFault(f'type modifier is not allowed for type "{base.name}"')


def _check_length(name: str, modifiers: tuple[int, ...]) -> None:
    shown = "char" if name == "bpchar" else name
    if len(modifiers) != 1:
        raise InvalidParameterValue("invalid type modifier")
    if modifiers[0] < 1:
        raise InvalidParameterValue(f"length for type {shown} must be at least 1")
    if modifiers[0] > VARCHAR_LENGTH_MAX:
        raise InvalidParameterValue(f"length for type {shown} cannot exceed {VARCHAR_LENGTH_MAX}")


def _numeric(modifiers: tuple[int, ...]) -> Type:
    precision, scale = modifiers[0], modifiers[1] if len(modifiers) > 1 else 0
    if len(modifiers) > 2:
        raise InvalidParameterValue("invalid NUMERIC type modifier")
    if not 1 <= precision <= NUMERIC_PRECISION_MAX:
        raise InvalidParameterValue(
            f"NUMERIC precision {precision} must be between 1 and {NUMERIC_PRECISION_MAX}"
        )
    if not -NUMERIC_PRECISION_MAX <= scale <= NUMERIC_PRECISION_MAX:
        raise InvalidParameterValue(
            f"NUMERIC scale {scale} must be between -{NUMERIC_PRECISION_MAX} and {NUMERIC_PRECISION_MAX}"
        )
    return numeric(precision, scale)
