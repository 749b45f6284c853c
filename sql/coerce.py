"""Which function, which operator, which common type: PostgreSQL's rules (documentation, chapter 10).

An untyped literal is a `Literal` of type UNKNOWN; it takes the type its context asks for, and is then
parsed at once (so `'x'::int4` fails while binding, at the literal). `resolve.py` has the overload choice.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..operators.expr import Expr
from ..storage.types import Type


def coerce(expr: Expr, target: Type, context: str = "implicit", position: int = 0) -> Expr:
    """`expr` as a `target`, by a cast allowed in `context`: "implicit", "assignment" or "explicit".

    Raises CannotCoerce (42846) `cannot cast type x to y` for an explicit cast that does not exist, and
    DatatypeMismatch (42804) in the other contexts; callers with better words check `can_coerce` first.
    """
    raise NotImplementedError


def can_coerce(source: Type, target: Type, context: str = "implicit") -> bool:
    """Whether a value of `source` may become a `target` in that context. UNKNOWN may become anything."""
    raise NotImplementedError


def common_type(types: Sequence[Type], construct: str, position: int = 0) -> Type:
    """The type of UNION, CASE, VALUES, ARRAY, COALESCE … (section 10.5); `construct` is that word.

    Raises DatatypeMismatch `CASE types integer and text cannot be matched`.
    """
    raise NotImplementedError
