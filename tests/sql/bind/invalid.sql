select x from t
select t.x from t
select x.a from t
select a from nosuch
select a from s.nosuch
select a from t, w
select t.id from t as q
select idd from t
select tt from t, u
select b from t where a
select b from t where b = 1
select a from t join u on t.id = u.tid where q.a = 1
select * from t join u on a
select b from t group by a
select t.b, count(*) from t
select a + b from t
select a from t group by count(*)
select a from t where count(*) > 1
select sum(count(a)) from t
select sum(row_number() over ()) from t
select row_number() over () from t where row_number() over () > 1
select a from t having b = 'x'
select a from t order by 3
select a from t group by 2
select a from t order by 'x'
select distinct a from t order by b
select distinct on (b) a from t order by a
select lower(1)
select nosuch(1)
select nosuch(a, b) from t
select lower(*) from t
select lower(distinct b) from t
select sum() from t
select count() from t
select sum(b) from t
select row_number() from t
select lower(b) over () from t
select a from t union select a, b from t
select a from t union select b from t
select a from t union select ok from t
select a from t union select b from t union select 1
select 1 union select 2 order by a
select 1 as a union select 2 order by a + 1
select case when a then 1 end from t
select case when ok then 1 else b end from t
select case when ok then 1 else ok end from t
select coalesce(a, ok) from t
select coalesce(a, 'x') from t
select array[a, ok] from t
select array[]
select 'x'::int
select 'x'::nosuch
select a::uuid from t
select ok + 1 from t
select a || a from t
select - b from t
select not a from t
select a and ok from t
select a is true from t
select (select a, b from t)
select a in (select a, b from t) from t
select a = (select a, b from t) from t
select (a, b) in (select a from t) from t
select (1, 2) = (1, 2, 3)
select array(select a, b from t)
select a = any(1) from t
select a = any(b) from t
select * from t limit 'x'
select * from t limit a
select * from t limit b
select * from t limit ok
select *
select t.*
select q.* from t
select count(*) filter (where a) from t
select lower(b) filter (where ok) from t
select * from t, t
select * from t a, u a
select * from t join w using (zz)
select * from t join u using (a)
select * from t join w using (id)
select * from (select 1 as a, 2 as a) x join t using (a)
select * from t natural join w join u using (a)
select * from t left join w on t.zz = 1
select * from t join u on u.id = w.k join w on true
select * from t, u join w on t.a = w.a
select * from t, (select * from u where u.tid = t.id) x
select * from t right join lateral (select * from u where u.tid = t.id) x on true
select a from (select a, b from t) x (p, q, r)
select a from (select a as q from t) x
with x as (select 1), x as (select 2) select 1
with x(a, b) as (select 1) select * from x
select * from x
values (1, 2), (3)
values (1), ('x')
values (1), (true)
select $1
select $1 + $2
select $1::int, $1::text
select * from t where a = $1 and b = $1
select $0
insert into nosuch values (1)
insert into t (id, zz) values (1, 2)
insert into t (id, id) values (1, 2)
insert into t (id, a) values (1)
insert into t (id) values (1, 2)
insert into t values (1,2,'x',1,null,null,null,null,5)
insert into t (id, a) values (1, ok)
insert into t (id, a) values (1, true)
insert into t (id, a) values (1, 'x')
insert into t (id, a) values (1, now())
insert into t (id, a) select id, c from u
insert into t (id, a) select id from u
insert into t (id, a) values (1, 1), (2)
insert into t (id) values (1) returning zz
insert into t (id) values (1) returning count(*)
insert into t values (1) on conflict (zz) do nothing
insert into t values (1) on conflict on constraint nosuch do nothing
insert into t values (1) on conflict (id) do update set a = b
insert into t values (1) on conflict (id) do update set zz = 1
insert into t (a) values (a)
insert into t values (default + 1)
update nosuch set a = 1
update t set zz = 1
update t set a = 'x'
update t set a = true
update t set a = b
update t set a = 1, a = 2
update t set (a, b) = (1, 2, 3)
update t set (a, b) = (select 1)
update t set a = count(*)
update t set a = 1 where sum(a) > 1
update t set a = 1 from t
update t set a = 1 where u.id = 1
update t x set a = 1 where t.id = 1
delete from t where zz = 1
delete from nosuch
delete from t using t
delete from t where a
select sum(a) over (partition by zz) from t
select sum(a) over q from t
select sum(a) over (rows between current row and 1 preceding) from t
select sum(distinct a) over () from t
select sum(a order by a) over () from t
select count(distinct a order by b) from t
select percentile_cont(0.5) from t
select grouping(b) from t group by a
select a from t where exists (select b from t group by a)
select (select t.b) from t group by a
select a from t where a in (1, 'x')
select a from t where a in (1, ok)
select a between 'x' and 2 from t
select unnest(arr) from t where unnest(arr) = 1
select * from t where (select 1) = 'x'
select b collate "nosuch" from t
select a collate "C" from t
select nullif(a, ok) from t
select greatest(a, b) from t
select a from t order by zz
select a x, b x from t order by x
select a from t group by zz
select b[1] from t
select arr['x'] from t
select arr[ok] from t
select t.a.b from t
select (a).b from t
select date 'x'
select interval 'x'
select 1/0
select nosuch.lower('x')
select * from nosuch(1)
select * from lower('x') with ordinality
select a as b from t where b = 1 and zz
select count(*) c from t where c > 1
select ts + a from t
select ts = a from t
select a like 1 from t
select 'a' like 1
select a ~ b from t
select b @> 'x' from t
select percentile_cont(0.5) from t
select sum(a) within group (order by b) from t
select (a, b) = (select 1) from t
select (a, b) = (select 1, 2, 3) from t
select * from t where row_number() over () = 1
select a from t group by row_number() over ()
select a from t having row_number() over () > 1
select sum(a) over (order by sum(a) over ()) from t
select sum(sum(a) over ()) from t
select * from t join u on sum(a) = 1
select * from generate_series(1, sum(1))
select * from t limit sum(1)
insert into t (id) values (sum(1))
insert into t (id) values (row_number() over ())
update t set a = row_number() over ()
delete from t where row_number() over () = 1
delete from t returning sum(a)
select coalesce(unnest(arr), 1) from t
select sum(unnest(arr)) from t
select * from t join u on unnest(arr) = 1
select a from t having unnest(arr) = 1
select a, b from t group by rollup (a)
select grouping(a) from t
select grouping(id) from t group by a
select a from t group by cube (a, zz)
select t.a from t group by grouping sets ((b), ())
select *, count(*) from t
select * from t group by a
select a + b from t group by a
select a + 1 from t group by a + 2
select sum(a), b from t group by a order by b
select a from t group by a order by b
select a from t group by a having b = 'x'
select distinct on (a, zz) a from t
select distinct on (1, 2) a from t
select a from t order by 0
select a from t order by -1 desc nulls last, zz
select a from t order by 1.5
select a from t order by null
select a from t group by 'x'
select a x, b y from t order by x + y
select max(a) from t order by a
select u.zz from t, u
select v.a from t v, u where t.a = 1
select a from t where exists (select zz from u)
select a from t where exists (select 1 from u where u.zz = t.a)
select a from t where exists (select 1 from u where q.a = 1)
select id from t, u
select * from t, u where id = 1
select t.id from t, u where b = c and id = 1
select a from t union select a from nosuch
select a from t union all select b from t union all select c from u
select a, b from t intersect select a from t
select 1 union select 'x'
select 1 union all select true
values (1, 2), (3, 4, 5)
select * from (values (1, 'x'), ('y', 2)) v
select array[1, 'x']
select array[1, true]
select 1 = 'x'
select 1 + 'x'
select 'x' + 'y'
select 1 + true
select true + true
select - 'x'
select not 'x'
select a between 'x' and b from t
select a is distinct from b from t
select (a, b) = (1, 2) from t
select (a, b) in ((1, 2)) from t
select (a, b) in ((1, 'x'), (1)) from t
select a in (b) from t
select a = any('{x}') from t
select a = any(array['x']) from t
select 1 like 'x'
select b similar to 1 from t
select b like 'x' escape 1 from t
select cast(a as nosuch) from t
select cast(a as varchar(0)) from t
select cast(a as numeric(0)) from t
select cast(a as int(3)) from t
select a::date from t
select ok::numeric from t
select ts::int from t
select j::int[] from t
select 'x'::date
select '2020-13-01'::date
select '1.5'::int
select '99999999999'::int
select 300000::int2
select 'x'::bool
select '{1'::int[]
select '{"a"'::jsonb
select lower(b, b) from t
select coalesce() from t
select nullif(1) from t
select nullif(1, 'x')
select greatest(1, 'x')
select greatest(1, true)
select sum(1, 2)
select count(1, 2)
select avg(b) from t
select sum(ok) from t
select string_agg(b) from t
select string_agg(a, ',') from t
select array_length(a, 1) from t
select extract(foo from ts) from t
select current_timestamp(1.5)
select lag(a, 'x') over () from t
select lag(a, 1, b) over () from t
select ntile(b) over () from t
select sum(a) over (rows between 1 following and 1 preceding) from t
select sum(a) over (rows b preceding) from t
select rank() over (order by zz) from t
select rank() filter (where ok) over () from t
select * from t as x(p, q, r, s, u, v, w, y, z)
select * from t left join lateral (select u.c from u where u.tid = t.id and q.x = 1) x on true
select * from t full join lateral (select t.a) x on true
select * from t right join unnest(t.arr) x on true
select * from t join (select t.a) x on true
select * from (select u.a) x, u
with x as (select 1 as a) select b from x
with x as (select * from y), y as (select 1) select * from x
with recursive x as (select 1 union all select n from x) select * from x
with recursive x as (select * from x) select * from x
with recursive x as (select 1 as n union all select n + 1.5 from x) select * from x
with recursive x as (select n from x union all select 1) select * from x
insert into t (id, a) values (1, (select 1, 2))
insert into t select 1, 2, 3, 4, 5, 6, 7, 8, 9
insert into t (id, b) select a, ok from t
insert into t (id, ts) values (1, 'x')
insert into t (id, ts) values (1, 5)
insert into t (id, arr) values (1, array['x'])
insert into t (id, ok) values (1, 1)
insert into t values (1, 2, 'x') returning t.zz
insert into t values (1, 2, 'x') returning q.id
insert into t as q values (1) returning t.id
insert into t (id) values (1), (2, 3)
insert into vv values (1, 2)
insert into t (id) values (1) on conflict (id) do update set a = c
insert into t (id) values (1) on conflict (id) do update set a = excluded.zz
insert into t (id) values (1) on conflict (id) do update set a = 'x'
insert into t (id) values (1) on conflict (id) do update set a = true
update t set a = (select 1, 2)
update t set (a, b) = 1
update t set a = u.s
update t set a = excluded.a
update t set ts = 5
update vv set a = 1
update t as q set a = t.a + 1
update t set a = 1 from u where t.id = u.zz
delete from t as q where t.id = 1
delete from t using u where id = 1
delete from vv
select $1::int + $1::text
select $1 = $2
select $1 between $2 and $3
select sum($1)
select lower($1), $1 + 1
select array[$1, $2]
select case when $1 then 1 end
select 1 limit $1::text
values ('1') union select 2
