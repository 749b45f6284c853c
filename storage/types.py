"""Every SQL type as one entry: names, OID, category, and how a column of it lies in memory.

A `Type` is a value: two equal types are the same type. `TypeInfo`, found through `type.info`, holds
what does not depend on the modifier. Text, binary and key forms are in `textform.py`,
`binaryform.py`, `keycode.py` and `keycode_fixed.py`; they dispatch on `type.name`.

Columns in memory are Arrow arrays:

    bool→bool  int2/4/8→int16/32/64  float4/8→float32/64  text-like→string  bytea→binary
    date→date32  time→time64[us]  timestamp→timestamp[us]  timestamptz→timestamp[us, UTC]
    uuid→fixed 16 bytes  interval→fixed 16 bytes (int64 µs, int32 days, int32 months, little-endian)
    oid and the reg… types→int64  jsonb→string (PostgreSQL's normalised text)  T[]→list<T>
    int2vector and oidvector, of the catalogue only: arrays whose first subscript is 0

numeric has two physical forms, told apart by `scale`:
  * `scale` known (declared `numeric(p,s)`, or an expression whose display scale follows from its
    inputs): decimal128(38, scale); every value shows exactly `scale` digits, as in PostgreSQL;
  * `scale` None (unconstrained column, division, avg …): string, PostgreSQL's own text of the value
    ("1.10", "NaN"), since the display scale belongs to the value. Exact at any length.
`typmod` is what the user declared (PostgreSQL's encoding, −1 if nothing) and is reported on the wire;
`scale` is physical.

Infinity of date is INT32 max/min, of timestamp and timestamptz INT64 max/min.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

NUMERIC_PRECISION = 38
"""Digits of the decimal128 form; a result beyond them raises 22003."""


@dataclass(frozen=True, slots=True)
class TypeInfo:
    """What all types of one name share, as in `pg_type`."""

    name: str
    sql_name: str
    oid: int
    array_oid: int
    category: str
    size: int
    arrow: pa.DataType | None
    preferred: bool = False
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Type:
    """A SQL type with its modifier. `element` is set for arrays only (name `_int4` and so on)."""

    name: str
    typmod: int = -1
    scale: int | None = None
    element: Type | None = None

    @property
    def info(self) -> TypeInfo:
        if self.element is None:
            return INFO[self.name]
        return VECTORS.get(self.name) or _array_info(self.element)

    @property
    def oid(self) -> int:
        return self.info.oid

    @property
    def category(self) -> str:
        return self.info.category

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type of a column of this type."""
        if self.element is not None:
            return pa.list_(self.element.arrow)
        if self.name == "numeric":
            return pa.string() if self.scale is None else pa.decimal128(NUMERIC_PRECISION, self.scale)
        arrow = self.info.arrow
        assert arrow is not None, self.name
        return arrow

    def bare(self) -> Type:
        """The same type without declared modifier (physical scale kept)."""
        return self if self.typmod == -1 else replace(self, typmod=-1)

    def same(self, other: Type) -> bool:
        """Whether the SQL type is the same, modifiers and physical scale aside."""
        if self.name in VECTORS or other.name in VECTORS:
            return self.name == other.name
        if self.element is not None and other.element is not None:
            return self.element.same(other.element)
        return self.name == other.name

    def __str__(self) -> str:
        return format_type(self)


def _simple(
    name: str, sql_name: str, oid: int, array_oid: int, category: str, size: int, arrow: pa.DataType | None,
    *aliases: str, preferred: bool = False,
) -> TypeInfo:  # fmt: skip
    return TypeInfo(name, sql_name, oid, array_oid, category, size, arrow, preferred, aliases)


_US = pa.timestamp("us")
_US_UTC = pa.timestamp("us", "UTC")
_S = pa.string()
_I = pa.int64()

INFO: dict[str, TypeInfo] = {
    info.name: info
    for info in (
        _simple("bool", "boolean", 16, 1000, "B", 1, pa.bool_(), "boolean", preferred=True),
        _simple("bytea", "bytea", 17, 1001, "U", -1, pa.binary(), "bytes"),
        _simple("char", '"char"', 18, 1002, "Z", 1, _S),
        _simple("name", "name", 19, 1003, "S", 64, _S),
        _simple("int8", "bigint", 20, 1016, "N", 8, pa.int64(), "bigint"),
        _simple("int2", "smallint", 21, 1005, "N", 2, pa.int16(), "smallint"),
        _simple("int4", "integer", 23, 1007, "N", 4, pa.int32(), "integer", "int"),
        _simple("regproc", "regproc", 24, 1008, "N", 4, _I),
        _simple("text", "text", 25, 1009, "S", -1, _S, "string", preferred=True),
        _simple("oid", "oid", 26, 1028, "N", 4, _I, preferred=True),
        _simple("xid", "xid", 28, 1011, "U", 4, _I),
        _simple("json", "json", 114, 199, "U", -1, _S),
        _simple("float4", "real", 700, 1021, "N", 4, pa.float32(), "real"),
        _simple("float8", "double precision", 701, 1022, "N", 8, pa.float64(), "double precision", "float",
                "double", preferred=True),
        _simple("unknown", "unknown", 705, 0, "X", -2, _S),
        _simple("bpchar", "character", 1042, 1014, "S", -1, _S, "character"),
        _simple("varchar", "character varying", 1043, 1015, "S", -1, _S, "character varying"),
        _simple("date", "date", 1082, 1182, "D", 4, pa.date32()),
        _simple("time", "time without time zone", 1083, 1183, "D", 8, pa.time64("us"),
                "time without time zone"),
        _simple("timestamp", "timestamp without time zone", 1114, 1115, "D", 8, _US,
                "timestamp without time zone"),
        _simple("timestamptz", "timestamp with time zone", 1184, 1185, "D", 8, _US_UTC,
                "timestamp with time zone", preferred=True),
        _simple("interval", "interval", 1186, 1187, "T", 16, pa.binary(16), preferred=True),
        _simple("numeric", "numeric", 1700, 1231, "N", -1, None, "decimal", "dec"),
        _simple("regprocedure", "regprocedure", 2202, 2207, "N", 4, _I),
        _simple("regoper", "regoper", 2203, 2208, "N", 4, _I),
        _simple("regoperator", "regoperator", 2204, 2209, "N", 4, _I),
        _simple("regcollation", "regcollation", 4191, 4192, "N", 4, _I),
        _simple("regrole", "regrole", 4096, 4097, "N", 4, _I),
        _simple("regclass", "regclass", 2205, 2210, "N", 4, _I),
        _simple("regtype", "regtype", 2206, 2211, "N", 4, _I),
        _simple("regnamespace", "regnamespace", 4089, 4090, "N", 4, _I),
        _simple("record", "record", 2249, 2287, "P", -1, _S),
        _simple("void", "void", 2278, 0, "P", 4, _S),
        _simple("uuid", "uuid", 2950, 2951, "U", 16, pa.binary(16)),
        _simple("jsonb", "jsonb", 3802, 3807, "U", -1, _S),
    )
}  # fmt: skip

VECTORS: dict[str, TypeInfo] = {
    "int2vector": _simple("int2vector", "int2vector", 22, 1006, "A", -1, None),
    "oidvector": _simple("oidvector", "oidvector", 30, 1013, "A", -1, None),
}
"""The catalogue's arrays of old: subscripts begin at 0, and their text form is "1 2"."""

NAMED_OIDS = frozenset(name for name in INFO if name.startswith("reg"))
"""Types of OIDs that are shown by the name of their object."""

BOOL = Type("bool")
INT2 = Type("int2")
INT4 = Type("int4")
INT8 = Type("int8")
FLOAT4 = Type("float4")
FLOAT8 = Type("float8")
NUMERIC = Type("numeric")
TEXT = Type("text")
VARCHAR = Type("varchar")
BPCHAR = Type("bpchar")
NAME = Type("name")
CHAR = Type("char")
BYTEA = Type("bytea")
DATE = Type("date")
TIME = Type("time")
TIMESTAMP = Type("timestamp")
TIMESTAMPTZ = Type("timestamptz")
INTERVAL = Type("interval")
UUID = Type("uuid")
JSON = Type("json")
JSONB = Type("jsonb")
OID = Type("oid")
REGCLASS = Type("regclass")
REGTYPE = Type("regtype")
REGPROC = Type("regproc")
REGNAMESPACE = Type("regnamespace")
RECORD = Type("record")
VOID = Type("void")
UNKNOWN = Type("unknown")
INT2VECTOR = Type("int2vector", element=INT2)
OIDVECTOR = Type("oidvector", element=OID)

INTEGERS = frozenset({"int2", "int4", "int8"})
STRINGS = frozenset({"text", "varchar", "bpchar", "name", "char", "unknown"})

_BY_ALIAS = {alias: info.name for info in INFO.values() for alias in (info.name, *info.aliases)}
_BY_OID = {info.oid: info.name for info in INFO.values()}
_BY_ARRAY_OID = {info.array_oid: info.name for info in INFO.values() if info.array_oid}


def numeric(precision: int | None = None, scale: int | None = None) -> Type:
    """`numeric(p, s)` as declared. Beyond 38 digits it lies in memory as unconstrained text."""
    if precision is None:
        return NUMERIC
    scale = scale or 0
    typmod = ((precision << 16) | (scale & 0x7FF)) + 4
    physical = scale if precision <= NUMERIC_PRECISION and 0 <= scale <= NUMERIC_PRECISION else None
    return Type("numeric", typmod, physical)


def fixed_numeric(scale: int) -> Type:
    """A numeric without declared modifier whose values all show `scale` digits."""
    return Type("numeric", -1, scale)


def numeric_modifier(typmod: int) -> tuple[int, int]:
    """(precision, scale) of a numeric typmod that is not −1."""
    raw = typmod - 4
    scale = raw & 0x7FF
    return (raw >> 16) & 0xFFFF, scale - 0x800 if scale & 0x400 else scale


def varchar(length: int | None = None) -> Type:
    return VARCHAR if length is None else Type("varchar", length + 4)


def bpchar(length: int = 1) -> Type:
    return Type("bpchar", length + 4)


def array_of(element: Type) -> Type:
    """The one-dimensional array type of `element`."""
    return Type("_" + element.name, element.typmod, element.scale, element.bare())


def type_by_name(name: str) -> Type | None:
    """The type of an SQL name or alias in lower case (`int4`, `integer`, `_text`, `text[]`), or None."""
    if name.endswith("[]"):
        element = type_by_name(name[:-2])
        return element and array_of(element)
    if name in _BY_ALIAS:
        return Type(_BY_ALIAS[name])
    if name in VECTORS:
        return INT2VECTOR if name == "int2vector" else OIDVECTOR
    if name.startswith("_") and name[1:] in INFO:
        return array_of(Type(name[1:]))
    return None


def type_by_oid(oid: int, typmod: int = -1) -> Type | None:
    """The type of a `pg_type` OID, or None."""
    if oid in _BY_OID:
        name = _BY_OID[oid]
        if name == "numeric" and typmod >= 4:
            return numeric(*numeric_modifier(typmod))
        return Type(name, typmod)
    if oid in (22, 30):
        return INT2VECTOR if oid == 22 else OIDVECTOR
    if oid in _BY_ARRAY_OID:
        return array_of(Type(_BY_ARRAY_OID[oid]))
    return None


def format_type(type_: Type) -> str:
    """PostgreSQL's `format_type(oid, typmod)`: `character varying(10)`, `numeric(10,2)`, `integer[]`."""
    if type_.name in VECTORS:
        return type_.name
    if type_.element is not None:
        return format_type(replace(type_.element, typmod=type_.typmod)) + "[]"
    sql_name, typmod = type_.info.sql_name, type_.typmod
    if typmod < 0:
        return sql_name
    if type_.name == "numeric":
        precision, scale = numeric_modifier(typmod)
        return f"numeric({precision},{scale})"
    if type_.name in ("varchar", "bpchar"):
        return f"{sql_name}({typmod - 4})"
    if type_.name in ("timestamp", "timestamptz", "time"):
        head, _, tail = sql_name.partition(" ")
        return f"{head}({typmod}) {tail}"
    return sql_name


def _array_info(element: Type) -> TypeInfo:
    info = element.info
    return TypeInfo("_" + info.name, info.sql_name + "[]", info.array_oid, 0, "A", -1, None)
