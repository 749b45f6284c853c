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
