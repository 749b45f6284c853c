CREATE TABLE a (id int PRIMARY KEY, k int, v text, n numeric)

CREATE TABLE b (id int PRIMARY KEY, a_id int, w text)

CREATE TABLE c (id int PRIMARY KEY, b_id int, x int)

SELECT id, 1 + 2 * 3 AS seven, upper('x') FROM a WHERE true AND k > 10 - 3
----
-- translation
Project id, (1 + (2 * 3)) AS seven, upper('x'::text) AS upper
  -> Filter (true AND (k > (10 - 3)))
    -> Scan a
-- fold_constants
Project id, 7 AS seven, 'X'::text AS upper
  -> Filter (k > 7)
    -> Scan a
-- prune_columns
Project id, 7 AS seven, 'X'::text AS upper
  -> Filter (k > 7)
    -> Scan a (id, k)

SELECT id FROM a WHERE k = 1 AND false
----
-- translation
Project id
  -> Filter ((k = 1) AND false)
    -> Scan a
-- prune_columns
Project id
  -> Filter ((k = 1) AND false)
    -> Scan a (id, k)

CREATE MATERIALIZED VIEW m AS SELECT id, upper('x') AS t FROM a WHERE k < 2 + 2
----
-- translation
Project id, upper('x'::text) AS t
  -> Filter (k < (2 + 2))
    -> Scan a
-- fold_constants
Project id, 'X'::text AS t
  -> Filter (k < 4)
    -> Scan a
-- prune_columns
Project id, 'X'::text AS t
  -> Filter (k < 4)
    -> Scan a (id, k)
