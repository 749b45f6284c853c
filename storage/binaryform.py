"""Binary form of values, as PostgreSQL's send and receive functions exchange them."""

from __future__ import annotations

import pyarrow as pa

from .types import Type


def encode_binary(type_: Type, array: pa.Array) -> pa.Array:
    """The binary form of each value: a binary array."""
    raise NotImplementedError


def decode_binary(type_: Type, values: pa.Array) -> pa.Array:
    """Values of `type_` from their binary form. Raises 22P03, with `rows`."""
    raise NotImplementedError
