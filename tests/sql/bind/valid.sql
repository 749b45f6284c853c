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
