alter table seat add column fencing_token bigint not null default 0;

-- Not needed for the commands below. It rejects others that write a lower token.
create trigger fence before update on seat
  for each row execute function lockkeeper.lockkeeper_fence_row();
