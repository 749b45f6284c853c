"""State tables in memory, and the comparison of a dataflow with its plain form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from millpond.operators.dataflow import Dataflow, run
from millpond.operators.materialize import Materialize
from millpond.operators.node import EpochContext, Node
from millpond.operators.scan import Scan
from millpond.operators.zset import ZSet
from millpond.storage.keycode import encode_keys
from millpond.storage.table import StateTable, TableSpec

from .relations import Relation


class Tables:
    """An OpenContext over tables in memory, with epochs, rollback and restart."""

    def __init__(self) -> None:
        self.tables: dict[str, StateTable] = {}
        self.epoch = 0
        self.open = False

    def table(self, suffix: str, spec: TableSpec) -> StateTable:
        name = suffix
        if name not in self.tables:
            self.tables[name] = StateTable(name, spec)
            if self.open:
                self.tables[name].begin(self.epoch + 1)
        assert self.tables[name].spec == spec, name
        return self.tables[name]

    def begin(self) -> None:
        self.open = True
        for table in self.tables.values():
            table.begin(self.epoch + 1)

    def commit(self) -> None:
        self.open = False
        self.epoch += 1
        for table in self.tables.values():
            table.commit()

    def rollback(self) -> None:
        self.open = False
        for table in self.tables.values():
            table.rollback()

    def restarted(self) -> Tables:
        """The same content in new tables, as recovery leaves it."""
        again = Tables()
        again.epoch = self.epoch
        for name, table in self.tables.items():
            columns, weights = table.scan()
            again.tables[name] = StateTable(name, table.spec)
            if len(weights):
                again.tables[name].restore(columns, weights if table.spec.bag else None, self.epoch)
        return again


def bag(zset: ZSet) -> dict[bytes, int]:
    """Canonical bytes of each row → weight, zeros left out."""
    if not len(zset.schema):
        total = int(zset.weights.sum())
        return {b"": total} if total else {}
    rows: Counter[bytes] = Counter()
    keys = encode_keys(zset.columns, zset.schema.types).to_bytes_list() if len(zset) else []
    for key, weight in zip(keys, zset.weights.tolist(), strict=True):
        rows[key] += weight
    return {key: weight for key, weight in rows.items() if weight}


def add(total: dict[bytes, int], delta: dict[bytes, int]) -> dict[bytes, int]:
    result = Counter(total)
    for key, weight in delta.items():
        result[key] += weight
    return {key: weight for key, weight in result.items() if weight}


def errors_bag(context: EpochContext) -> dict[bytes, int]:
    """Row errors as a bag of (SQLSTATE, row)."""
    total: dict[bytes, int] = {}
    for error in context.errors or []:
        found = {error.code.encode() + b" " + key: weight for key, weight in bag(error.rows).items()}
        total = add(total, found)
    return total


class Trial:
    """One dataflow over some relations, compared with the plain form after each epoch."""

    def __init__(self, nodes: dict[str, Node], relations: Sequence[Relation]) -> None:
        self.nodes = nodes
        self.relations = {relation.name: relation for relation in relations}
        self.tables = Tables()
        self.totals: dict[str, dict[bytes, int]] = {name: {} for name in nodes}
        self.errors: dict[bytes, int] = {}
        self.open()

    def open(self) -> None:
        self.dataflow = Dataflow(self.tables)
        for name, node in self.nodes.items():
            self.dataflow.add(name, node)

    def add_late(self, name: str, node: Node) -> None:
        """A view over relations that have rows: its first delta is its whole content."""
        self.nodes[name] = node
        context = self.context()
        self.tables.begin()
        first = self.dataflow.add(name, node, self.content, context)
        self.tables.commit()
        self.totals[name] = bag(first)
        self.errors = add(self.errors, errors_bag(context))

    def restart(self) -> None:
        self.tables = self.tables.restarted()
        self.open()

    def context(self) -> EpochContext:
        return EpochContext(self.tables.epoch + 1, 1_700_000_000_000_000, errors=[])

    def epoch(self, deltas: dict[str, ZSet], abort_first: bool = False) -> Mapping[str, ZSet]:
        if abort_first:
            self.tables.begin()
            self.dataflow.step(self.context(), deltas)
            self.tables.rollback()
        self.tables.begin()
        context = self.context()
        outputs = self.dataflow.step(context, deltas)
        self.tables.commit()
        for name, delta in outputs.items():
            self.totals[name] = add(self.totals[name], bag(delta))
        self.errors = add(self.errors, errors_bag(context))
        return outputs

    def whole(self, node: Node, context: EpochContext) -> ZSet:
        return run(node, self.content, context)

    def content(self, scan: Scan) -> ZSet:
        if scan.relation in self.nodes:
            return self.whole(self.nodes[scan.relation], self.context())
        return self.relations[scan.relation].content()

    def check(self) -> None:
        """I5: the sum of the outputs is the plain output of the summed inputs, errors included."""
        errors: dict[bytes, int] = {}
        for name, node in self.nodes.items():
            context = self.context()
            plain = self.whole(node, context)
            assert plain.schema == node.schema
            for column, type_ in zip(plain.columns, plain.schema.types, strict=True):
                assert column.type == type_.arrow, (name, column.type, type_)
            expected = bag(plain)
            assert self.totals[name] == expected, f"{name}: {difference(self.totals[name], expected)}"
            errors = add(errors, errors_bag(context))
            if node.key is not None:
                check_key(plain, node.key)
            if isinstance(node, Materialize):
                columns, weights = self.tables.tables[name].scan(range(len(node.schema)))
                assert bag(ZSet(node.schema, tuple(columns), weights)) == expected, name
        assert self.errors == errors


def check_key(rows: ZSet, key: tuple[int, ...]) -> None:
    """No two rows of a whole output share the key the node claims."""
    live = rows.filter(rows.weights > 0)
    if not key:
        assert int(live.weights.sum()) <= 1
        return
    assert all(weight == 1 for weight in bag(live.select(key)).values())


def difference(got: dict[bytes, int], expected: dict[bytes, int]) -> str:
    extra = {k: v - expected.get(k, 0) for k, v in got.items() if v != expected.get(k, 0)}
    missing = {k: v for k, v in expected.items() if k not in got}
    return f"more: {extra} missing: {missing}"
