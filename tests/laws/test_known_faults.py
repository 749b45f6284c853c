"""Wrong results that users of other streaming databases have met, one test each.

The issue named is where it was reported; the comment says what went wrong there.
"""

from __future__ import annotations

import random
from decimal import Decimal

import numpy as np
import pytest

from millpond.operators.consolidate import consolidate
from millpond.operators.distinct import Distinct
from millpond.operators.expr import Expr
from millpond.operators.filter import Filter
from millpond.operators.join import Join, JoinKind
from millpond.operators.node import Node
from millpond.operators.scan import Scan
from millpond.operators.sorting import SortKey
from millpond.operators.table_function import TableFunctionNode
from millpond.operators.topn import TopN
from millpond.operators.union import Union
from millpond.operators.window import Window
from millpond.operators.zset import ZSet
from millpond.storage import types as t
from millpond.storage.schema import Column, Schema

from .examples import COUNTDOWN, call, column, equi, group, number, operator, over
from .examples import frame as frame_of
from .harness import Trial
from .relations import Relation, relation

OUTER = (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL)
MATCHED = (*OUTER, JoinKind.SEMI, JoinKind.ANTI)


def pair(key: tuple[int, ...] | None = None) -> tuple[Relation, Relation, Scan, Scan]:
    """Two relations (a int8 or int4, b text) that tests fill by hand."""
    source = random.Random(0)
    left, right = (relation(name, source, [t.INT4, t.TEXT], key) for name in ("a", "b"))
    return left, right, Scan("a", left.schema, key), Scan("b", right.schema, key)


def change(trial: Trial, name: str, *rows: tuple, weight: int = 1) -> None:
    """Inserts rows or takes them away, steps, and compares with the plain form."""
    trial.epoch({name: moved(trial.relations[name], rows, weight)})
    trial.check()


def moved(to: Relation, rows: tuple[tuple, ...], weight: int) -> ZSet:
    for row in rows:
        if weight > 0:
            to.rows.append(row)
        else:
            to.rows.remove(row)
    return to.zset(list(rows), [weight] * len(rows))


def condition(kind: str, a: Node, b: Node) -> Expr | None:
    if kind == "equal":
        return None
    right = column(Join(a, b, JoinKind.INNER), 3)
    return operator("<=", column(a, 1), right)


@pytest.mark.parametrize("test", ["equal", "condition"])
@pytest.mark.parametrize("kind", MATCHED, ids=lambda kind: kind.value)
def test_a_row_without_partner_comes_back_after_delete_and_insert(kind: JoinKind, test: str) -> None:
    # risingwave#2420, #2495, #5291: the null-extended row was lost; degrees were not flushed.
    left, right, a, b = pair()
    trial = Trial({"v": equi(a, b, kind, 0, 0, condition=condition(test, a, b))}, [left, right])
    for _ in range(2):
        change(trial, "a", (1, "x"), (None, "n"))
        change(trial, "b", (1, "y"))
        change(trial, "a", (1, "x"), weight=-1)
        change(trial, "b", (1, "y"), (1, "y"))
        change(trial, "b", (1, "y"), (1, "y"), (1, "y"), weight=-1)
        trial.restart()
        change(trial, "a", (1, "x"))
        change(trial, "b", (1, "z"), (None, "n"))
        change(trial, "b", (1, "z"), (None, "n"), weight=-1)
        change(trial, "a", (1, "x"), (None, "n"), weight=-1)
        assert trial.totals["v"] == {}


@pytest.mark.parametrize("kind", MATCHED, ids=lambda kind: kind.value)
def test_both_sides_change_in_one_epoch(kind: JoinKind) -> None:
    left, right, a, b = pair()
    trial = Trial({"v": equi(a, b, kind, 0, 0)}, [left, right])
    for weight in (1, -1, 1):
        trial.epoch({"a": moved(left, ((1, "x"),), weight), "b": moved(right, ((1, "y"),), weight)})
        trial.check()
    trial.epoch({"a": moved(left, ((1, "x"),), -1), "b": moved(right, ((1, "z"),), 1)})
    trial.check()


def test_a_minimum_joined_back_follows_its_group() -> None:
    # risingwave#14592, #15721: min() joined back differed from the query over its inputs.
    left, _, a, _ = pair()
    least = group(a, (0,), call("min", column(a, 1)))
    keys = ((column(a, 0), column(a, 1)), (column(least, 0), column(least, 1)))
    trial = Trial({"v": Join(a, least, JoinKind.INNER, *keys)}, [left])
    change(trial, "a", (1, "b"), (1, "c"))
    change(trial, "a", (1, "a"), (1, "a"))
    change(trial, "a", (1, "a"), weight=-1)
    change(trial, "a", (1, "a"), weight=-1)
    change(trial, "a", (1, "b"), (1, "c"), weight=-1)
    assert trial.totals["v"] == {}


def test_rows_deleted_in_bulk_are_seen_when_they_come_again() -> None:
    # risingwave#27038: after a bulk delete identical rows that came again were missing.
    left, _, a, _ = pair()
    trial = Trial({"v": Distinct(a), "n": group(a, (0,), call("count"))}, [left])
    many = tuple((i % 50, str(i % 70)) for i in range(2000))
    for _ in range(2):
        change(trial, "a", *many)
        change(trial, "a", *many, weight=-1)
        assert trial.totals == {"v": {}, "n": {}}
    change(trial, "a", *many[:3])


def test_union_with_and_without_all_keep_their_multiplicities() -> None:
    # risingwave#14263: UNION and UNION ALL mixed up gave inconsistent state.
    left, right, a, b = pair()
    both = Union((a, b))
    trial = Trial({"all": both, "distinct": Distinct(both)}, [left, right])
    change(trial, "a", (1, "x"), (1, "x"))
    change(trial, "b", (1, "x"))
    change(trial, "a", (1, "x"), (1, "x"), weight=-1)
    assert list(trial.totals["distinct"].values()) == [1]
    change(trial, "b", (1, "x"), weight=-1)
    assert trial.totals == {"all": {}, "distinct": {}}


def test_a_failing_row_leaves_its_neighbours_alone() -> None:
    # risingwave#19352: one failing row of a set-returning function removed its chunk's results.
    left, _, a, _ = pair()
    called = TableFunctionNode(a, COUNTDOWN, (column(a, 0),), ("n",))
    trial = Trial({"v": called}, [left])
    change(trial, "a", (2, "x"), (-1, "bad"), (3, "y"), (-2, "bad"), (1, "z"))
    assert sum(trial.totals["v"].values()) == 6
    assert sum(trial.errors.values()) == 2
    change(trial, "a", (-1, "bad"), (-2, "bad"), weight=-1)
    assert trial.errors == {}


@pytest.mark.parametrize("groups", [(0,), ()])
def test_a_group_emptied_by_two_deletes_comes_back(groups: tuple[int, ...]) -> None:
    # turso#8531: a group emptied by two deletes never came back.
    left, _, a, _ = pair()
    calls = (call("count"), call("sum", column(a, 0)), call("max", column(a, 1)))
    trial = Trial({"v": group(a, groups, *calls)}, [left])
    for _ in range(2):
        change(trial, "a", (1, "x"), (1, "y"))
        change(trial, "a", (1, "x"), weight=-1)
        change(trial, "a", (1, "y"), weight=-1)
        trial.restart()


def test_outer_joins_emit_no_passing_null_rows() -> None:
    # ksql#1558, KAFKA-16394: spurious null rows. What comes out of one epoch is its net effect.
    left, right, a, b = pair()
    trial = Trial({"v": equi(a, b, JoinKind.LEFT, 0, 0)}, [left, right])
    out = trial.epoch({"a": moved(left, ((1, "x"),), 1), "b": moved(right, ((1, "y"),), 1)})
    trial.check()
    assert list(trial.totals["v"].values()) == [1]
    assert len(consolidate(out["v"])) == 1


@pytest.mark.parametrize("kind", OUTER, ids=lambda kind: kind.value)
def test_rows_with_a_null_key_are_kept(kind: JoinKind) -> None:
    # ksql#5929: LEFT JOIN dropped rows whose key is NULL.
    left, right, a, b = pair()
    trial = Trial({"v": equi(a, b, kind, 0, 0)}, [left, right])
    change(trial, "a", (None, "x"))
    change(trial, "b", (None, "y"))
    assert sum(trial.totals["v"].values()) == (2 if kind is JoinKind.FULL else 1)


def test_minimum_and_maximum_take_retractions() -> None:
    # ksql#1726: min and max were refused on tables because a retraction could not be undone.
    left, _, a, _ = pair()
    trial = Trial({"v": group(a, (), call("min", column(a, 0)), call("max", column(a, 0)))}, [left])
    change(trial, "a", *((i, "x") for i in range(10)))
    for i in (0, 9, 5, 1, 8):
        change(trial, "a", (i, "x"), weight=-1)


def test_an_update_that_moves_a_row_to_another_key_is_applied_whole() -> None:
    # FLINK-20370 and kin: when the key of the output is not that of the changes, their order was lost.
    left, right, a, b = pair((0,))
    views: dict[str, Node] = {
        "join": equi(a, b, JoinKind.LEFT, 0, 0),
        "top": TopN(a, (1,), (SortKey(0),), 1),
        "last": Distinct(group(a, (1,), call("max", column(a, 0)))),
        "by text": group(a, (1,), call("count"), call("min", column(a, 0))),
    }
    trial = Trial(views, [left, right])
    change(trial, "a", (1, "x"), (2, "y"), (3, "x"))
    change(trial, "b", (1, "p"), (2, "q"))
    swapped = left.zset([(1, "x"), (2, "y"), (1, "y"), (2, "x")], [-1, -1, 1, 1])
    left.rows[:] = [(1, "y"), (2, "x"), (3, "x")]
    for order in ([2, 0, 3, 1], [0, 1, 2, 3]):
        delta = swapped.take(np.array(order))
        trial.epoch({"a": delta})
        trial.check()
        back = delta.negate()
        left.rows[:] = [(1, "x"), (2, "y"), (3, "x")]
        trial.epoch({"a": back})
        trial.check()
        left.rows[:] = [(1, "y"), (2, "x"), (3, "x")]


def test_window_functions_take_updates() -> None:
    # FLINK-19059: OVER could not consume updates (Nexmark q6).
    left, _, a, _ = pair()
    average = over("avg", column(a, 0), frame=frame_of("rows", -9, 0))
    trial = Trial({"v": Window(a, (1,), (SortKey(0),), (average, over("row_number")))}, [left])
    change(trial, "a", *((i, "x") for i in range(30)))
    change(trial, "a", (3, "x"), (17, "x"), weight=-1)
    change(trial, "a", (3, "y"), (100, "x"))


@pytest.mark.parametrize("kind", MATCHED, ids=lambda kind: kind.value)
def test_equal_keys_of_different_types_meet(kind: JoinKind) -> None:
    # ksql#8528, #8938: logically equal keys in another form went elsewhere and matched nothing.
    source = random.Random(1)
    forms = (t.NUMERIC, t.numeric(10, 2)), (t.INT4, t.INT8), (t.INT2, t.INT4), (t.bpchar(3), t.bpchar(5))
    for one, other in forms:
        left, right = relation("a", source, [t.TEXT, t.TEXT], None), relation("b", source, [t.TEXT], None)
        left, right = retyped(left, (one, t.TEXT)), retyped(right, (other,))
        a, b = Scan("a", left.schema), Scan("b", right.schema)
        trial = Trial({"v": equi(a, b, kind, 0, 0)}, [left, right])
        change(trial, "a", (value(one), "x"), (None, "y"))
        change(trial, "b", (value(other),))
        matched = sum(trial.totals["v"].values())
        assert matched == {JoinKind.ANTI: 1, JoinKind.SEMI: 1, JoinKind.RIGHT: 1}.get(kind, 2)
        change(trial, "b", (value(other),), weight=-1)


def retyped(of: Relation, types: tuple[t.Type, ...]) -> Relation:
    of.schema = Schema(tuple(Column(f"c{i}", type_) for i, type_ in enumerate(types)))
    return of


def value(type_: t.Type) -> object:
    if type_.name == "numeric":
        return "7.0" if type_.scale is None else Decimal("7.00")
    return "7" if type_.name == "bpchar" else 7


def test_a_filter_on_a_failing_expression_keeps_what_it_can() -> None:
    # materialize#12182: one bad value made the whole view unqueryable.
    left, _, a, _ = pair()
    inverse = operator("/", number(10), column(a, 0))
    trial = Trial({"v": Filter(a, operator(">", inverse, number(1)))}, [left])
    change(trial, "a", (0, "bad"), (2, "x"))
    assert sum(trial.totals["v"].values()) == 1 and sum(trial.errors.values()) == 1
    change(trial, "a", (0, "bad"), weight=-1)
    assert trial.errors == {}
