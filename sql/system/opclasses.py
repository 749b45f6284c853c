"""Access methods and operator classes: what an index's columns are compared by."""

from __future__ import annotations

from ...storage.types import Type
from .objects import OWNER
from .registry import Rows, SystemContext, catalogue

_BTREE = 403
_CLASSES: dict[str, tuple[int, str, int]] = {
    "int2": (1979, "int2_ops", 1976), "int4": (1978, "int4_ops", 1976), "int8": (3124, "int8_ops", 1976),
    "oid": (1981, "oid_ops", 1989), "text": (3126, "text_ops", 1994), "bpchar": (10004, "bpchar_ops", 426),
    "name": (10028, "name_ops", 1994), "bool": (10003, "bool_ops", 424), "bytea": (10006, "bytea_ops", 428),
    "date": (3122, "date_ops", 434), "time": (10038, "time_ops", 1996), "char": (10007, "char_ops", 429),
    "timestamp": (3128, "timestamp_ops", 434), "timestamptz": (3127, "timestamptz_ops", 434),
    "interval": (10022, "interval_ops", 1982), "numeric": (3125, "numeric_ops", 1988),
    "float4": (10012, "float4_ops", 1970), "float8": (3123, "float8_ops", 1970),
    "uuid": (10065, "uuid_ops", 2968), "jsonb": (10088, "jsonb_ops", 4033),
    "anyarray": (10000, "array_ops", 397),
}  # fmt: skip
"""(OID, name, family's OID) by type."""
_STORED_AS = {"varchar": "text", "regclass": "oid", "regtype": "oid", "regproc": "oid"}


def default_opclass(type_: Type) -> int:
    """The operator class an index of a column of this type uses; 0 when the type has no order."""
    name = "anyarray" if type_.element is not None else _STORED_AS.get(type_.name, type_.name)
    return _CLASSES[name][0] if name in _CLASSES else 0


@catalogue(
    "pg_opclass", "oid opcname opcfamily opcintype",
    opcmethod=_BTREE, opcnamespace=11, opcowner=OWNER, opcdefault=True,
)  # fmt: skip
def _opclasses(system: SystemContext) -> Rows:
    """The order of each type that has one."""
    for name, (oid, class_name, family) in _CLASSES.items():
        yield oid, class_name, family, 2277 if name == "anyarray" else Type(name).oid


@catalogue("pg_opfamily", "oid opfname", opfmethod=_BTREE, opfnamespace=11, opfowner=OWNER)
def _opfamilies(system: SystemContext) -> Rows:
    """Families of orders that compare with each other."""
    names = {1976: "integer_ops", 434: "datetime_ops", 1970: "float_ops", 1994: "text_ops"}
    for family in sorted({family for _, _, family in _CLASSES.values()}):
        named = next(name for _, name, own in _CLASSES.values() if own == family)
        yield family, names.get(family, named)


@catalogue("pg_am", "oid amname amhandler amtype")
def _methods(system: SystemContext) -> Rows:
    """How rows and indexes are kept."""
    yield 2, "heap", 3, "t"
    yield _BTREE, "btree", 330, "i"
    yield 405, "hash", 331, "i"
