"""Where an expression starts, which is where PostgreSQL puts most complaints about a whole expression."""

from __future__ import annotations

from .dialect import Ast, position_of


def start_of(ast: Ast | None) -> int:
    """The leftmost position in `ast`, 1-based, 0 when unknown (`position_of` of `a + b` is that of the +)."""
    if ast is None:
        return 0
    found = [position_of(part) for part in ast.walk()]
    return min((position for position in found if position), default=0)
