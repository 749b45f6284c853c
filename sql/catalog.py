"""The catalogue: what objects there are, as one immutable value.

A statement that changes it makes a new `Catalog`; whoever holds an old one keeps seeing it, so a
plan is valid for exactly the catalogue it was made with (`version`). The kinds of entries are in
`entries.py` and may be imported from here; `catalog_rows.py` turns a catalogue into rows and back.

As in PostgreSQL all relations of a schema share one set of names: tables, views, indexes, sequences,
and likewise sources, sinks and subscriptions. Schemas, connections and secrets have their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field
from types import MappingProxyType

from ..storage.errors import (
    DuplicateObject,
    DuplicateSchema,
    DuplicateTable,
    FeatureNotSupported,
    InvalidSchemaName,
    SyntaxFault,
    UndefinedObject,
    UndefinedTable,
)
from .entries import (
    ROW_ID,
    Check,
    Connection,
    Entry,
    ForeignReference,
    Identity,
    Index,
    IndexKey,
    MaterializedView,
    Relation,
    Schema,
    Secret,
    Sequence,
    Sink,
    Source,
    Subscription,
    SystemRelation,
    Table,
    UniqueConstraint,
    View,
)

__all__ = [
    "DATABASE", "FIRST_OID", "ROW_ID", "Catalog", "Check", "Connection", "Entry", "ForeignReference",
    "Identity", "Index", "IndexKey", "MaterializedView", "Relation", "Schema", "Secret", "Sequence", "Sink",
    "Source", "Subscription", "SystemRelation", "Table", "UniqueConstraint", "View", "kind_of",
]  # fmt: skip

FIRST_OID = 16384
"""OIDs below are PostgreSQL's own, and those of system relations."""

DATABASE = "millpond"
SYSTEM_SCHEMAS = {"pg_catalog": 11, "information_schema": 13000, "millpond": 13001}
PUBLIC_OID = 2200

_KINDS: dict[type[Entry], str] = {
    Table: "table", View: "view", MaterializedView: "materialized view", Source: "source", Index: "index",
    Sink: "sink", Sequence: "sequence", Subscription: "subscription", Connection: "connection",
    Secret: "secret", Schema: "schema", SystemRelation: "view",
}  # fmt: skip

_OWN_NAMES = (Schema, Connection, Secret)


def kind_of(entry: Entry) -> str:
    """The kind of an object in the words of SQL: "table", "materialized view", …"""
    return _KINDS[type(entry)]


@dataclass(frozen=True, slots=True)
class Catalog:
    """All objects. Make the first one by `Catalog.initial`; change it by `with_` and `without`.

    `next_oid` only grows, even over drops: an OID names the object's state and is never used again.
    """

    entries: Mapping[int, Entry] = field(default_factory=lambda: MappingProxyType({}))
    next_oid: int = FIRST_OID
    version: int = 0
    names: Mapping[tuple[str, str, str], int] = field(default_factory=lambda: MappingProxyType({}))
    """(name space, schema, name) → oid."""

    @staticmethod
    def initial(system: Iterable[SystemRelation] = ()) -> Catalog:
        """The catalogue of a new database: its schemas and the given system relations."""
        schemas = [Schema(oid, "", name) for name, oid in SYSTEM_SCHEMAS.items()]
        return Catalog().with_all([*schemas, Schema(PUBLIC_OID, "", "public"), *system])

    def with_all(self, added: Iterable[Entry]) -> Catalog:
        """The catalogue with these entries added, or put in place of those with the same OID."""
        entries, names = dict(self.entries), dict(self.names)
        following = self.next_oid
        for entry in added:
            old = entries.get(entry.oid)
            if old is not None:
                del names[_name_key(old)]
            key = _name_key(entry)
            assert key not in names, f"two objects named {key}"
            entries[entry.oid], names[key] = entry, entry.oid
            following = max(following, entry.oid + 1)
        return Catalog(MappingProxyType(entries), following, self.version + 1, MappingProxyType(names))

    def with_(self, entry: Entry) -> Catalog:
        """As `with_all`, of one entry. Its name must be free (see `check_free`)."""
        return self.with_all((entry,))

    def without(self, *oids: int) -> Catalog:
        """The catalogue without these objects; what depends on them must go with them."""
        entries = {oid: entry for oid, entry in self.entries.items() if oid not in oids}
        names = {key: oid for key, oid in self.names.items() if oid not in oids}
        return Catalog(MappingProxyType(entries), self.next_oid, self.version + 1, MappingProxyType(names))

    def reserve(self, count: int = 1) -> tuple[int, Catalog]:
        """`count` fresh OIDs (the first of them), and the catalogue that will not give them again."""
        after = Catalog(self.entries, self.next_oid + count, self.version, self.names)
        return self.next_oid, after

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())

    # Looking up.
    def by_oid(self, oid: int) -> Entry | None:
        return self.entries.get(oid)

    def by_id(self, id_: str) -> Entry | None:
        """The entry whose `id` ("r16384") this is."""
        return self.entries.get(int(id_[1:])) if id_[1:].isdigit() else None

    def find(self, parts: SequenceOf[str], search_path: SequenceOf[str]) -> Entry | None:
        """The relation of that (qualified) name, or None. pg_catalog is searched first unless the
        path names it."""
        return self._find("relation", _unqualified(parts), search_path)

    def resolve(self, parts: SequenceOf[str], search_path: SequenceOf[str]) -> Entry:
        """The relation of that name. Raises UndefinedTable (42P01) in PostgreSQL's words."""
        found = self.find(parts, search_path)
        if found is None:
            raise UndefinedTable(f'relation "{".".join(_unqualified(parts))}" does not exist')
        return found

    def find_object(self, kind: str, parts: SequenceOf[str], search_path: SequenceOf[str]) -> Entry | None:
        """The object called so in the name space of `kind` ("schema", "connection", "secret", any other)."""
        parts = _unqualified(parts)
        if kind == "schema":
            return self.schema(parts[-1])
        return self._find(kind if kind in ("connection", "secret") else "relation", parts, search_path)

    def resolve_object(self, kind: str, parts: SequenceOf[str], search_path: SequenceOf[str]) -> Entry:
        """As `find_object`. Raises 3F000, 42704 or 42P01 as PostgreSQL's DROP does."""
        found = self.find_object(kind, parts, search_path)
        if found is not None:
            return found
        shown = ".".join(parts)
        if kind == "schema":
            raise InvalidSchemaName(f'schema "{shown}" does not exist')
        if len(parts) > 1 and self.schema(parts[-2]) is None:
            raise InvalidSchemaName(f'schema "{parts[-2]}" does not exist')
        if kind in ("table", "view", "materialized view", "sequence"):
            raise UndefinedTable(f'{kind} "{shown}" does not exist')
        raise UndefinedObject(f'{kind} "{shown}" does not exist')

    def schema(self, name: str) -> Schema | None:
        oid = self.names.get(("schema", "", name))
        entry = None if oid is None else self.entries[oid]
        assert entry is None or isinstance(entry, Schema)
        return entry

    def schema_oid(self, name: str) -> int:
        """The OID of a schema that exists."""
        return self.names["schema", "", name]

    def creation_schema(self, parts: SequenceOf[str], search_path: SequenceOf[str]) -> str:
        """The schema in which an object of that name is to be made. Raises InvalidSchemaName."""
        parts = _unqualified(parts)
        if len(parts) == 2:
            if self.schema(parts[0]) is None:
                raise InvalidSchemaName(f'schema "{parts[0]}" does not exist')
            return parts[0]
        for name in search_path:
            if self.schema(name) is not None:
                return name
        raise InvalidSchemaName("no schema has been selected to create in")

    def check_free(self, kind: str, schema: str, name: str) -> None:
        """Raises DuplicateTable, DuplicateSchema or DuplicateObject when the name is taken."""
        space = kind if kind in ("schema", "connection", "secret") else "relation"
        if (space, "" if kind == "schema" else schema, name) not in self.names:
            return
        if space == "relation":
            raise DuplicateTable(f'relation "{name}" already exists')
        if space == "schema":
            raise DuplicateSchema(f'schema "{name}" already exists')
        raise DuplicateObject(f'{kind} "{name}" already exists')

    def free_name(self, schema: str, *parts: str) -> str:
        """A name for an object nobody named (`t_a_idx`), with a number behind it if taken.

        Parts are cut so that it has 63 bytes at most, the longest first, as PostgreSQL does.
        """
        for number in range(1 << 20):
            name = _joined(parts, str(number) if number else "")
            if ("relation", schema, name) not in self.names:
                return name
        raise AssertionError("no free name")

    # Families.
    def of(self, *kinds: type[Entry]) -> list[Entry]:
        """All entries of these classes, by OID."""
        return sorted((e for e in self.entries.values() if isinstance(e, kinds)), key=lambda e: e.oid)

    def in_schema(self, name: str) -> list[Entry]:
        """Everything in a schema."""
        return [entry for entry in self.entries.values() if entry.schema_name == name]

    def dependents(self, oid: int) -> list[Entry]:
        """The objects that directly need this one, by OID."""
        return sorted((e for e in self.entries.values() if oid in e.dependencies), key=lambda e: e.oid)

    def dependents_closure(self, oids: Iterable[int]) -> list[Entry]:
        """All objects that need one of these, however indirectly, each before what it needs.

        The given objects themselves are not among them.
        """
        return _backwards(lambda oid: [e.oid for e in self.dependents(oid)], list(oids), self.entries)

    def indexes(self, table_oid: int) -> list[Index]:
        return [e for e in self.dependents(table_oid) if isinstance(e, Index) and e.table_oid == table_oid]

    def _find(self, space: str, parts: SequenceOf[str], search_path: SequenceOf[str]) -> Entry | None:
        if len(parts) == 2:
            oid = self.names.get((space, parts[0], parts[1]))
            return None if oid is None else self.entries[oid]
        path = search_path if "pg_catalog" in search_path else ("pg_catalog", *search_path)
        for schema in path:
            oid = self.names.get((space, schema, parts[0]))
            if oid is not None:
                return self.entries[oid]
        return None


def _name_key(entry: Entry) -> tuple[str, str, str]:
    space = _KINDS[type(entry)] if isinstance(entry, _OWN_NAMES) else "relation"
    return space, entry.schema_name, entry.name


def _unqualified(parts: SequenceOf[str]) -> SequenceOf[str]:
    """`parts` without our own database's name in front."""
    if len(parts) <= 2:
        return parts
    shown = ".".join(parts)
    if len(parts) > 3:
        raise SyntaxFault(f"improper qualified name (too many dotted names): {shown}")
    if parts[0] != DATABASE:
        raise FeatureNotSupported(f"cross-database references are not implemented: {shown}")
    return parts[1:]


def _joined(parts: SequenceOf[str], number: str) -> str:
    """`t_a_idx` of ("t", "a", "idx"); the last part is never cut."""
    *cut, last = parts
    while len("_".join([*cut, last + number]).encode()) > 63:
        longest = max(range(len(cut)), key=lambda i: len(cut[i]))
        cut[longest] = cut[longest][:-1]
    return "_".join([*cut, last + number])


def _backwards(
    following: Callable[[int], list[int]], start: list[int], entries: Mapping[int, Entry]
) -> list[Entry]:
    """Everything reachable from `start` in reverse topological order (Tarjan 1976), without recursion."""
    order: list[int] = []
    seen = set(start)
    stack = [(oid, iter(following(oid))) for oid in reversed(start)]
    while stack:
        oid, rest = stack[-1]
        child = next((c for c in rest if c not in seen), None)
        if child is None:
            order.append(oid)
            stack.pop()
        else:
            seen.add(child)
            stack.append((child, iter(following(child))))
    given = set(start)
    return [entries[oid] for oid in order if oid not in given]
