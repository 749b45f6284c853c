insert into t (id, a, b) values (10, 5, 'ten'), (11, null, default) returning *
insert into t values (12, 1, 'k', 1.005, '2020-01-01', '{1}', '{"x":1}', 't') returning id, n, ok, b || '!'
insert into t (a, id) select tid, id + 100 from u where id < 3 returning id, a
insert into u (id, c) values (7, 'seven') returning *
insert into u select id, a, b from t where id = 1 returning *
insert into u default values returning *
insert into w (k, a, x2) values (8, 8, default), (9, 9, 'z') returning *
insert into w (k, a) values (8, 8), (20, 1) on conflict do nothing returning *
insert into w (k, a, x) values (8, 8, 'new'), (21, 1, 'n') on conflict (k, a) do update set x = excluded.x || coalesce(w.x, '-'), x2 = default returning *
insert into w as o (k, a, x) values (8, 8, 'q') on conflict (a, k) do update set x = o.x where excluded.x = 'nothing' returning *
insert into t (id, n, a) values (13, 1, 2.6), (14, 2.5, '3'), (15, null, null) returning *
insert into t (id, b) values (16, 5), (17, 'x') returning id, b
insert into t (id, a) values (18, (select max(a) from t)), (19, 1 + 1) returning id, a
insert into t (id, a) with q as (select 30 as x) select x, x + 1 from q returning id, a
with q as (select 31 as x) insert into t (id, a) select x, x + 1 from q returning id, a
insert into t (id, a) select 40, 1 union all select 41, null returning id, a
insert into t (id, ts) select 42, '2020-03-01' returning id, ts
insert into t (id, ts) values (43, '2020-03-01') returning id, ts
insert into e values (1, '2020-01-01 00:00:00+02'), (2.50, null) returning *
update t set a = a + 1 where id = 1 returning *
update t set b = default, n = n * 2 where id in (2, 3) returning id, b, n
update t set (a, b) = (9, 'nine') where id = 3 returning id, a, b
update t set (a, b) = (select s, c from u where u.tid = t.id and u.s is not null order by c limit 1) where id < 4 returning id, a, b
update t set a = u.s from u where u.tid = t.id and u.c = 'one' returning t.id, t.a, u.c
update t x set b = (select count(*)::text from u where u.tid = x.id) returning id, b
update t set id = id + 1000 where id = 5 returning *
update u set c = upper(c), v = 'w' where tid is null returning c, v
update w set x = 'all'
update t set a = 1 where exists (select 1 from w where w.k = t.id) returning id, a
delete from u where tid is null returning *
delete from t using w where w.k = t.id and w.a = 1 returning t.id, w.x
delete from w where k > (select avg(k) from w) returning k, a
delete from e
insert into t (id, ts) select 50, '2020-01-01' limit 1
insert into t (id, b) select distinct 51, 'x'
insert into t (id, ts) (select 54, null)
insert into t (id, a) select 55, null union select 56, 1 returning id, a
insert into t (id, n) select 57, n from t where id = 1 returning id, n
insert into t (id, n) values (58, 1.239), (59, 2) returning id, n
insert into t (id, n) select 60, 1.239 returning id, n
insert into t (id, a) select x, x from generate_series(61, 63) x returning id
insert into t (id, arr) values (64, '{}'), (65, array[1, 2]), (66, null) returning id, arr
insert into t (id, j) values (67, '{"b":1,"a":2}'), (68, jsonb_build_object('x', 1)) returning id, j
insert into u (s, f, d) values (1, 2, '2020-01-01'), (2.6, '1.5', now()::date - now()::date + date '2020-01-02') returning s, f, d
insert into u (v) values (12345), ('abc   ') returning v
update t set b = null, arr = array_append(arr, 9), j = null where id in (1, 64) returning id, b, arr, j
update t set n = a, a = n where id < 4 returning id, n, a
update t set a = (select count(*) from u where u.tid = t.id) where a is null returning id, a
update t set b = x.c from (select tid, max(c) c from u group by tid) x where x.tid = t.id returning t.id, t.b, x.c
update t set b = t2.b from t t2 where t2.id = t.id + 1 and t.id < 3 returning t.id, t.b
update u set f = default, c = 'z' where id = 4 returning f, c
with q as (select max(id) m from t) update t set a = q.m from q where t.id = 1 returning t.id, t.a
with q as (select 3 as x) delete from t using q where t.id = q.x returning t.id
delete from t where id in (select id from t order by id desc limit 3) returning id
delete from u where exists (select 1 from t where t.id = u.tid) returning id, tid
delete from t
