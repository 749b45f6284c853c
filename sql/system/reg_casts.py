"""Casts between text and the types that show an OID by its object's name: regclass and its like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from ...operators.functions.casts import cast
from ...storage.errors import FeatureNotSupported
from ...storage.textform_strings import fit_length
from ...storage.types import NAMED_OIDS, Type
from .registry import SystemContext

if TYPE_CHECKING:
    from ...operators.node import EpochContext


def _system(context: EpochContext, type_: Type) -> SystemContext:
    """Raises FeatureNotSupported in a materialized view: names may change their meaning behind its back."""
    if not isinstance(context.surroundings, SystemContext):
        raise FeatureNotSupported(f"a materialized view cannot look up names of type {type_}")
    return context.surroundings


def _read(array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    """The OID of the object each text names."""
    return _system(context, target).object_oids(target.name, array)


def _write(array: pa.Array, source: Type, target: Type, context: EpochContext, explicit: bool) -> pa.Array:
    """The name of the object each OID stands for."""
    text = _system(context, source).object_texts(source.name, array)
    return text if target.name == "text" else fit_length(target, text, explicit)


for _name in NAMED_OIDS:
    for _string in ("text", "varchar", "name", "bpchar"):
        implicit = _name == "regclass" and _string in ("text", "varchar")
        cast(_string, _name, "implicit" if implicit else "explicit")(_read)
        cast(_name, _string, "assignment")(_write)
