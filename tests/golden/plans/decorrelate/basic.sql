CREATE TABLE a (id int PRIMARY KEY, k int, v text, n numeric)

CREATE TABLE b (id int PRIMARY KEY, a_id int, w text)

CREATE TABLE c (id int PRIMARY KEY, b_id int, x int)

SELECT id, (SELECT count(*) FROM b WHERE b.a_id = a.id) AS n FROM a
----
-- translation
Project id, scalar(subquery) AS n
  -> Scan a
-- unnest_subqueries
Project id, count AS n
  -> Apply
    -> Scan a
    -> Aggregate count(*)
      -> Filter (a_id = outer1.#0)
        -> Scan b
-- decorrelate
Project id, count AS n
  -> Project id, k, v, n, count
    -> Left Join on id IS NOT DISTINCT FROM id
      -> Scan a
      -> Project COALESCE(count, 0) AS count, id
        -> Left Join on id IS NOT DISTINCT FROM id
          -> Distinct
            -> Project id
              -> Scan a
          -> Aggregate count(*) by id
            -> Filter (a_id = id)
              -> Project id, a_id, w, a_id AS id
                -> Scan b
-- push_filters
Project id, count AS n
  -> Project id, k, v, n, count
    -> Left Join on id IS NOT DISTINCT FROM id
      -> Scan a
      -> Project COALESCE(count, 0) AS count, id
        -> Left Join on id IS NOT DISTINCT FROM id
          -> Distinct
            -> Project id
              -> Scan a
          -> Aggregate count(*) by id
            -> Project id, a_id, w, a_id AS id
              -> Filter (a_id = a_id)
                -> Scan b
-- merge_projects
Project id, count AS n
  -> Left Join on id IS NOT DISTINCT FROM id
    -> Scan a
    -> Project COALESCE(count, 0) AS count, id
      -> Left Join on id IS NOT DISTINCT FROM id
        -> Distinct
          -> Project id
            -> Scan a
        -> Aggregate count(*) by id
          -> Project id, a_id, w, a_id AS id
            -> Filter (a_id = a_id)
              -> Scan b
-- prune_columns
Project id, count AS n
  -> Left Join on id IS NOT DISTINCT FROM id
    -> Scan a (id)
    -> Project COALESCE(count, 0) AS count, id
      -> Left Join on id IS NOT DISTINCT FROM id
        -> Distinct
          -> Project id
            -> Scan a (id)
        -> Aggregate count(*) by id
          -> Project a_id AS id
            -> Filter (a_id = a_id)
              -> Scan b (a_id)
-- merge_projects
Project id, count AS n
  -> Left Join on id IS NOT DISTINCT FROM id
    -> Scan a (id)
    -> Project COALESCE(count, 0) AS count, id
      -> Left Join on id IS NOT DISTINCT FROM id
        -> Distinct
          -> Scan a (id)
        -> Aggregate count(*) by id
          -> Project a_id AS id
            -> Filter (a_id = a_id)
              -> Scan b (a_id)

SELECT a.id, t.w FROM a, LATERAL (SELECT w FROM b WHERE b.a_id = a.id ORDER BY w LIMIT 1) t
----
-- translation
Project id, w
  -> Apply
    -> Scan a
    -> Top first 1 by w
      -> Project w
        -> Filter (a_id = outer1.#0)
          -> Scan b
-- decorrelate
Project id, w
  -> Project id, k, v, n, w
    -> Join on id IS NOT DISTINCT FROM id
      -> Scan a
      -> Top first 1 by w in each (id)
        -> Project w, id
          -> Filter (a_id = id)
            -> Project id, a_id, w, a_id AS id
              -> Scan b
-- push_filters
Project id, w
  -> Project id, k, v, n, w
    -> Join on id IS NOT DISTINCT FROM id
      -> Scan a
      -> Top first 1 by w in each (id)
        -> Project w, id
          -> Project id, a_id, w, a_id AS id
            -> Filter (a_id = a_id)
              -> Scan b
-- merge_projects
Project id, w
  -> Join on id IS NOT DISTINCT FROM id
    -> Scan a
    -> Top first 1 by w in each (id)
      -> Project w, a_id AS id
        -> Filter (a_id = a_id)
          -> Scan b
-- prune_columns
Project id, w
  -> Join on id IS NOT DISTINCT FROM id
    -> Scan a (id)
    -> Top first 1 by w in each (id)
      -> Project w, a_id AS id
        -> Filter (a_id = a_id)
          -> Scan b (a_id, w)

CREATE MATERIALIZED VIEW m AS SELECT id FROM a WHERE n > (SELECT avg(n) FROM a o WHERE o.k = a.k)
----
-- translation
Project id
  -> Filter (n > scalar(subquery))
    -> Scan a
-- unnest_subqueries
Project id
  -> Project id, k, v, n
    -> Filter (n > avg)
      -> Apply
        -> Scan a
        -> Aggregate avg(n)
          -> Filter (k = outer1.#1)
            -> Scan a
-- decorrelate
Project id
  -> Project id, k, v, n
    -> Filter (n > avg)
      -> Project id, k, v, n, avg
        -> Left Join on k IS NOT DISTINCT FROM k
          -> Scan a
          -> Project avg, k
            -> Left Join on k IS NOT DISTINCT FROM k
              -> Distinct
                -> Project k
                  -> Scan a
              -> Aggregate avg(n) by k
                -> Filter (k = k)
                  -> Project id, k, v, n, k
                    -> Scan a
-- push_filters
Project id
  -> Project id, k, v, n
    -> Project id, k, v, n, avg
      -> Filter (n > avg)
        -> Left Join on k IS NOT DISTINCT FROM k
          -> Scan a
          -> Project avg, k
            -> Left Join on k IS NOT DISTINCT FROM k
              -> Distinct
                -> Project k
                  -> Scan a
              -> Aggregate avg(n) by k
                -> Project id, k, v, n, k
                  -> Filter (k = k)
                    -> Scan a
-- merge_projects
Project id
  -> Filter (n > avg)
    -> Left Join on k IS NOT DISTINCT FROM k
      -> Scan a
      -> Project avg, k
        -> Left Join on k IS NOT DISTINCT FROM k
          -> Distinct
            -> Project k
              -> Scan a
          -> Aggregate avg(n) by k
            -> Project id, k, v, n, k
              -> Filter (k = k)
                -> Scan a
-- prune_columns
Project id
  -> Filter (n > avg)
    -> Left Join on k IS NOT DISTINCT FROM k
      -> Scan a (id, k, n)
      -> Project avg, k
        -> Left Join on k IS NOT DISTINCT FROM k
          -> Distinct
            -> Project k
              -> Scan a (k)
          -> Aggregate avg(n) by k
            -> Project n, k
              -> Filter (k = k)
                -> Scan a (k, n)
-- merge_projects
Project id
  -> Filter (n > avg)
    -> Left Join on k IS NOT DISTINCT FROM k
      -> Scan a (id, k, n)
      -> Project avg, k
        -> Left Join on k IS NOT DISTINCT FROM k
          -> Distinct
            -> Scan a (k)
          -> Aggregate avg(n) by k
            -> Project n, k
              -> Filter (k = k)
                -> Scan a (k, n)
