"""Strings quoted as SQL writes them: quote_ident, quote_literal, quote_nullable."""

from __future__ import annotations

import re

import pyarrow as pa

from ...storage import types as t
from .registry import scalar
from .vector import each, rowwise

_S = pa.string()
_PLAIN_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_$]*")


def quote_ident(text: str) -> str:
    """As an identifier: quoted unless plain lower case and no reserved word."""
    from .keywords import RESERVED

    if _PLAIN_IDENTIFIER.fullmatch(text) and "$" not in text and text not in RESERVED:
        return text
    return '"' + text.replace('"', '""') + '"'


def quote_literal(text: str) -> str:
    """As a string constant."""
    quoted = text.replace("'", "''").replace("\\", "\\\\")
    return f" E'{quoted}'".lstrip() if "\\" in text else f"'{quoted}'"


def _quote_nullable(text: str | None) -> str:
    """As a string constant, NULL for NULL."""
    return "NULL" if text is None else quote_literal(text)


scalar("quote_ident", (t.TEXT,), t.TEXT)(each(quote_ident, _S))
scalar("quote_literal", (t.TEXT,), t.TEXT)(each(quote_literal, _S))
scalar("quote_nullable", (t.TEXT,), t.TEXT, strict=False)(rowwise(_quote_nullable, _S))
