CREATE TABLE a (id int PRIMARY KEY, k int, v text, n numeric)

CREATE TABLE b (id int PRIMARY KEY, a_id int, w text)

CREATE TABLE c (id int PRIMARY KEY, b_id int, x int)

SELECT y + 1 AS z FROM (SELECT x + 1 AS y FROM (SELECT k AS x FROM a) q) r
----
-- translation
Project (y + 1) AS z
  -> Project (x + 1) AS y
    -> Project k AS x
      -> Scan a
-- merge_projects
Project ((k + 1) + 1) AS z
  -> Scan a
-- prune_columns
Project ((k + 1) + 1) AS z
  -> Scan a (k)
