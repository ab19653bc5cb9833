-- The first access in each turn with the lock, even if the turn only reads. No row: the token is
-- stale (or there is no seat 12).
update seat set fencing_token = :token
  where id = 12 and fencing_token <= :token returning guest;

-- A write. No row: the token is stale.
update seat set guest = :'guest', fencing_token = :token
  where id = 12 and fencing_token <= :token returning id;
