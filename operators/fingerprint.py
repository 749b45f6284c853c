"""`fingerprint(node)`: a name for a plan that survives restarts and releases.

It is a hash of what the plan computes: classes, fields, types and the names of functions, but not
their code, documentation or address. Operator state is named by it, so an operator finds its tables
again whichever view asks for it first, and an edit elsewhere in a plan leaves them alone.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import sha256

from .node import Node

DIGITS = 20
"""Hexadecimal digits kept of the hash (80 bits)."""


def fingerprint(node: Node) -> str:
    """Class name and hash: `Aggregate-0f3a…`."""
    digest = sha256(canonical(node).encode()).hexdigest()
    return f"{type(node).__name__}-{digest[:DIGITS]}"


def canonical(value: object) -> str:
    """`value` as text, equal for equal plans."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = [
            f"{f.name}={canonical(getattr(value, f.name))}" for f in fields(value) if _counts(f.name, value)
        ]
        return f"{type(value).__name__}({','.join(parts)})"
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, tuple | list):
        return f"[{','.join(canonical(item) for item in value)}]"
    return repr(value)


def _counts(field: str, owner: object) -> bool:
    """Whether a field is part of what is computed: code and documentation are not."""
    value = getattr(owner, field)
    return field != "doc" and (not callable(value) or is_dataclass(value))
