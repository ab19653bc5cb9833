-- SPDX-License-Identifier: Apache-2.0
create table if not exists orders (
  id bigint primary key,
  paid boolean not null default false,
  token bigint not null default 0 -- the highest fencing token that this row has seen
);
create table if not exists report (token bigint not null);
