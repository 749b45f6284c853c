"""The laws once more with pieces of three rows: whatever can be cut is cut, in views and in queries."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest

from millpond.operators import pieces
from millpond.operators.dataflow import run
from millpond.operators.node import EpochContext, Node, rewrite, walk
from millpond.operators.scan import Scan
from millpond.operators.zset import ZSet
from millpond.storage.schema import Schema

from .examples import EXAMPLES, relations, scans
from .harness import bag
from .test_laws import changes, proceed, start
from .test_laws import test_a_change_and_its_reverse_in_one_epoch_are_nothing as check_reverse
from .test_laws import test_a_late_view_is_like_one_from_the_start as check_late
from .test_laws import test_all_views_in_one_dataflow as check_all
from .test_laws import test_taking_all_rows_away_leaves_what_was_there_before_any as check_empty
from .test_laws import test_whole_at_once_is_row_by_row as check_whole


@pytest.fixture(autouse=True)
def tiny_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_ROWS", 3)


@pytest.mark.parametrize("seed", range(20, 23))
@pytest.mark.parametrize("name", EXAMPLES)
def test_incremental_is_plain_in_pieces(name: str, seed: int) -> None:
    trial, source = start(name, seed)
    trial.epoch(changes(trial, source, (12, 30)))
    trial.check()
    proceed(trial, source, 8)


@pytest.mark.parametrize("check", [check_reverse, check_late, check_empty, check_whole])
@pytest.mark.parametrize("name", EXAMPLES)
def test_laws_hold_in_pieces(name: str, check: Callable[[str], None]) -> None:
    check(name)


def test_all_views_in_one_dataflow_in_pieces() -> None:
    check_all()


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_query_in_pieces_gives_the_same_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = relations(random.Random(name).randrange(1 << 30))
    for relation in inputs:
        relation.change(40)
    contents = {relation.name: relation.content() for relation in inputs}
    node = EXAMPLES[name](scans(inputs))
    context = EpochContext(1, 1_700_000_000_000_000, errors=[])
    several = bag(run(node, lambda scan: contents[scan.relation], context))
    monkeypatch.setattr(pieces, "PIECE_ROWS", 1 << 18)
    assert several == bag(run(node, lambda scan: contents[scan.relation], context))


@dataclass(frozen=True)
class Cut(Node):
    """The rows of `input`, two at a time."""

    input: Node

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def key(self) -> tuple[int, ...] | None:
        return self.input.key

    @property
    def append_only(self) -> bool:
        return self.input.append_only

    def pieces(self, inputs: Sequence[Iterator[ZSet]], context: EpochContext) -> Iterator[ZSet]:
        for rows in inputs[0]:
            for at in range(0, len(rows), 2):
                yield rows.slice(at, min(2, len(rows) - at))


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("which", ["all", "first", "last"])
def test_an_operator_takes_its_inputs_in_pieces(
    name: str, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = relations(random.Random(f"{name} cut").randrange(1 << 30))
    for relation in inputs:
        relation.change(30)
    contents = {relation.name: relation.content() for relation in inputs}
    node = EXAMPLES[name](scans(inputs))
    read = [part.relation for part in walk(node) if isinstance(part, Scan)]
    chosen = {"all": read, "first": read[:1], "last": read[-1:]}[which]

    def cut(part: Node) -> Node:
        return Cut(part) if isinstance(part, Scan) and part.relation in chosen else part

    context = EpochContext(1, 1_700_000_000_000_000, errors=[])
    several = bag(run(rewrite(node, cut), lambda scan: contents[scan.relation], context))
    monkeypatch.setattr(pieces, "PIECE_ROWS", 1 << 18)
    assert several == bag(run(node, lambda scan: contents[scan.relation], context))
