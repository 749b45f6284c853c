CREATE TABLE a (id int PRIMARY KEY, k int, v text, n numeric)

CREATE TABLE b (id int PRIMARY KEY, a_id int, w text)

CREATE TABLE c (id int PRIMARY KEY, b_id int, x int)

SELECT * FROM (SELECT a.id, b.w FROM a JOIN b ON a.id = b.a_id) q WHERE id > 5 AND w = 'x'
----
-- translation
Filter ((id > 5) AND (w = 'x'::text))
  -> Project id, w
    -> Join (every pair of rows), where (id = a_id)
      -> Scan a
      -> Scan b
-- push_filters
Project id, w
  -> Join (every pair of rows), where (id = a_id)
    -> Filter (id > 5)
      -> Scan a
    -> Filter (w = 'x'::text)
      -> Scan b
-- join_keys
Project id, w
  -> Join on id = a_id
    -> Filter (id > 5)
      -> Scan a
    -> Filter (w = 'x'::text)
      -> Scan b
-- prune_columns
Project id, w
  -> Join on id = a_id
    -> Filter (id > 5)
      -> Scan a (id)
    -> Filter (w = 'x'::text)
      -> Scan b (a_id, w)

SELECT * FROM (SELECT k, count(*) AS n FROM a GROUP BY k) q WHERE k = 1 AND n > 2
----
-- translation
Filter ((k = 1) AND (n > 2))
  -> Project k, count AS n
    -> Aggregate count(*) by k
      -> Scan a
-- push_filters
Project k, count AS n
  -> Filter (count > 2)
    -> Aggregate count(*) by k
      -> Filter (k = 1)
        -> Scan a
-- prune_columns
Project k, count AS n
  -> Filter (count > 2)
    -> Aggregate count(*) by k
      -> Filter (k = 1)
        -> Scan a (k)

SELECT a.id, b.id FROM a LEFT JOIN b ON a.id = b.a_id WHERE a.k = 1 AND b.w IS NULL
----
-- translation
Project id, id
  -> Filter ((k = 1) AND (w IS NULL))
    -> Left Join (every pair of rows), where (id = a_id)
      -> Scan a
      -> Scan b
-- push_filters
Project id, id
  -> Filter (w IS NULL)
    -> Left Join (every pair of rows), where (id = a_id)
      -> Filter (k = 1)
        -> Scan a
      -> Scan b
-- join_keys
Project id, id
  -> Filter (w IS NULL)
    -> Left Join on id = a_id
      -> Filter (k = 1)
        -> Scan a
      -> Scan b
-- prune_columns
Project id, id
  -> Filter (w IS NULL)
    -> Left Join on id = a_id
      -> Filter (k = 1)
        -> Scan a (id, k)
      -> Scan b

SELECT * FROM (SELECT id FROM a UNION ALL SELECT id FROM b) q WHERE id = 3
----
-- translation
Filter (id = 3)
  -> Union
    -> Project id
      -> Scan a
    -> Project id
      -> Scan b
-- push_filters
Union
  -> Project id
    -> Filter (id = 3)
      -> Scan a
  -> Project id
    -> Filter (id = 3)
      -> Scan b
-- prune_columns
Union
  -> Project id
    -> Filter (id = 3)
      -> Scan a (id)
  -> Project id
    -> Filter (id = 3)
      -> Scan b (id)
-- merge_projects
Union
  -> Filter (id = 3)
    -> Scan a (id)
  -> Filter (id = 3)
    -> Scan b (id)
-- key_lookup
Union
  -> Key Lookup a by (id) = (3) (id)
  -> Key Lookup b by (id) = (3) (id)
