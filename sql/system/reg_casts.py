"""Casts between text and the types that show an OID by its object's name: regclass and its like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from ...operators.functions.casts import cast
from ...operators.functions.vector import each_distinct
from ...storage.textform_strings import fit_length
from ...storage.types import Type
from .names import READERS, WRITERS
from .registry import SystemContext

if TYPE_CHECKING:
    from ...operators.node import EpochContext


def shown(system: SystemContext, type_name: str, oids: pa.Array) -> pa.Array:
    """The text of each OID of that type."""
    write = WRITERS[type_name]
    return each_distinct(lambda oid: write(oid, system), oids, pa.string())


def _read(array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    """The OID of the object each text names."""
    find, system = READERS[target.name], context.surroundings
    assert isinstance(system, SystemContext)
    return each_distinct(lambda text: find(text, system), array, pa.int64())


def _write(array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    """The name of the object each OID stands for."""
    system = context.surroundings
    assert isinstance(system, SystemContext)
    text = shown(system, source.name, array)
    return text if target.name == "text" else fit_length(target, text, explicit)


for _name in READERS:
    for _string in ("text", "varchar", "name", "bpchar"):
        implicit = _name == "regclass" and _string in ("text", "varchar")
        cast(_string, _name, "implicit" if implicit else "explicit")(_read)
        cast(_name, _string, "assignment")(_write)
