-- SPDX-License-Identifier: Apache-2.0
--
-- lockkeeper_fence.sql: the marks of fenced resources in PostgreSQL 13 and later. Run it once in each database, as the role that
-- owns your tables (it needs the right to create a schema, and no more); running it again changes nothing. Run it in one
-- transaction: psql --single-transaction --file lockkeeper_fence.sql, or as a step of your migration tool.
--
-- Then allow it to the role of your program:
--   grant usage on schema lockkeeper to app;
--   grant execute on function lockkeeper.lockkeeper_fence(text, bigint) to app;
--
-- SQLSTATE LK001: the token is stale, a newer holder has used the resource. Roll back and stop; do not retry.
-- SQLSTATE 22023: a malformed argument. SQLSTATE 40001, at REPEATABLE READ and SERIALIZABLE only: retry the transaction.

select pg_advisory_xact_lock(7795262921617788);  -- two migrations at once would both create the schema

create schema if not exists lockkeeper;

create table if not exists lockkeeper.mark (
  resource text primary key,
  token bigint not null  -- the mark: the highest fencing token that has used the resource
) with (fillfactor = 50);  -- room for an update beside the row, without a new entry in the index

-- Begins an access to `resource`, also one that only reads: call it first in each transaction under the lock. It raises the mark to
-- `token`, or rejects the transaction if the mark is higher. The row stays locked until the transaction ends. So check and access
-- are one step, and a newer holder waits until then.
create or replace function lockkeeper.lockkeeper_fence(resource text, token bigint) returns void
language plpgsql
security definer  -- a program raises marks by this function only, and can neither lower nor delete one
set search_path = pg_catalog, pg_temp
as $$
begin
  if resource is null or octet_length(resource) not between 1 and 512 then
    raise exception 'resource must have 1 to 512 bytes' using errcode = '22023';
  end if;
  if token is null or token not between 1 and 9007199254740991 then
    raise exception 'token must be from 1 to 9007199254740991, and is %', coalesce(token::text, 'null') using errcode = '22023';
  end if;
  -- An equal token writes the row too: a transaction with an older snapshot that waited for it must not go on with that snapshot.
  insert into lockkeeper.mark as mark (resource, token) values (resource, token)
    on conflict on constraint mark_pkey do update set token = excluded.token where mark.token <= excluded.token;
  if not found then
    raise exception 'stale fencing token for resource "%"', resource
      using errcode = 'LK001', detail = format('The token is %s, the mark is higher.', token),
            hint = 'A newer holder has used the resource. Roll back and stop.';
  end if;
end
$$;

-- A trigger for a table of yours with a column `fencing_token bigint not null default 0`. It rejects an update that would lower the
-- token of a row, whoever sends it:
--   create trigger fence before update on seat for each row execute function lockkeeper.lockkeeper_fence_row();
-- It cannot see an update that leaves the column as it is.
create or replace function lockkeeper.lockkeeper_fence_row() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if new.fencing_token is null or new.fencing_token < old.fencing_token then
    raise exception 'stale fencing token for a row of "%"', tg_table_name
      using errcode = 'LK001', detail = format('The token is %s, the mark is %s.', new.fencing_token, old.fencing_token),
            hint = 'A newer holder has used the row. Roll back and stop.';
  end if;
  return new;
end
$$;

revoke all on function lockkeeper.lockkeeper_fence(text, bigint) from public;
