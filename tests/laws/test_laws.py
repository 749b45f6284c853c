"""I5 for every node: the sum of the deltas is the plain output of the summed inputs, at every epoch."""

from __future__ import annotations

import random

import numpy as np
import pytest

from millpond.operators import topn_head
from millpond.operators.zset import ZSet, concat
from millpond.storage import together
from millpond.storage.types import Type

from .examples import EXAMPLES, EXTRA_TYPES, relations, scans
from .harness import Trial, add, bag
from .relations import Relation

BY_VALUE = (
    "distinct few", "aggregate linear", "aggregate extremes", "aggregate grand", "intersect all",
    "except distinct", "join equal nulls full", "join equal nulls semi", "join equal nulls anti",
    "materialize bag", "top of partition", "window ranks",
)  # fmt: skip
"""Examples that group, match or order by the column whose type varies."""


def start(name: str, seed: int, extra: Type | None = None) -> tuple[Trial, random.Random]:
    source = random.Random(f"{name} {seed} {extra}")
    inputs = relations(source.randrange(1 << 30), extra or source.choice(EXTRA_TYPES))
    return Trial({name: EXAMPLES[name](scans(inputs))}, inputs), source


def changes(trial: Trial, source: random.Random, sizes: tuple[int, ...]) -> dict[str, ZSet]:
    some = [r for r in trial.relations.values() if source.random() < 0.7]
    return {r.name: r.change(source.choice(sizes)) for r in some}


def proceed(trial: Trial, source: random.Random, epochs: int) -> None:
    for _ in range(epochs):
        deltas = changes(trial, source, (0, 1, 2, 5, 12))
        trial.epoch(deltas, abort_first=source.random() < 0.25)
        trial.check()
        if source.random() < 0.2:
            trial.restart()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", EXAMPLES)
def test_incremental_is_plain(name: str, seed: int) -> None:
    trial, source = start(name, seed)
    trial.epoch({})
    trial.check()
    proceed(trial, source, 10)


@pytest.mark.parametrize(
    "name",
    [name for name in EXAMPLES if any(word in name for word in ("aggregate", "groups", "inner", "join"))],
)
def test_tables_that_take_in_a_delta_side_by_side(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "ROWS_MIN", 0)
    monkeypatch.setattr(together, "PROCESSORS", 2)
    for seed in range(40, 43):
        trial, source = start(name, seed)
        proceed(trial, source, 8)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_incremental_is_plain_for_long(name: str) -> None:
    for seed in range(100, 130):
        trial, source = start(name, seed)
        proceed(trial, source, 30)


@pytest.mark.parametrize("extra", EXTRA_TYPES, ids=str)
def test_every_type_groups_and_matches_by_value(extra: Type) -> None:
    for name in BY_VALUE:
        trial, source = start(name, 0, extra)
        proceed(trial, source, 5)


@pytest.mark.parametrize("name", EXAMPLES)
def test_whole_at_once_is_row_by_row(name: str) -> None:
    """However a change is cut into epochs, the same comes out in sum."""
    whole, source = start(name, 7)
    single = Trial(dict(whole.nodes), list(whole.relations.values()))
    for trial in (whole, single):
        trial.epoch({})
    for _ in range(3):
        deltas = {r.name: r.change(source.choice((4, 9)), shuffled=False) for r in whole.relations.values()}
        whole.epoch(deltas)
        for relation, delta in deltas.items():
            for position in range(len(delta)):
                single.epoch({relation: delta.slice(position, 1)})
        assert single.totals == whole.totals
        assert single.errors == whole.errors
        whole.check()


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_late_view_is_like_one_from_the_start(name: str) -> None:
    source = random.Random(name)
    inputs = relations(source.randrange(1 << 30), source.choice(EXTRA_TYPES))
    trial = Trial({"first": EXAMPLES["aggregate linear"](scans(inputs))}, inputs)
    proceed(trial, source, 3)
    trial.add_late(name, EXAMPLES[name](scans(inputs)))
    trial.check()
    proceed(trial, source, 4)


def test_all_views_in_one_dataflow() -> None:
    source = random.Random(5)
    inputs = relations(5)
    nodes = {name: build(scans(inputs)) for name, build in EXAMPLES.items()}
    trial = Trial(nodes, inputs)
    trial.epoch({})
    proceed(trial, source, 6)


@pytest.mark.parametrize("name", EXAMPLES)
def test_taking_all_rows_away_leaves_what_was_there_before_any(name: str) -> None:
    trial, source = start(name, 9)
    trial.epoch({})
    empty = trial.totals
    for _ in range(3):
        trial.epoch(changes(trial, source, (6,)))
        if name.endswith("growing") or "top nothing" in name:
            return
        deltas = {r.name: r.content().negate() for r in trial.relations.values()}
        for relation in trial.relations.values():
            relation.rows.clear()
        trial.epoch(deltas)
        assert trial.totals == empty
        assert trial.errors == {}
        trial.check()


@pytest.mark.parametrize("spare", [0, 1, 8])
@pytest.mark.parametrize("name", ["top", "top keyed", "top of partition", "top of key partition"])
def test_heads_are_filled_again_while_rows_go(name: str, spare: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many rows, then more going than coming: heads run short, often by the rows that come out."""
    monkeypatch.setattr(topn_head, "SPARE_MIN", spare)
    monkeypatch.setattr(topn_head, "SIFTED_ROWS_MIN", spare)
    source = random.Random(f"{name} {spare}")
    inputs = [r for r in relations(source.randrange(1 << 30)) if r.name in ("r", "k")]
    for relation in inputs:
        relation.pools[:2] = [range(4), range(40)] if relation.key is None else [range(200), range(4)]
    trial = Trial({name: EXAMPLES[name](scans(inputs))}, inputs)
    for relation in inputs:
        trial.epoch({relation.name: grown(relation, 90)})
    trial.check()
    for _ in range(25):
        for relation in inputs:
            trial.epoch({relation.name: shrunk(relation, source)}, abort_first=source.random() < 0.2)
        trial.check()


def grown(relation: Relation, count: int) -> ZSet:
    delta: list[tuple[tuple, int]] = []
    for _ in range(count):
        relation.insert(relation.row(), delta)
    return relation.zset([row for row, _ in delta], [1] * len(delta))


def shrunk(relation: Relation, source: random.Random) -> ZSet:
    """A few rows go, the first in order more often than others; sometimes one comes."""
    delta: list[tuple[tuple, int]] = []
    for _ in range(4):
        if relation.rows:
            relation.rows.sort(key=lambda row: (row[1] is not None, -(row[1] or 0)))
            place = source.choice((0, 1, source.randrange(len(relation.rows))))
            relation.delete(place % len(relation.rows), delta)
    if source.random() < 0.6:
        relation.insert(relation.row(), delta)
    return relation.zset([row for row, _ in delta], [weight for _, weight in delta])


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_change_and_its_reverse_in_one_epoch_are_nothing(name: str) -> None:
    trial, source = start(name, 11)
    proceed(trial, source, 4)
    before = trial.totals[name]
    deltas: dict[str, ZSet] = {}
    for relation in trial.relations.values():
        if relation.append_only:
            continue
        content = relation.content()
        both = concat(content.schema, (content.negate(), content))
        deltas[relation.name] = both.take(np.array(source.sample(range(len(both)), len(both)), np.int64))
    out = trial.epoch(deltas)
    assert add(before, bag(out[name]) if name in out else {}) == before
    trial.check()
