"""Values as they look: 1.0 and 1.00 are equal, and so are 0 and -0, or 1 mon and 30 days, but look different.

Who puts a row in another's place must know whether anything changes, be it the looks only; who groups rows
must not tell them apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from .types import INT4, INT8, TEXT, UUID, Type, array_of

_BITS = {"float4": INT4, "float8": INT8, "interval": UUID}
_TEXTS = array_of(TEXT)


def looks(columns: Sequence[pa.Array], types: Sequence[Type]) -> tuple[list[pa.Array], list[Type]]:
    """Columns of types as which values are equal only when they look the same.

    Of arrays of floating point numbers and of intervals the looks are not told apart.
    """
    images = [_image(type_) for type_ in types]
    return [_seen(c, image) for c, image in zip(columns, images, strict=True)], images


def _image(type_: Type) -> Type:
    if pa.types.is_string(type_.arrow):
        return TEXT
    if pa.types.is_list(type_.arrow) and pa.types.is_string(type_.arrow.value_type):
        return _TEXTS
    return _BITS.get(type_.name, type_)


def _seen(column: pa.Array, image: Type) -> pa.Array:
    return column.view(image.arrow) if pa.types.is_floating(column.type) else column
