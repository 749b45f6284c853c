CREATE TABLE a (id int PRIMARY KEY, k int, v text, n numeric)

CREATE TABLE b (id int PRIMARY KEY, a_id int, w text)

CREATE TABLE c (id int PRIMARY KEY, b_id int, x int)

SELECT a.id FROM a JOIN b ON a.id = b.a_id AND a.k < b.id
----
-- translation
Project id
  -> Join (every pair of rows), where ((id = a_id) AND (k < id))
    -> Scan a
    -> Scan b
-- join_keys
Project id
  -> Join on id = a_id, where (k < id)
    -> Scan a
    -> Scan b
-- prune_columns
Project id
  -> Join on id = a_id, where (k < id)
    -> Scan a (id, k)
    -> Scan b (id, a_id)

SELECT a.id FROM a FULL JOIN b ON a.id + 1 = b.a_id
----
-- translation
Project id
  -> Full Join (every pair of rows), where ((id + 1) = a_id)
    -> Scan a
    -> Scan b
-- join_keys
Project id
  -> Full Join on (id + 1) = a_id
    -> Scan a
    -> Scan b
-- prune_columns
Project id
  -> Full Join on (id + 1) = a_id
    -> Scan a (id)
    -> Scan b (a_id)
