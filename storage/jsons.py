"""JSON values: jsonb's normal form, access, comparison, building."""

from __future__ import annotations


def check_json(text: str) -> str: ...
def normalise(text: str) -> str:
    """jsonb's text of a JSON text: `{"a": 1, "b": [2]}`."""
    ...
