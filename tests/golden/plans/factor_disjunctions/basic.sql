CREATE TABLE a (id int PRIMARY KEY, k int, v text, n numeric)

CREATE TABLE b (id int PRIMARY KEY, a_id int, w text)

CREATE TABLE c (id int PRIMARY KEY, b_id int, x int)

SELECT a.id FROM a, b WHERE (a.id = b.a_id AND a.k = 1) OR (a.id = b.a_id AND b.w = 'x')
----
-- translation
Project id
  -> Filter (((id = a_id) AND (k = 1)) OR ((id = a_id) AND (w = 'x'::text)))
    -> Join (every pair of rows)
      -> Scan a
      -> Scan b
-- factor_disjunctions
Project id
  -> Filter ((id = a_id) AND ((k = 1) OR (w = 'x'::text)))
    -> Join (every pair of rows)
      -> Scan a
      -> Scan b
-- push_filters
Project id
  -> Join (every pair of rows), where ((id = a_id) AND ((k = 1) OR (w = 'x'::text)))
    -> Scan a
    -> Scan b
-- join_keys
Project id
  -> Join on id = a_id, where ((k = 1) OR (w = 'x'::text))
    -> Scan a
    -> Scan b
-- prune_columns
Project id
  -> Join on id = a_id, where ((k = 1) OR (w = 'x'::text))
    -> Scan a (id, k)
    -> Scan b (a_id, w)
