#!lua flags=allow-oom
-- SPDX-License-Identifier: Apache-2.0
-- with frame.lua, record.lua, line.lua
-- Extends live leases, never shortens them, never past their max_hold; claims offers.
-- KEYS       for each lock: record (string); with two keys per lock: line (sorted set)
-- ARGV[1]    token floor (integer), not used
-- ARGV[2]    retention (ms) of a record beyond its last point in time that matters
-- ARGV[3]    epoch (10 digits)
-- ARGV[4]    keys per lock (1 or 2)
-- ARGV[5]    beginning of the channels of daemons, not used
-- ARGV[6]    stamp and beats that the marker of the store has to have; '': there must be no marker. Its
--            key is the last one
-- ARGV[7]    time from which on new grants are allowed (16 digits, us)
-- ARGV[8..9] earliest and latest time that this node's clock may read (16 digits, us)
-- ARGV[10..] for each lock: lease id (32 digits), ttl (8 digits, ms, 0: as granted), principal, keeper
--            that the lease gets (32 digits, '': it has the one that it has)
-- Returns    {now (us), then for each lock: outcome, a, b, c}
--            1 EXTENDED, 2 EXTENDED_AFTER_EXPIRED, if the lease before expired: token, remaining (us), terms (ms,
--            see terms_text)
--            6 EXTENDED_FOR_DISK, 7 EXTENDED_FOR_DISK_AFTER_EXPIRED, 8 EXTENDED_FOR_REPLICAS,
--            9 EXTENDED_FOR_REPLICAS_AFTER_EXPIRED: the same of a lease whose client has asked for that
--            assurance, and may not have been told of the lease yet
--            10 CLAIMED, 11 CLAIMED_AFTER_EXPIRED: 1 and 2 of an offer that this claimed
--            3 LOST; 4 FORGOTTEN: it has to be re-asserted; 80 the line has to be seen, for a claim
--            5 TOO_LONG: the stamp tells of shorter leases: what it has to tell of at least (ms), 0, 0
--            90 record corrupt; 91 record of a newer format: 0, 0, 0
--            Or {now, 81} or {now, 82}: marker or clock are not as expected, and nothing was done
-- Errors     LOCKKEEPER_ARGUMENTS: nothing was written
-- Why        A session that adopts a lease becomes its keeper: whoever kept it before gives it up no
--            more. After a loss only a proof tells a lease from one that was granted further: in a
--            quarantine what the record does not say for itself is left to reassert.lua. An ended lease is never revived: another holder may have come and gone since. The
--            record is written even if the end stays, as for a repeated acquire. The lease of a
--            claim runs, and its max_hold counts, from the claim. A claim of which too little is confirmed is
--            taken back: hence the mark that it was claimed and nobody was told since.

-- Whether the stamp tells of shorter leases, with their lock_delay, than this one would be.
local function is_beyond_ceiling(ttl, delay) return ARGV[6] ~= '' and ttl + delay > expected_ttl_ceiling() + 0 end

-- The hold_at_least (us) of the offer at `key`; 0 without it. An older daemon may have made the offer, in
-- format 1.
local function hold_of_offer(key, record)
  if not asks_hold(claim_of(record)) then return 0 end
  local text_end = long_voids_at(record)
  local whole = redis.call('GET', key)
  return hold_before(whole, text_end)
end

-- Of a lease for which DISK or REPLICAS is asked, the first or the second letter of such a pair in column claim.
local function outcome_of(record, asked)
  local outcome = not asked and 1 or asked % 2 == 1 and 6 or 8
  return previous_of(record) == 'X' and outcome + 1 or outcome
end

-- The lease of an offer that is claimed: held, acquired now, with its own max_hold and hold_at_least.
local function claim(key, line, record, ttl, keeper)
  local max_hold, lease_end = max_hold_of(record), now + ttl * 1000
  local max_hold_end = max_hold > 0 and now + max_hold * 1000 or 0
  if max_hold_end > 0 and max_hold_end < lease_end then lease_end = max_hold_end end
  local lock_delay, lease_id = lock_delay_of(record), lease_id_of(record)
  if is_beyond_ceiling(ttl, lock_delay) then return 5, ttl + lock_delay end
  local hold = hold_of_offer(key, record)
  local hold_end = hold > 0 and now + hold or 0
  local closed_until = max(lease_end + lock_delay * 1000, hold_end)
  local number = number_of(line, lease_id)
  if number then remove(line, lease_id, number) end
  if keeper ~= '' then redis.call('SETRANGE', key, KEEPER_AT, keeper) end
  local asked = find('KRkr', claim_of(record), 1, true)
  if asked then redis.call('SETRANGE', key, CLAIM_AT, sub('LSls', asked, asked)) end
  overwrite(key, '0', (hold > 0 and '3 H' or '1 H') .. sub(record, 4, 32) ..
    format('%016d %016d %016d %016d', lease_end, closed_until, now, max_hold_end),
    max(token_of(record), closed_until))
  settle(key, line, record)
  local outcome = outcome_of(record, asked)
  return asked and outcome or outcome + 9, token_of(record), lease_end - now,
    terms_text(ttl, lock_delay, max_hold_end, hold_end)
end

-- What the ttl of the last extend comes to now: most of a call are the same.
local asked, asked_end, asked_columns, asked_kept

-- `is_plain`: the record has neither hold_at_least nor a mark of its claim.
local function extend(key, record, old_lease_end, ttl, keeper, is_plain)
  if ttl ~= asked then
    asked, asked_end = ttl, now + ttl * 1000
    local asked_digits = digits(asked_end)
    asked_columns, asked_kept = asked_digits .. ' ' .. asked_digits, collect_at(asked_end)
  end
  local token, lease_end, columns, kept = token_of(record), asked_end, asked_columns, asked_kept
  local told, only_claimed = ttl, false
  if old_lease_end > lease_end or token > lease_end or not is_plain or has_max_hold(record) or
    has_lock_delay(record) then
    local hold_end = 0
    if has_hold(record) then
      local whole, text_end = redis.call('GET', key), long_voids_at(record)
      hold_end = acquired_of(record) + hold_before(whole, text_end)
    end
    local max_hold_end = max_hold_end_of(record)
    lease_end = max(old_lease_end, lease_end)
    if max_hold_end > 0 and max_hold_end < lease_end then lease_end = max_hold_end end
    local lock_delay = lock_delay_of(record)
    local closed_until = max(lease_end + lock_delay * 1000, hold_end)
    if lock_delay > 0 and is_beyond_ceiling(ttl, lock_delay) then return 5, ttl + lock_delay end
    only_claimed = is_only_claimed(record)
    if only_claimed or is_restored(record) then set_told(key, record) end
    columns = format('%016d %016d', lease_end, closed_until)
    kept = collect_at(max(token, closed_until))
    told = terms_text(ttl, lock_delay, max_hold_end, hold_end)
  end
  if keeper ~= '' then redis.call('SETRANGE', key, KEEPER_AT, keeper) end
  redis.call('SETRANGE', key, LEASE_END_AT, columns)
  redis.call('PEXPIREAT', key, kept)
  if only_claimed then return outcome_of(record, only_claimed), token, lease_end - now, told end
  return previous_of(record) == 'X' and 2 or 1, token, lease_end - now, told
end

return each({32, 8, 0, 0}, 4, function(key, at, line)
  local lease_id, ttl, principal, keeper = ARGV[at], ARGV[at + 1] + 0, ARGV[at + 2], ARGV[at + 3]
  local record = read_header(key, principal)
  if record == '' then return in_quarantine() and 4 or 3 end
  local tail = sub(record, 226, 227)
  local is_plain = sub(record, 1, 2) == '1 ' and
    (tail == 'C\n' or tail == 'D\n' or tail == 'R\n' or tail == 'K\n')
  if not is_plain and not is_readable(record) then return fault_of(record) end
  if lease_id_of(record) ~= lease_id or not is_current(record) then
    return in_quarantine() and 4 or 3
  end
  if not principal_is(record, principal) then return 3 end
  if not is_plain and is_restored(record) and in_quarantine() then return 4 end

  local state, lease_end = state_of(record), lease_end_of(record)
  if lease_end <= now then return 3 end
  if ttl == 0 then ttl = ttl_of(record) end
  if state == 'H' then return extend(key, record, lease_end, ttl, keeper, is_plain) end
  if state ~= 'O' then return 3 end
  if not line then return LINE end
  return claim(key, line, record, ttl, keeper) -- two keys
end)
