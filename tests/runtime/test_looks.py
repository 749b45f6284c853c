"""Updates from a value to an equal one that looks different reach every view whose rows have a key."""

from __future__ import annotations

import pytest

from .local import Local

VIEWS = {
    "same": "SELECT id, n, f, i, a FROM t",
    "chosen": "SELECT id, n, f, i, a FROM t WHERE b",
    "above": "SELECT id, n, f, i, a FROM chosen",
    "joined": "SELECT t.id, n, f, i, a, u.id AS other FROM t JOIN u ON u.id = t.id",
    "top": "SELECT id, n, f, i, a FROM t ORDER BY id LIMIT 3",
    "ranked": "SELECT id, n, f, i, a, row_number() OVER (PARTITION BY b ORDER BY id) AS r FROM t",
}
SHOWN = "SELECT id, n::text, f::text, i::text, a::text FROM {} ORDER BY id"
CHANGES = (
    "UPDATE t SET n = '0'",
    "UPDATE t SET f = '-0' WHERE id = 8",
    "UPDATE t SET i = '30 days' WHERE id = 8",
    "UPDATE t SET a = '{1.00}'",
    "INSERT INTO t VALUES (8, '0.000', '0', '1 mon', '{1.0}', true) "
    "ON CONFLICT (id) DO UPDATE SET n = excluded.n, i = excluded.i",
    "BEGIN; DELETE FROM t; INSERT INTO t VALUES (8, '0.00000', '0', '720:00:00', '{1.00}', true); COMMIT",
    "UPDATE t SET n = '0.0', f = '-0', i = '1 mon'; UPDATE t SET f = '0', n = '0'",
    "UPDATE t SET n = '0'",
)


@pytest.mark.parametrize("rows", [1, 30])
def test_views_follow_changes_of_looks_only(local: Local, rows: int) -> None:
    local.sql("CREATE TABLE t (id int PRIMARY KEY, n numeric, f float8, i interval, a numeric[], b boolean)")
    local.sql("CREATE TABLE u (id int PRIMARY KEY)")
    local.sql("INSERT INTO u SELECT generate_series(0, 100)")
    for name, query in VIEWS.items():
        local.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    for id_ in range(8, 8 + rows):
        local.sql(f"INSERT INTO t VALUES ({id_}, '0.00', '0', '1 mon', '{{1.0}}', true)")
    seen = set[str]()
    for change in CHANGES:
        for statement in change.split(";"):
            local.sql(statement)
        for name, query in VIEWS.items():
            wanted = local.sql(SHOWN.format(f"({query}) q"))
            assert local.sql(SHOWN.format(name)) == wanted, (name, change)
            seen.add(str(wanted))
    assert len(seen) > len(CHANGES) / 2
