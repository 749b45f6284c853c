"""Casts between text and the types that show an OID by its object's name: regclass and its like."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa

from ...operators.functions.casts import CastKernel, cast
from ...operators.functions.vector import each_distinct
from ...storage.types import Type
from .names import relation_oid
from .registry import SystemContext

if TYPE_CHECKING:
    from ...operators.node import EpochContext


def _reader(find: Callable[[str, SystemContext], int]) -> CastKernel:
    """The cast from text whose names `find` looks up."""

    def kernel(
        array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool
    ) -> pa.Array:
        return each_distinct(lambda text: find(text, context.surroundings), array, pa.int64())

    return kernel


for _source in ("text", "varchar"):
    cast(_source, "regclass", "implicit")(_reader(relation_oid))
