CREATE TABLE a (id int PRIMARY KEY, k int, v text, n numeric)

CREATE TABLE b (id int PRIMARY KEY, a_id int, w text)

CREATE TABLE c (id int PRIMARY KEY, b_id int, x int)

CREATE TABLE d (id bigint PRIMARY KEY, v text)

SELECT v FROM a WHERE id = 5
----
-- translation
Project v
  -> Filter (id = 5)
    -> Scan a
-- prune_columns
Project v
  -> Filter (id = 5)
    -> Scan a (id, v)
-- key_lookup
Project v
  -> Key Lookup a by (id) = (5) (id, v)

SELECT v FROM a WHERE 5 = id AND k > 1
----
-- translation
Project v
  -> Filter ((5 = id) AND (k > 1))
    -> Scan a
-- prune_columns
Project v
  -> Filter ((5 = id) AND (k > 1))
    -> Scan a (id, k, v)
-- key_lookup
Project v
  -> Filter (k > 1)
    -> Key Lookup a by (id) = (5) (id, k, v)

SELECT v FROM d WHERE id = 5
----
-- translation
Project v
  -> Filter (id = 5)
    -> Scan d
-- key_lookup
Project v
  -> Key Lookup d by (id) = (5)
