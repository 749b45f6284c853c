"""DROP and what goes with it."""

from __future__ import annotations

from collections.abc import Sequence

from ..sql import statements as st
from ..sql.catalog import Catalog, kind_of
from ..sql.entries import Entry, Index, Schema, Sink, SystemRelation
from ..sql.entries import Sequence as SequenceEntry
from ..storage.errors import (
    DependentObjects,
    InsufficientPrivilege,
    InvalidSchemaName,
    SqlError,
    UndefinedObject,
    UndefinedTable,
    WrongObjectType,
)
from .define import DefineContext, Definition, Notice, defines

RELATION_KINDS = frozenset({"table", "view", "materialized view", "source", "index", "sequence", "sink"})


@defines(st.Drop)
def drop(statement: st.Drop, context: DefineContext) -> Definition:
    targets: list[Entry] = []
    notices: list[SqlError] = []
    tag = f"DROP {statement.kind.upper()}"
    for name in statement.names:
        try:
            entry = context.catalog.resolve_object(statement.kind, name.parts, context.search_path)
        except (UndefinedTable, UndefinedObject, InvalidSchemaName) as error:
            if not statement.if_exists:
                raise
            notices.append(Notice(error.message + ", skipping"))
            continue
        _check_kind(entry, statement.kind)
        if entry not in targets:
            targets.append(entry)
    if not targets:
        return Definition(context.catalog, tag, notices=tuple(notices))
    catalog, dropped, more = dropped_with(context.catalog, targets, statement.cascade)
    return Definition(catalog, tag, dropped=dropped, notices=(*notices, *more))


def _check_kind(entry: Entry, kind: str) -> None:
    if isinstance(entry, SystemRelation) or (isinstance(entry, Schema) and entry.oid < 2200):
        raise InsufficientPrivilege(f'permission denied: "{entry.name}" is a system catalog')
    actual = kind_of(entry)
    if actual != kind:
        article = "an" if kind[0] in "aeiou" else "a"
        hint = f"Use DROP {actual.upper()} to remove {'an' if actual[0] in 'aeiou' else 'a'} {actual}."
        raise WrongObjectType(f'"{entry.name}" is not {article} {kind}', hint=hint)


def dropped_with(
    catalog: Catalog, targets: Sequence[Entry], cascade: bool
) -> tuple[Catalog, tuple[Entry, ...], tuple[SqlError, ...]]:
    """(catalogue without `targets`, everything that goes, dependents first, notices).

    Raises DependentObjects when others need them and `cascade` was not said. Indexes, owned sequences
    and the contents of a schema with CASCADE go silently with what they belong to.
    """
    roots = list(targets)
    for target in targets:
        if isinstance(target, Schema):
            roots.extend(catalog.in_schema(target.name))
    given = [entry.oid for entry in roots]
    dependents = catalog.dependents_closure(given)
    owned = {e.oid for e in dependents if isinstance(e, Index) or (isinstance(e, SequenceEntry) and e.owner)}
    inside = [e for e in roots if e not in targets]
    # Told in the order they were made, so what an object needs comes before it.
    asked = sorted((e for e in (*inside, *dependents) if e.oid not in owned), key=lambda e: e.oid)
    if asked and not cascade:
        raise _needed(catalog, targets, asked)
    notices: tuple[SqlError, ...] = ()
    if len(asked) == 1:
        notices = (Notice(f"drop cascades to {_described(asked[0])}"),)
    elif asked:
        detail = "\n".join(f"drop cascades to {_described(e)}" for e in asked)
        notices = (Notice(f"drop cascades to {len(asked)} other objects", detail=detail),)
    gone = (*dependents, *(e for e in reversed(roots) if e not in dependents))
    return catalog.without(*(e.oid for e in gone)), gone, notices


def _needed(catalog: Catalog, targets: Sequence[Entry], asked: Sequence[Entry]) -> DependentObjects:
    if len(targets) > 1:
        message = "cannot drop desired object(s) because other objects depend on them"
    else:
        message = f"cannot drop {_described(targets[0])} because other objects depend on it"
    lines = []
    for entry in asked:
        needs = [catalog.by_oid(oid) for oid in sorted(entry.dependencies)]
        on = next((e for e in needs if e in targets or e in asked), targets[0])
        assert on is not None
        lines.append(f"{_described(entry)} depends on {_described(on)}")
    return DependentObjects(
        message, detail="\n".join(lines), hint="Use DROP ... CASCADE to drop the dependent objects too."
    )


def _described(entry: Entry) -> str:
    kind = "sink" if isinstance(entry, Sink) else kind_of(entry)
    shown = entry.name if entry.schema_name in ("public", "") else f"{entry.schema_name}.{entry.name}"
    return f"{kind} {shown}"
