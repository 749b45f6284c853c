"""What all statements are made of: names, expressions with their text, and `Statement` itself."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

Ast = exp.Expr


@dataclass(frozen=True, slots=True)
class ObjectName:
    """A possibly qualified name: `("public", "t")` or `("t",)`."""

    parts: tuple[str, ...]
    position: int = 0

    @property
    def name(self) -> str:
        return self.parts[-1]

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column named in a list: of INSERT, of a view, of COPY."""

    name: str
    position: int = 0


@dataclass(frozen=True, slots=True)
class SqlExpression:
    """An expression with its source text, which is what the catalogue keeps of it."""

    ast: Ast
    text: str
    position: int = 0


@dataclass(frozen=True, slots=True)
class Statement:
    """Base of all statements."""

    text: str = field(default="", kw_only=True, compare=False)
    offset: int = field(default=0, kw_only=True, compare=False)
