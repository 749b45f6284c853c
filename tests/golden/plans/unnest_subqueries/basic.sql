CREATE TABLE a (id int PRIMARY KEY, k int, v text, n numeric)

CREATE TABLE b (id int PRIMARY KEY, a_id int, w text)

CREATE TABLE c (id int PRIMARY KEY, b_id int, x int)

SELECT id FROM a WHERE id IN (SELECT a_id FROM b)
----
-- translation
Project id
  -> Filter any(subquery)
    -> Scan a
-- unnest_subqueries
Project id
  -> Apply
    -> Scan a
    -> Project a_id
      -> Scan b
-- decorrelate
Project id
  -> Semi Join (every pair of rows), where (id = a_id)
    -> Scan a
    -> Project a_id
      -> Scan b
-- join_keys
Project id
  -> Semi Join on id = a_id
    -> Scan a
    -> Project a_id
      -> Scan b
-- prune_columns
Project id
  -> Semi Join on id = a_id
    -> Scan a (id)
    -> Project a_id
      -> Scan b (a_id)
-- merge_projects
Semi Join on id = a_id
  -> Scan a (id)
  -> Scan b (a_id)

SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id)
----
-- translation
Project id
  -> Filter (NOT exists(subquery))
    -> Scan a
-- unnest_subqueries
Project id
  -> Apply
    -> Scan a
    -> Project 1 AS ?column?
      -> Filter (a_id = outer1.#0)
        -> Scan b
-- decorrelate
Project id
  -> Anti Join on id IS NOT DISTINCT FROM id
    -> Scan a
    -> Project 1 AS ?column?, id
      -> Filter (a_id = id)
        -> Project id, a_id, w, a_id AS id
          -> Scan b
-- push_filters
Project id
  -> Anti Join on id IS NOT DISTINCT FROM id
    -> Scan a
    -> Project 1 AS ?column?, id
      -> Project id, a_id, w, a_id AS id
        -> Filter (a_id = a_id)
          -> Scan b
-- merge_projects
Project id
  -> Anti Join on id IS NOT DISTINCT FROM id
    -> Scan a
    -> Project 1 AS ?column?, a_id AS id
      -> Filter (a_id = a_id)
        -> Scan b
-- prune_columns
Project id
  -> Anti Join on id IS NOT DISTINCT FROM id
    -> Scan a (id)
    -> Project a_id AS id
      -> Filter (a_id = a_id)
        -> Scan b (a_id)
-- merge_projects
Anti Join on id IS NOT DISTINCT FROM id
  -> Scan a (id)
  -> Project a_id AS id
    -> Filter (a_id = a_id)
      -> Scan b (a_id)

SELECT id FROM a WHERE k > (SELECT avg(x) FROM c)
----
-- translation
Project id
  -> Filter (k::numeric > scalar(subquery))
    -> Scan a
-- unnest_subqueries
Project id
  -> Project id, k, v, n
    -> Filter (k::numeric > avg)
      -> Apply
        -> Scan a
        -> Aggregate avg(x)
          -> Scan c
-- decorrelate
Project id
  -> Project id, k, v, n
    -> Filter (k::numeric > avg)
      -> Left Join (every pair of rows)
        -> Scan a
        -> Aggregate avg(x)
          -> Scan c
-- merge_projects
Project id
  -> Filter (k::numeric > avg)
    -> Left Join (every pair of rows)
      -> Scan a
      -> Aggregate avg(x)
        -> Scan c
-- prune_columns
Project id
  -> Filter (k::numeric > avg)
    -> Left Join (every pair of rows)
      -> Scan a (id, k)
      -> Aggregate avg(x)
        -> Scan c (x)

SELECT id, id IN (SELECT a_id FROM b) AS found FROM a
----
-- translation
Project id, any(subquery) AS found
  -> Scan a
-- unnest_subqueries
Project id, CASE WHEN (COALESCE(count, 0) > 0) THEN true WHEN (COALESCE(count, 0) > 0) THEN NULL ELSE false END AS found
  -> Apply
    -> Scan a
    -> Aggregate count(*) FILTER (((outer1.#0 = a_id) IS TRUE)), count(*) FILTER (((outer1.#0 = a_id) IS NULL))
      -> Project a_id
        -> Scan b
-- decorrelate
Project id, CASE WHEN (COALESCE(count, 0) > 0) THEN true WHEN (COALESCE(count, 0) > 0) THEN NULL ELSE false END AS found
  -> Project id, k, v, n, count, count
    -> Left Join on id IS NOT DISTINCT FROM id
      -> Scan a
      -> Project COALESCE(count, 0) AS count, COALESCE(count, 0) AS count, id
        -> Left Join on id IS NOT DISTINCT FROM id
          -> Distinct
            -> Project id
              -> Scan a
          -> Aggregate count(*) FILTER (((id = a_id) IS TRUE)), count(*) FILTER (((id = a_id) IS NULL)) by id
            -> Join (every pair of rows)
              -> Project a_id
                -> Scan b
              -> Distinct
                -> Project id
                  -> Scan a
-- merge_projects
Project id, CASE WHEN (COALESCE(count, 0) > 0) THEN true WHEN (COALESCE(count, 0) > 0) THEN NULL ELSE false END AS found
  -> Left Join on id IS NOT DISTINCT FROM id
    -> Scan a
    -> Project COALESCE(count, 0) AS count, COALESCE(count, 0) AS count, id
      -> Left Join on id IS NOT DISTINCT FROM id
        -> Distinct
          -> Project id
            -> Scan a
        -> Aggregate count(*) FILTER (((id = a_id) IS TRUE)), count(*) FILTER (((id = a_id) IS NULL)) by id
          -> Join (every pair of rows)
            -> Project a_id
              -> Scan b
            -> Distinct
              -> Project id
                -> Scan a
-- prune_columns
Project id, CASE WHEN (COALESCE(count, 0) > 0) THEN true WHEN (COALESCE(count, 0) > 0) THEN NULL ELSE false END AS found
  -> Left Join on id IS NOT DISTINCT FROM id
    -> Scan a (id)
    -> Project COALESCE(count, 0) AS count, COALESCE(count, 0) AS count, id
      -> Left Join on id IS NOT DISTINCT FROM id
        -> Distinct
          -> Project id
            -> Scan a (id)
        -> Aggregate count(*) FILTER (((id = a_id) IS TRUE)), count(*) FILTER (((id = a_id) IS NULL)) by id
          -> Join (every pair of rows)
            -> Project a_id
              -> Scan b (a_id)
            -> Distinct
              -> Project id
                -> Scan a (id)
-- merge_projects
Project id, CASE WHEN (COALESCE(count, 0) > 0) THEN true WHEN (COALESCE(count, 0) > 0) THEN NULL ELSE false END AS found
  -> Left Join on id IS NOT DISTINCT FROM id
    -> Scan a (id)
    -> Project COALESCE(count, 0) AS count, COALESCE(count, 0) AS count, id
      -> Left Join on id IS NOT DISTINCT FROM id
        -> Distinct
          -> Scan a (id)
        -> Aggregate count(*) FILTER (((id = a_id) IS TRUE)), count(*) FILTER (((id = a_id) IS NULL)) by id
          -> Join (every pair of rows)
            -> Scan b (a_id)
            -> Distinct
              -> Scan a (id)
