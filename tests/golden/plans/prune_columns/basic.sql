CREATE TABLE a (id int PRIMARY KEY, k int, v text, n numeric)

CREATE TABLE b (id int PRIMARY KEY, a_id int, w text)

CREATE TABLE c (id int PRIMARY KEY, b_id int, x int)

SELECT v FROM a
----
-- translation
Project v
  -> Scan a
-- prune_columns
Project v
  -> Scan a (v)
-- merge_projects
Scan a (v)

CREATE MATERIALIZED VIEW m AS SELECT b.w, count(*) AS n FROM a JOIN b ON a.id = b.a_id GROUP BY b.w
----
-- translation
Project w, count AS n
  -> Aggregate count(*) by w
    -> Join (every pair of rows), where (id = a_id)
      -> Scan a
      -> Scan b
-- join_keys
Project w, count AS n
  -> Aggregate count(*) by w
    -> Join on id = a_id
      -> Scan a
      -> Scan b
-- prune_columns
Project w, count AS n
  -> Aggregate count(*) by w
    -> Join on id = a_id
      -> Scan a (id)
      -> Scan b (a_id, w)
