"""A source whose records say which rows go: not stored, and yet not append only."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from millpond.server.bench.feed import Feed, Input
from millpond.server.bench.inputs import group_input, retractions
from millpond.storage.errors import FeatureNotSupported, InvalidParameterValue, ObjectNotReady

COLUMNS = "id bigint, v bigint"
QUERY = "SELECT id, count(*) AS n, min(v) AS low FROM s GROUP BY id"


@pytest.fixture
def feed() -> Iterator[Feed]:
    rows = [(1, 10, 1), (2, 20, 1), (1, 10, -1), (1, 5, 1), (2, 20, -1), (1, 5, -1), (1, 30, 1), (3, 7, 1)]
    columns = (pa.array([r[0] for r in rows]), pa.array([r[1] for r in rows]))
    with Feed() as feed:
        feed.relation("s", COLUMNS, Input(columns, np.array([r[2] < 0 for r in rows])))
        feed.execute(f"CREATE MATERIALIZED VIEW early AS {QUERY}")
        feed.run()
        yield feed


@pytest.mark.parametrize("relation", ["early", "late", f"({QUERY}) AS q"])
def test_views_and_queries_see_what_is_left(feed: Feed, relation: str) -> None:
    feed.execute(f"CREATE MATERIALIZED VIEW late AS {QUERY}")
    found = feed.execute(f"SELECT * FROM {relation} ORDER BY id").texts()
    assert [list(row) for row in found] == [["1", "1", "30"], ["3", "1", "7"]]
    assert [list(row) for row in feed.execute("SELECT * FROM s ORDER BY id").texts()] == [
        ["1", "30"],
        ["3", "7"],
    ]


def test_a_row_that_goes_without_having_come_stalls_the_view(feed: Feed) -> None:
    feed.append("s", Input((pa.array([9]), pa.array([9])), np.array([True])))
    with pytest.raises(AssertionError, match="a row goes more often than it came"):
        feed.run()
    with pytest.raises(ObjectNotReady, match="is stalled"):
        feed.execute("SELECT * FROM early")


def test_before_images_are_for_sources_of_change_events(feed: Feed) -> None:
    options = "connector = 'bench', input = 's', before_images = 'true'"
    with pytest.raises(InvalidParameterValue, match="before_images is for FORMAT DEBEZIUM"):
        feed.execute(f"CREATE SOURCE p ({COLUMNS}) WITH ({options})")
    with pytest.raises(FeatureNotSupported, match="before_images is for sources"):
        feed.execute(f"CREATE TABLE p ({COLUMNS}) WITH ({options}, format = 'debezium')")


def rows_of(changes: Input) -> Iterator[tuple[int, ...]]:
    return zip(*(column.to_pylist() for column in changes.columns), strict=True)


def test_retractions_are_the_changes_of_a_keyed_table() -> None:
    keyed = group_input(3000, 10, changes=True)
    assert keyed.deletes is not None
    live, net = dict[int, tuple[int, ...]](), dict[tuple[int, ...], int]()
    for row, gone in zip(rows_of(keyed), keyed.deletes, strict=True):
        live.pop(row[0], None)
        if not gone:
            live[row[0]] = row
    changes = retractions(keyed)
    assert changes.deletes is not None and len(changes) > len(keyed)
    for row, gone in zip(rows_of(changes), changes.deletes, strict=True):
        net[row] = net.get(row, 0) + (-1 if gone else 1)
        assert net[row] >= 0
    assert {row for row, weight in net.items() if weight} == set(live.values())
