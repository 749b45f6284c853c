CREATE TABLE a (id int PRIMARY KEY, k int, v text, n numeric)

CREATE TABLE b (id int PRIMARY KEY, a_id int, w text)

CREATE TABLE c (id int PRIMARY KEY, b_id int, x int)

SELECT a.id FROM a, c, b WHERE a.id = b.a_id AND b.id = c.b_id AND a.k = 1
----
-- translation
Project id
  -> Filter ((id = a_id) AND (id = b_id) AND (k = 1))
    -> Join (every pair of rows)
      -> Join (every pair of rows)
        -> Scan a
        -> Scan c
      -> Scan b
-- push_filters
Project id
  -> Join (every pair of rows), where ((id = a_id) AND (id = b_id))
    -> Join (every pair of rows)
      -> Filter (k = 1)
        -> Scan a
      -> Scan c
    -> Scan b
-- join_order
Project id
  -> Project id, k, v, n, id, b_id, x, id, a_id, w
    -> Join (every pair of rows), where (id = b_id)
      -> Join (every pair of rows), where (id = a_id)
        -> Filter (k = 1)
          -> Scan a
        -> Scan b
      -> Scan c
-- join_keys
Project id
  -> Project id, k, v, n, id, b_id, x, id, a_id, w
    -> Join on id = b_id
      -> Join on id = a_id
        -> Filter (k = 1)
          -> Scan a
        -> Scan b
      -> Scan c
-- merge_projects
Project id
  -> Join on id = b_id
    -> Join on id = a_id
      -> Filter (k = 1)
        -> Scan a
      -> Scan b
    -> Scan c
-- prune_columns
Project id
  -> Join on id = b_id
    -> Join on id = a_id
      -> Filter (k = 1)
        -> Scan a (id, k)
      -> Scan b (id, a_id)
    -> Scan c (b_id)
