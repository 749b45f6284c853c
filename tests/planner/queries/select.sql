select * from t order by id
select a, b, n + 1, n * 2, n / 3, a::text || 'x' from t order by id
select a, count(*), sum(n), avg(n), min(b), max(ts) from t group by a order by a
select count(*), count(a), count(distinct a), sum(a) filter (where ok) from t
select t.id, u.c from t join u on t.id = u.tid order by 1, 2
select t.id, u.c from t left join u on t.id = u.tid order by 1, 2
select t.id, u.c from t full join u on t.id = u.tid order by 1, 2
select t.id, u.c from t right join u on t.id = u.tid and u.f > 0 order by 1, 2
select * from t join w using (a) order by id, k
select * from t full join w using (a) order by a, id, k
select * from t natural left join w order by id, k
select a, t.a, w.a from t full join w using (a) order by 1, 2, 3
select id, (select count(*) from u where u.tid = t.id) from t order by id
select id, (select max(c) from u where u.tid = t.id) from t order by id
select id from t where exists (select 1 from u where u.tid = t.id) order by id
select id from t where not exists (select 1 from u where u.tid = t.id) order by id
select id from t where id in (select tid from u) order by id
select id from t where id not in (select tid from u) order by id
select id from t where id not in (select tid from u where tid is not null) order by id
select id from t where a >= all (select a from t x where a is not null) order by id
select id from t where (id, b) in (select tid, 'x' from u) order by id
select a, (select count(*) from u where u.tid = t.a) from t group by a order by a
select t.id, x.c from t, lateral (select c from u where u.tid = t.id) x order by 1, 2
select t.id, x.c from t left join lateral (select c from u where u.tid = t.id order by c limit 1) x on true order by 1
select t.id, x.n from t left join lateral (select count(*) n from u where u.tid = t.id) x on true order by 1
select array(select c from u where u.tid = t.id order by c desc) from t order by id
select id, row_number() over (partition by a order by id), sum(id) over (order by id), lag(b) over (order by id), count(*) over () from t order by id
select a, sum(count(*)) over (order by a) from t group by a order by a
select distinct a from t order by a
select distinct a, b from t order by a, b
select distinct on (a) a, b from t order by a, b desc
select id from t order by n desc nulls last limit 2 offset 1
select a from t order by a fetch first 1 row with ties
select a from t union select tid from u order by 1
select a from t union all select tid from u order by 1
select a from t intersect select tid from u order by 1
select a from t except select tid from u order by 1
select a from t except all select tid from u order by 1
select tid from u intersect all select a from t order by 1
values (1, 'a'), (2, null), (3, 'c')
select * from (values (1, 'a'), (2, 'b')) v (x, y) where x > 1
with x as (select a, count(*) c from t group by a) select x1.a, x2.c from x x1 join x x2 on x1.a = x2.a order by 1
select * from vv order by 1
select a, b, count(*), grouping(a, b) from t group by rollup (a, b) order by 4, 1, 2
select a, b, count(*) from t group by grouping sets ((a), (b), ()) order by 1, 2, 3
select a, ok, sum(id) from t group by cube (a, ok) order by 1, 2, 3
select k, x, count(*) from w group by k, a order by k, a
select case when a = 1 then 'one' when a is null then 'none' else b end from t order by id
select case a when 1 then 'one' end, coalesce(b, 'q'), nullif(a, 1) from t order by id
select a in (1, 2), a not in (1, 2), a in (1, null), a between 1 and 2, a is distinct from 1, ok is true, ok is not false, not ok from t order by id
select a = any(arr), 1 = any(arr), a <> all(array[1,2]) from t order by id
select (a, b) = (1, 'x'), (a, b) < (1, 'y'), (a, b) in ((1, 'x'), (2, 'x')) from t order by id
select b like 'x%', b ilike 'X%', b not like '%d', b ~ '^z', b similar to '(x|y)' from t order by id
select 1 where false
select count(*) from t where false
select sum(a) from t where false having count(*) > 0
select max(a) from t having false
select c, count(*) from u group by c having count(*) > 1
select t1.id, t2.id from t t1, t t2 where t1.a = t2.a and t1.id < t2.id order by 1, 2
select t.id, w.x from t, w where t.id = w.k and w.a > 1 order by 1
select * from (select a, count(*) c from t group by a) x where c > 1
select id, ts + interval '1 day', ts::date, extract(year from ts), date_trunc('day', ts) from t order by id
select m, count(*) from e group by m order by m
select j from t order by id
select sum(x) from (select id as x from t union all select tid from u) q
select upper(b), length(b), b || '!', substring(b, 1, 1), trim('  a '), position('e' in b) from t order by id
select id from t where (select count(*) from u where u.tid = t.id) > 1 order by id
select id, (select c from u where u.tid = t.id and u.f > 0) from t order by id
select (select max(id) from t), (select min(id) from t)
select u.c, (select b from t where t.id = u.tid) from u order by 1
select id from t where a = (select max(a) from t) order by id
select id from t o where exists (select 1 from t i where i.a = o.a and i.id <> o.id) order by id
select o.id, (select count(*) from t i where i.a = o.a and exists (select 1 from u where u.tid = i.id and u.s <= o.id)) from t o order by 1
select t.id, s.x from t, (select tid, sum(f) x from u group by tid) s where s.tid = t.id order by 1
select t.id, s.x from t left join (select tid, count(*) x from u group by tid) s on s.tid = t.id order by 1
select a, string_agg(b, ',' order by b desc) from t group by a order by a
select array_agg(id order by id desc) from t
select unnest(arr) from t
select id, unnest(arr) from t order by id
select id, x from t, unnest(arr) x order by 1, 2
select id, x, o from t, unnest(arr) with ordinality u (x, o) order by 1, 3
select id, x from t left join unnest(arr) x on true order by 1, 2
select id, g from t, generate_series(1, a) g order by 1, 2
select g from generate_series(1, 3) g
select generate_series(1, 3), generate_series(1, 2)
select arr[1], arr[2], arr[1:2] from t order by id
select j -> 'a', j ->> 'a', j #>> '{a,b}', j -> 0 from t order by id
select greatest(a, 2), least(a, id) from t order by id
select * from (select 1 as a) x left join (select 2 as a) y on x.a = y.a
select count(*) from t cross join u
select t.a, u.c from t left join u on t.id = u.tid where u.c is null order by t.id
select distinct t.a from t join u on u.tid = t.a order by 1
select * from (t join w using (a)) as j order by id, k
select t.id from t where t.id = any (select tid from u) or t.a is null order by id
select id, exists (select 1 from u where u.tid = t.id), id in (select tid from u) from t order by id
select a, max(n) - min(n), count(*) * 2 from t group by a having max(n) is not null order by a
select a + 1 as q, sum(id) from t group by q order by q
select sum(a) from t group by b order by max(id)
select b, sum(id) s from t group by b order by s desc, b limit 2
select 'a' union select 'b' order by 1
select null as x union all select 1
select 1.5 as x union all select 1 order by 1
with recursive x as (select 1 as n union all select n + 1 from x where n < 5) select * from x order by n
with recursive x(n, s) as (values (1, 'a') union select n % 3 + 1, s || 'b' from x where length(s) < 5) select * from x order by n, s
with recursive x as (select id, a from t where id = 1 union select t.id, t.a from t join x on t.a = x.id) select count(*) from x
select (with recursive x as (select 1 as n union all select n + 1 from x where n < 3) select sum(n) from x)
select tableoid > 0, id from t order by id
select t.*, w.x from t left join w on w.a = t.a and w.k > 1 where t.b is not null
select (t).a, (t).b from t
select count(t) from t
select count(t.*) from t
select 1 as a group by a
select b from t group by b having b > 'a' order by b
select a as b, count(*) from t group by a order by b
select a, b from t order by 2, 1
select -a as a from t order by a
select a from t order by -a
select a % 2 as p, count(*) from t group by p
select sum(a) as a from t order by a
select a from t group by 1 order by 1
select max(a) filter (where b = 'x') as m, min(a) from t having min(a) > 0
select case when count(*) > 1 then 'many' end from t
select sum(a) over (partition by b order by id rows between unbounded preceding and 1 following) from t
select rank() over w, dense_rank() over (w order by id) from t window w as (partition by a)
select ntile(4) over (order by id), cume_dist() over (order by id), percent_rank() over (order by id), nth_value(a, 2) over (order by id), lead(b, 1, 'z') over (order by id) from t
select a from t where a in (select tid from u where u.tid = t.id group by tid)
select (select count(*) from u where u.tid = t.id and exists (select 1 from w where w.k = t.a and w.a = u.tid)) from t
select (select sum(x) from (select u.f as x from u where u.tid = t.id) q) from t
select * from t where (select count(*) from u) > a
(select a from t) union (select tid from u) order by a limit 1
select a from t union select tid from u intersect select k from w
with a as (select 1 as x), b as (with a as (select 2 as x) select * from a) select a.x, b.x from a, b
with x as (values (1, 'a')) select * from x
with x as (select 1) select (select * from x)
select * from (with y as (select a from t) select * from y) z
with recursive x as (select 1 as n) select * from x
select * from t natural join (select a, 'k' as b from w) y
select * from t join w using (a) join u on u.tid = t.id
select * from t left join w using (a) left join (select a, max(x) m from w group by a) q using (a)
select * from (t left join w using (a)) full join u on u.tid = w.k
select w.a, t.a, a from t join w using (a)
select * from t inner join w on true cross join e
select * from t t1 join t t2 on t1.id = t2.a join t t3 on t3.id = t2.id
select * from (values (1), (2)) as x
select * from (values (1, null), (null, 'x')) as x
values (1, 'x', null::int), (null, null, 3)
values ('1'), (2)
select '1' union select 2
select null, null::text
select coalesce(null, null), coalesce(null, 1), nullif(null, 1), nullif('x', 'y')
select case when true then 1 when false then 2.5 else null end
select array[null, 1], array[1.5, 2], array['a']
select array[]::int[], '{}'::text[], '{1,2}'::int[]
select 1 in (1, 2.5, null), 'a' in ('b', 'c'), null in (1)
select 1 = any('{1,2}'), 'x' = any(array['x', 'y']), 1 = any(array[1, 2]::bigint[])
select a = any('{1,2}') from t
select timestamp '2020-01-01' + interval '1 day', date '2020-01-01' + 1, date '2020-01-01' + interval '1 day', time '10:00' + interval '1 h'
select 2 ^ 3, 2 ^ 0.5, 7 / 2, 7 / 2.0, 7 % 3, -7 / 2, 5 & 3, 5 | 3, 1 << 2, ~5, @ -5, |/ 4
select 'a' || 1, 1 || 'a', 'a' || null, 'abc' like 'a%', 'abc' not like 'a%', 'abc' ilike 'A%', 'abc' similar to 'a%', 'abc' ~ 'a', 'abc' !~* 'A'
select not true, true and null, null or false, true is not null, null is null, (1 > 2) is false, (null::bool) is unknown
select cast('1' as int), cast(1.5 as int), 1::text, '2020-01-01'::timestamptz, 1::bool, 'yes'::bool, 1.5::float8, 3::int2, 1::oid
select numeric '1.50', 1.50::numeric(5,1), 1::numeric(3), 'x'::char(3), 'x'::"char", 'x'::name, 'x'::varchar
select int4 '1', float8 '1.5', bool 't', text 'x', varchar 'y'
select lower('A') as "X", upper('a') x, length('abc') as length
select json_build_object('a', 1), jsonb_build_object('a', a, 'b', b), to_jsonb(a), jsonb_agg(a) from t group by a, b
select * from jsonb_each('{"a":1}') x
select * from jsonb_array_elements('[1]') with ordinality
select string_to_array('a,b', ','), array_to_string(arr, ','), array_length(arr, 1), cardinality(arr), array_append(arr, 1), arr || 4, arr || array[5] from t
select quote_ident('a'), quote_literal('b'), coalesce(b, quote_nullable(null)) from t
select count(*) filter (where a > 1), sum(a) filter (where b is null) over () from t group by a, b
select bit_and(a), bit_or(a), bool_or(ok), every(ok), stddev_pop(a), var_samp(f), corr(f, f) from t, u
select id from t where (a = 0 or (select c = 'one' from u where u.tid = t.id limit 1)) and not exists (select 1 from u where u.tid = t.a and u.f < 0) order by id
select id from t where (select count(*) from u where u.tid = t.id) > 0 and exists (select 1 from u where u.tid = t.a) order by id
select id from t where (a = 0 or (select count(*) from u where u.tid = t.id) > 0) and exists (select 1 from u where u.tid = t.a) order by id
select t.id, x.v from t, lateral (values (t.a), (t.id)) x(v) order by 1, 2
select t.id, x.k, x.v from t cross join lateral (values ('a', t.a), ('id', t.id)) x(k, v) order by 1, 2
select a, count(*) from t group by a having count(*) > (select avg(c) from (select count(*) c from t group by a) q) order by 1
select id from t order by row_number() over (order by id desc)
select unnest(arr) x from t order by x
select distinct unnest(arr) % 2 from t order by 1
select unnest(arr) + 1, id from t where id = 1
select id, coalesce((select count(*) from u where u.tid = t.id group by u.tid), 0) from t order by id
select case when exists (select 1 from u where u.tid = t.id) then (select min(c) from u where u.tid = t.id) else 'none' end from t order by id
select (a, b) = (select 1, 'x') from t order by id
select id from t where (a, b) = (select a, b from t x where x.id = 2) order by id
select id from t where a in (values (1), (3)) order by id
select sum(x) from (select distinct a x from t) q
select t.a, count(u.*) from t left join u on u.tid = t.id group by t.a order by 1
select max(id) - (select min(id) from t) from t
select * from (select id, row_number() over (partition by a order by id desc) rn from t) q where rn = 1 order by id
select a, b, count(*) from t group by a, b having (select count(*) from u where u.tid = t.a) > 0 order by 1, 2
select x.a, y.a from (select a from t where id < 3) x full join (select a from t where id > 2) y on x.a = y.a order by 1, 2
select t.id from t left join u on u.tid = t.id and u.c like 'o%' where u.id is null or t.a > 2 order by 1
select count(*) from t, u, w where t.id = u.tid and w.k = t.id
select t.id, (select string_agg(c, ',' order by c) from u where u.tid = t.id) from t order by 1
select t.id, (select u.c from u where u.tid = t.id order by u.f desc limit 1) from t order by 1
select t.id, x.c, x.rn from t join lateral (select c, row_number() over (order by f) rn from u where u.tid = t.id) x on x.rn = 1 order by 1
select t.id, z.s from t, lateral (select sum(y.f) s from (select f from u where u.tid = t.id union all select f from u where u.tid = t.a) y) z order by 1
select o.a, (select count(*) from (select distinct tid from u where u.tid >= o.a) q) from t o order by o.id
select id, (select (select count(*) from w where w.k = u.tid and w.a = t.a) from u where u.tid = t.id limit 1) from t order by id
select id from t where a = any (select tid from u where u.s = t.a) order by id
select id from t where a <> all (select tid from u where tid is not null) order by id
select id from t where not (a in (select tid from u where u.id > t.id)) order by id
select a from t where a is not null group by a having bool_and(exists (select 1 from u where u.tid = t.id)) order by a
select sum((select count(*) from u where u.tid = t.id)) from t
select a, sum((select count(*) from u where u.tid = t.id)) from t group by a order by a
select a, array_agg((select max(c) from u where u.tid = t.id) order by id) from t group by a order by a
select id, sum(a) over (order by (select count(*) from u where u.tid = t.id), id) from t order by id
select (select a from t where id = 1) + (select a from t where id = 3)
select * from generate_series(1, (select max(a) from t)) g
select t.id, g.n from t left join lateral generate_series(1, t.a) g(n) on g.n > 1 order by 1, 2
select t.id, x from t cross join lateral unnest(array[t.a, t.id]) x order by 1, 2
select id from t where id in (select tid from u union select k from w where a > 1) order by id
select id from t where exists (select 1 from u where u.tid = t.id union all select 1 from w where w.k = t.id) order by id
select id from t where exists (select tid from u where u.tid = t.id group by tid having count(*) > 1) order by id
select id from t where exists (select count(*) from u where u.tid = t.id) order by id
select id, array(select x from unnest(t.arr) x where x > 1 order by x) from t order by id
select id, (select sum(x) from unnest(t.arr) x) from t order by id
select id, (select array_agg(x || 'q') from unnest(t.arr) with ordinality u(x, o) where o > 1) from t order by id
with x as (select id, a from t where a is not null) select x.id, (select count(*) from x y where y.a = x.a) from x order by 1
select id, exists (with q as (select tid from u where u.tid = t.id) select * from q) from t order by id
select b, min(id) from t group by b having min(id) in (select tid from u) order by 1
select distinct on (u.tid) u.tid, t.b, u.c from u left join t on t.id = u.tid order by u.tid, u.c desc
select tid, count(*) from u group by tid order by count(*) desc, tid nulls first
select count(*), t.a from t group by t.a order by 2 nulls first
select id, lag(id) over w, lead(id, 1, 0) over w, first_value(b) over w, sum(a) over (partition by b order by id rows 1 preceding) from t window w as (partition by a order by id) order by id
select a, rank() over (order by count(*) desc), sum(sum(id)) over () from t group by a order by a
select id, count(*) filter (where ok) over (partition by a) from t order by id
select e.m, e.at, extract(epoch from at) from e order by 1, 2
select n, sum(n) over (order by id) from t order by id
select n::int, n::float8, n::text, (n * 1.5)::numeric(10,1) from t order by id
select a::bool, ok::int, ok::text, '1' || a from t order by id
select avg(a), avg(n), sum(f), avg(f) from t, u
select min(ts), max(ts), max(b), min(n) from t
select a/2.0, a%2, -a, abs(n), round(n), ceil(n), floor(n) from t order by id
select ts - '2020-01-01', ts + '1 day', ts - interval '1 h', ts > '2020-01-01' from t order by id
select d + 1, d - '2020-01-01'::date, d::timestamp, d = '2020-01-01' from u order by id, d
select * from t t1 join t t2 using (id) join t t3 using (id) where t1.id < 3 order by id
select t1.id from t t1 natural join t t2 order by 1
select * from json_to_recordset('[{"a":1,"b":"x"},{"a":"2"},{"c":3}]') as x(a int, b text)
select x.b, x.j from t, jsonb_to_record(t.j) as x(a int, b text, j jsonb) where t.id = 1
select * from jsonb_to_recordset('[{"a":{"q":1}}]') as x(a jsonb, n numeric(5,2))
select a + 1 from json_to_record('{"a":1}') as x(a int)
select * from rows from (generate_series(1,3), unnest(array['a','b'])) as r(i, s)
select * from rows from (generate_series(1,2), generate_series(5,7)) with ordinality as r
select t.id, u.c, x.p, x.q from t, u join lateral (select t.a p, u.tid q) x on x.q = u.tid order by 1, 2, 3, 4
select t.id, y.z from t join lateral (select t.a as k) x on true, lateral (select x.k + t.id as z) y order by 1
select t.id, y.n from t left join lateral (select t.a as k where t.a > 1) x on true left join lateral (select x.k + 1 as n) y on y.n > 2 order by 1
select (select count(*) from t x, lateral (select x.a + o.id as s) y where y.s > 3) from t o order by o.id
select o.id, (select q.m from (select max(i.id) m from t i where i.a = o.a and exists (select 1 from u where u.tid = i.id and u.id < o.id + 10)) q) from t o order by 1
select t.id from t where t.id in (select u.tid from u, lateral (select u.s + t.a as z) x where x.z > 1) order by 1
select id, (with q as (select a from t x where x.id = t.id) select q.a + (select max(q2.a) from q q2) from q) from t order by id
with q as (select id, a from t), r as (select a, count(*) c from q group by a) select q.id, (select r.c from r where r.a = q.a) from q order by 1
select x.a, x.c from (select a, (select count(*) from u where u.tid = t.a) c from t) x where x.c > 0 order by 1, 2
select a, unnest(arr) from t group by a, arr order by 1, 2
select t.id, t2.id, t3.id from t left join (t t2 join t t3 on t2.id = t3.a) on t.id = t2.id order by 1, 2, 3
select * from (select id, a from t) x natural join (select a, k from w) y order by 1, 2, 3
select count(*) from (select 1 from t) x, (select 2 from u) y
select id, a in (select k from w where w.a = t.id) or exists (select 1 from w where w.k = t.id) from t order by id
select sum(case when a in (select k from w) then 1 else 0 end) from t
select a, count(*) filter (where exists (select 1 from u where u.tid = t.id)) from t group by a order by 1
select id from t order by (select count(*) from u where u.tid = t.id) desc, id
select distinct (select max(c) from u where u.tid = t.id) from t order by 1
select (select c from u where u.tid = t.id and u.id = 1) from t where id = 1
select t.a, s.* from t cross join lateral (select sum(x) from generate_series(1, t.a) x) s order by 1, 2
select a, sum(id) from t group by a having sum(id) > all (select tid from u where tid is not null and tid < 3) order by 1
select id, case when a in (1, 2) then (select count(*) from u where tid = t.a) when a is null then -1 else 0 end from t order by id
select array(select a from t where a is not null order by a), array(select 1 where false)
select exists(select 1 from t where a > 100), not exists(select 1 from t where a > 100), (select a from t where id = 100)
select 1 = any(select a from t), 1 = all(select a from t), 7 <> all(select a from t where a is not null), 1 = any(select a from t where false), 1 = all(select a from t where false)
select null = any(select a from t where false), null in (select 1), 1 in (select null::int), 1 not in (select null::int where false)
select t.id, v.x from t, vv v where v.a = t.a order by 1
select (select x from vv where vv.a = t.a) from t order by id
select b || (select string_agg(c, '-' order by c) from u where u.tid = t.id) from t order by id
