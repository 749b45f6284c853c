select 1
select 1, 'x', 1.5, true, null, 1e3, 9999999999, -5, - a from t
select *, t.*, t.a as z from t
select a + 1, a::text, a::bigint, cast(a as int2), 'x'::text, '1'::int, (a+1)::int, date '2020-01-01', '2020-01-01'::date, interval '1 day', timestamp '2020-01-01' from t
select a::varchar(5), b::varchar, n::numeric(12,3), b::char(3), n, n+1, n*2, n/3, sum(n), avg(n) from t group by a, b, n
select case when a > 1 then 'x' else b end, case a when 1 then 2 end, case when ok then 1 else a end, coalesce(a, 1), nullif(a, 1), greatest(a, 2), least(n, 1) from t
select count(*), count(a), sum(a), sum(id), avg(a), min(b), max(ts), min(n), sum(n) from t
select sum(f), avg(f), max(d), min(v), sum(s), max(v), sum(id) from u
select array[1,2], array[a, 1], array(select a from t), arr[1], (array['x','y'])[1] from t
select exists(select 1), (select 1), (select a from t limit 1), (select a as q from t limit 1), a in (select a from t) from t
select now(), current_date, current_timestamp, localtimestamp
select a = 1, a in (1,2), a between 1 and 2, a is null, b like 'x%', not ok, a = any(arr), a <> all(array[1,2]), a is distinct from 1, ok is true from t
select t.a, u.c from t join u on t.id = u.tid
select * from t join w using (a)
select * from t natural join w
select * from t left join w using (a) order by a
select * from t full join w using (a)
select * from t right join w using (a)
select * from u join t using (id)
select * from u full join t using (id)
select * from t a, t b where a.id = b.id
select * from (select a, b from t) x
select * from (select a, b from t) x (p, q)
select x.* from (values (1,'a'),(2,'b')) x
select * from (values (1,'a'),(2,'b')) x (n, s)
values (1, 'a'), (2, null)
values (1), (2.5)
select 1 union select 2
select 1 as a union all select 2.5
select 'x' union select 'y'
select a from t union select id from u order by 1
select a, b from t intersect select tid, c from u
select a from t except all select tid from u limit 3
select null union select 1
with x as (select a from t) select * from x
with x(q) as (select a from t), y as (select q from x) select x.q, y.q from x, y
select * from vv
select a, count(*) from t group by a
select a as g, count(*) from t group by g
select a+1, count(*) from t group by 1
select a+1 as q, count(*) from t group by a+1 having count(*) > 1 order by q desc nulls last
select id, b, n from t group by id
select k, a, x from w group by k, a
select b, sum(a) filter (where ok) from t group by b
select count(distinct a), sum(distinct n) from t
select a, b, sum(n) from t group by rollup(a, b)
select a, grouping(a), count(*) from t group by cube(a)
select a, b, count(*) from t group by grouping sets ((a), (b), ())
select row_number() over (), rank() over (partition by a order by b), sum(a) over w, lag(a) over w from t window w as (partition by b order by id)
select sum(sum(a)) over (order by b) from t group by b
select first_value(b) over (order by id rows between 1 preceding and current row), count(*) over (order by id range unbounded preceding) from t
select distinct a from t order by a
select distinct on (a) a, b from t order by a, b desc
select a from t order by b limit 5 offset 2
select a from t order by a fetch first 3 rows with ties
select a from t limit $1 offset $2
select * from t where a = $1 and b = $2
select * from t where a = $1 or id = $1
select $1::int, $2::text, $3
select $1 + 1, $2 || 'x', 1 + $3
select * from t where a in ($1, $2)
select * from t where a = any($1)
select * from t where b like $1
select coalesce($1, 1), case when ok then $2 else a end from t
insert into t (id, a, b) values ($1, $2, $3)
insert into t values (1, 2, 'x') returning *
insert into t values (1, 2, 'x') returning id + 1, b as q
insert into t (id, a) select id, $1 from u
insert into t (id) values (1) on conflict do nothing
insert into w values (1, 2, 'x') on conflict (k, a) do update set x = excluded.x where w.x <> 'a' returning x
insert into w (k, a, x2) values (1, 2, default), (3, 4, 'z')
insert into w default values
update t set a = a + 1, b = default where id = 3 returning *
update t set a = $1 where b = $2
update t set (a, b) = (1, 'x')
update t set (a, b) = (select 1, c from u where u.tid = t.id)
update t x set a = u.s from u where u.tid = x.id returning x.id, u.c
delete from t where id = 1 returning a, b
delete from t using u where u.tid = t.id
select (1, 2) = (3, 4), (a, b) in ((1, 'x')), (a, b) < (1, 'y') from t
select a from t where (a, b) in (select tid, c from u)
select * from t, lateral (select c from u where u.tid = t.id) x
select * from t left join lateral (select c from u where u.tid = t.id limit 1) x on true
select * from t where exists (select 1 from u where u.tid = t.id)
select t.a, (select count(*) from u where u.tid = t.id) from t
select a, (select count(*) from u where u.tid = t.a) from t group by a
select * from t where a > all (select tid from u) or a = some (select tid from u)
select 1 as "A b", 2 as b
select length(b), lower(b), upper(b) as u, substring(b from 1 for 2), substring(b, 1, 2), trim(b), trim(leading 'x' from b), position('a' in b), extract(year from ts), date_part('year', ts), b || 'x', ts at time zone 'UTC' from t
select abs(a), round(n), round(n, 1), floor(f), ceil(f), mod(a, 2), power(f, 2), sqrt(f) from t, u
select j -> 'a', j ->> 'a', j #> '{a,b}', j -> 0, j @> '{}' from t
select ts + interval '1 day', ts - ts, d + 1, d - d, now() - ts from t, u
select unnest(arr) from t
select unnest(arr) as x, a from t
select * from unnest(array[1,2]) x
select * from unnest(array[1,2]) with ordinality
select * from unnest(array[1,2]) with ordinality as x(v, o)
select * from generate_series(1, 3) g
select * from generate_series(1, 3) as g(i)
select g from generate_series(1, 3) g
select * from t, unnest(t.arr) e
select * from t, generate_series(1, t.a)
select b collate "C" from t order by b collate "C"
select 'a' < 'b', 'a' || 'b', '1' + 1
select m, m + 1, at::date from e
select * from e where at > '2020-01-01' and m > 1.5
select string_agg(b, ',' order by a), array_agg(a), array_agg(b order by id desc) from t
select bool_and(ok), every(ok), stddev(a), variance(n) from t
select percentile_cont(0.5) within group (order by f) from u
select * from (select 1) x, (select 2) y
select a from (select * from t) x where x.b = 'q'
select x.a from (t join u on t.id = u.tid) x
select j.a from (t natural join w) as j
select current_user, current_schema, current_database(), version()
select * from (t cross join u) left join w on w.a = t.a
select a b, b c from t
table t
select 1 where 1 = 1
select count(*) from t having count(*) > 1
select 1 from t having true
select pg_typeof(1)
select 'x' as a union all select b from t
select case when true then null else 1 end
select a from t group by a order by count(*)
select b, count(*) c from t group by b order by c, b
select sum(a) + 1, -sum(a) from t
select array_agg(x) from (select a x from t order by a) q
select * from t where ts > now() and ts = '2020-01-01' and ts::date = current_date
select * from u where d = '2020-01-01' and f > 1 and s = 1 and v = 'x' and id = 1
select s + s, s + 1, s * 1.5, id + 1, f + 1, s / 2, s % 2 from u
select upper(v), v || 'x', length(v), v = 'x', lower(c) like v from u
select t.*, w.x from t left join w on w.a = t.a and w.k > 1 where t.b is not null
select (t).a, (t).b from t
select count(t) from t
select count(t.*) from t
select row_to_json(t) from t
select 1 as a group by a
select b from t group by b having b > 'a' order by b
select a as b, count(*) from t group by a order by b
select a, b from t order by 2, 1
select -a as a from t order by a
select a from t order by -a
select a % 2 as p, count(*) from t group by p
select t.a from t group by t.a, t.b order by t.b
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
select a from t union (select tid from u order by id limit 1)
(select a from t) union (select tid from u) order by a limit 1
(select a from t order by a limit 1) union all (select 5)
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
select $1 = any($2::int[])
select 1 between 0 and 2.5, date '2020-01-01' between '2019-01-01' and now()
select timestamp '2020-01-01' + interval '1 day', date '2020-01-01' + 1, date '2020-01-01' + interval '1 day', time '10:00' + interval '1 h'
select 2 ^ 3, 2 ^ 0.5, 7 / 2, 7 / 2.0, 7 % 3, -7 / 2, 5 & 3, 5 | 3, 1 << 2, ~5, @ -5, |/ 4
select 'a' || 1, 1 || 'a', 'a' || null, 'abc' like 'a%', 'abc' not like 'a%', 'abc' ilike 'A%', 'abc' similar to 'a%', 'abc' ~ 'a', 'abc' !~* 'A'
select not true, true and null, null or false, true is not null, null is null, (1 > 2) is false, (null::bool) is unknown
select cast('1' as int), cast(1.5 as int), 1::text, '2020-01-01'::timestamptz, 1::bool, 'yes'::bool, 1.5::float8, 3::int2, 1::oid
select numeric '1.50', 1.50::numeric(5,1), 1::numeric(3), 'x'::char(3), 'x'::"char", 'x'::name, 'x'::varchar
select int4 '1', float8 '1.5', bool 't', text 'x', varchar 'y'
select extract(epoch from now()), extract(dow from date '2020-01-01'), date_trunc('month', now()), age(now(), now()), to_char(now(), 'YYYY')
select lower('A') as "X", upper('a') x, length('abc') as length
select pg_typeof(1.5), pg_typeof('x'), pg_typeof(null), pg_typeof(array[1])
select current_timestamp(3), localtimestamp(0), current_time is null
insert into t select * from t where false
insert into t (id, n, ts, ok) values (1, '1.5', '2020-01-01', 'true'), (2, 2, now(), false)
insert into t (id, n) values ($1, $2 + 1), ($3, default)
insert into t (id, arr, j) values ($1, $2, $3)
insert into u (d, f, v) select $1, $2, $3
insert into t (id) select $1::int where not exists (select 1 from t where id = $1)
insert into t as q (id, a) values (1, 2) on conflict (id) do update set a = q.a + excluded.a, b = $1 where q.b = $2 returning q.*, a + 1 as z
with x as (select 1 as id) insert into t (id) select id from x returning id
update t set a = a + $1 where id = $2 and b like $3
update t set arr = array[1, 2], j = '{"a": 1}', n = 1, ts = now(), ok = a > 1
update t set arr = '{}', b = a, n = a
update t set a = x.m from (select max(a) m from t) x where t.a is null returning t.a, x.m
update only t set a = 1
delete from t where id in (select tid from u) and a > $1 returning id, a + 1
with x as (select 1 as id) delete from t using x where x.id = t.id
select * from t where b = $1::varchar and a = $2::bigint
select $1::int + $1, $2::text || $2
select * from t where id between $1 and $2 order by a limit $3
select * from t where ts > $1 and ts < now() - $2::interval
select * from generate_series(1, $1) g
select date_trunc($1, ts) from t
select substring(b, $1, $2), b || $3 from t
select json_build_object('a', 1), jsonb_build_object('a', a, 'b', b), to_jsonb(a), jsonb_agg(a) from t group by a, b
select j['a'], j -> 'a' ->> 'b', (j ->> 'a')::int from t
select * from jsonb_each('{"a":1}') x
select * from jsonb_array_elements('[1]') with ordinality
select key, value from t, jsonb_each_text(t.j)
select jsonb_array_elements(j) from t
select string_to_array('a,b', ','), array_to_string(arr, ','), array_length(arr, 1), cardinality(arr), array_append(arr, 1), arr || 4, arr || array[5] from t
select regexp_replace(b, 'a', 'b'), split_part(b, ',', 1), replace(b, 'a', 'b'), md5(b), concat(a, b, null), concat_ws(',', a, b), format('%s', a), left(b, 1), right(b, 1), reverse(b), repeat(b, 2), lpad(b, 5), strpos(b, 'x'), initcap(b), chr(65), ascii(b), to_hex(a), btrim(b, 'x'), translate(b, 'a', 'b') from t
select quote_ident('a'), quote_literal('b'), coalesce(b, quote_nullable(null)) from t
select count(*) filter (where a > 1), sum(a) filter (where b is null) over () from t group by a, b
select mode() within group (order by a), percentile_disc(0.5) within group (order by b desc) from t
select string_agg(distinct b, ',' order by b), array_agg(distinct a), string_agg(a::text, '') from t
select bit_and(a), bit_or(a), bool_or(ok), every(ok), stddev_pop(a), var_samp(f), corr(f, f) from t, u
