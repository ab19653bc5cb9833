#!lua flags=allow-oom
-- SPDX-License-Identifier: Apache-2.0
-- with frame.lua, record.lua, line.lua
-- Takes grants, offers and places in line back that a daemon has given up, if the call that gives
-- up still keeps them; ends leases of a session that is closed, if it still keeps them.
-- KEYS       for each lock: record (string); with two keys per lock: line (sorted set)
-- ARGV[1]    token floor (integer), for the next in line
-- ARGV[2]    retention (ms) of a record beyond its last point in time that matters
-- ARGV[3]    epoch (10 digits)
-- ARGV[4]    keys per lock (1 or 2)
-- ARGV[5]    beginning of the channels of daemons
-- ARGV[6]    stamp and beats that the marker of the store has to have; '': there must be no marker. Its
--            key is the last one
-- ARGV[7]    time from which on new grants are allowed (16 digits, us)
-- ARGV[8..9] earliest and latest time that this node's clock may read (16 digits, us)
-- ARGV[10..] for each lock: lease id (32 digits, a space and its digest: 8 characters), attempt
--            (6 digits), keeper (32 digits), scope (L: a lease too, U: only what is unclaimed, S: only an
--            offer, whose place is set aside, P: the same of the offer with this token, B: only an offer, whose
--            waiter goes back to its place, R: only a lease, which is released, C: only a lease, whoever keeps
--            it, that its client has claimed without being told of it since, T: nothing, but C no longer finds
--            that lease), and of P, B, C and T its token (16 digits), else 0
-- Returns    {now (us), then for each lock: outcome, more, position, seen}
--            1 WITHDRAWN, set aside, put back, released or told; 2 NOT_GRANTED: nothing is granted to this attempt, and now nothing can be
--            3 KEPT: the grant, or the place in line, has another keeper, or was claimed and is out of scope,
--            or there is nothing to set aside, to put back or to release, or the holder was told of its claim;
--            if it is that of an earlier attempt, nothing can be granted to this one
--            80 the line has to be seen; 90 record corrupt; 91 record of a newer format
--            more: 1 if the hand-over has to go on in another call
--            position: place in line that was left, else 0
--            seen: 0; or, if a place was left, "<waiters that stay> <free by itself in (us)> <owner of
--            the holder>"; or, if a lease was released, how long it was held (us)
--            Or {now, 81} or {now, 82}: marker or clock are not as expected, and nothing was done
-- Errors     LOCKKEEPER_ARGUMENTS: nothing was written
-- Why        A late clean-up must not free a lease that a retry elsewhere already gave to the
--            client: the retry has moved the keeper. The attempt becomes void, so that its acquire,
--            if it comes later still, grants nothing, and takes nothing over from an attempt before
--            it; a later attempt may be granted. A daemon that declines an offer cannot know whether
--            it was claimed meanwhile: hence the scope. What a session releases by its end another one
--            may have adopted: hence the keeper there. An extend moves no keeper, and has told the
--            holder elsewhere that it has the lease: hence the mark of a claim. An offer that is put back is
--            made again by the next poll: at once it would be the same offer over and over.

local function make_void(key, record, digest, attempt)
  local kind, void_attempt
  if record then kind, void_attempt = void_in(record, digest) end
  if not kind or tonumber(attempt) > void_attempt then
    write_void(key, record, digest .. (kind == 'P' and 'P' or 'W') .. attempt)
  end
end

-- Nothing is known of the lease id but what is on the list. A later attempt of it may have had a lease that has
-- ended and fallen out. Then the lease id is void for good, as in acquire.lua: else this entry would let stale
-- copies of others in.
local function make_stranger_void(key, record, digest, attempt)
  local at = record and voids_at(record)
  if not record or in_quarantine() or not has_forgotten(record, at) or find(record, digest, at, true) then
    return make_void(key, record, digest, attempt)
  end
  write_void(key, record, digest .. 'U')
end

-- The lease id may stand in line. Answers the attempt of another call if that waits there now, else
-- nil; and the place that was left, 0 if there was none.
local function withdraw_waiter(line, lease_id, keeper)
  local number = number_of(line, lease_id)
  local entry = number and entry_at(line, number)
  if not entry then return nil, 0 end
  if sub(entry, 50, 81) ~= keeper then return number_at(entry, 43, 48), 0 end
  remove(line, lease_id, number)
  return nil, redis.call('ZCOUNT', line, '(0', format('(%d', number)) + 1
end

-- Another call has the lease id's grant. It keeps that, also if this attempt, a later one, comes yet. An offer that
-- two calls of one attempt were given has no keeper, but its place in line is that of the last one: it is left.
local function keep(key, line, record, attempt, keeper)
  local is_later = tonumber(attempt) > attempt_of(record)
  if not is_later and state_of(record) ~= 'O' then return 3 end
  if has_line(record) and not line then return LINE end
  if is_later then make_void(key, record, digest_of(record), attempt) end
  if line then -- two keys
    withdraw_waiter(line, lease_id_of(record), keeper) -- two keys
    settle(key, line, true) -- two keys
  end -- two keys
  return 3
end

-- The lease id is the record's. Its client was told of an earlier offer and has not claimed it, or its daemon
-- cannot pass offers on now: this one lapses now, and its place is not offered the lock again until it
-- acquires again. `token`: of the offer, 0 for any.
local function set_aside(key, line, record, keeper, token)
  if not runs(record, 'O') or keeper_of(record) ~= keeper or keeper == NOBODY then return 3 end
  if token ~= 0 and token_of(record) ~= token then return 3 end
  if not line then return LINE end
  local number = number_of(line, lease_id_of(record)) -- two keys
  local entry = number and entry_at(line, number) -- two keys
  if entry then -- two keys
    redis.call('ZREM', line, entry) -- two keys
    add(line, PARKED + number, entry .. now_digits) -- two keys
  end -- two keys
  overwrite(key, LEASE_END_AT, now_digits .. ' ' .. now_digits, token_of(record)) -- two keys
  return 1, hand_over_ended(key, line, daemon_of_record(record)) -- two keys
end

-- The lease id is the record's. Its daemon cannot pass the offer on now: all is as if it had not been made,
-- but for the token.
local function put_back(key, line, record, keeper, token)
  local is_it = runs(record, 'O') and token_of(record) == tonumber(token)
  if not is_it or keeper_of(record) ~= keeper or keeper == NOBODY then return 3 end
  if not line then return LINE end
  local number = number_of(line, lease_id_of(record)) -- two keys
  local entry = number and entry_at(line, number) -- two keys
  if entry then add(line, number, entry) end -- two keys
  local voids = sub(record, long_voids_at(record)) -- two keys
  write(key, short_record(record, 'W', previous_of(record), epoch_of(record), voids), token_of(record)) -- two keys
  settle(key, line, true) -- two keys
  return 1 -- two keys
end

-- The lease id is the record's. Too little was confirmed of its claim.
local function withdraw_claim(key, line, record, token)
  if not is_live(record) or token_of(record) ~= tonumber(token) or not is_only_claimed(record) then return 3 end
  if has_line(record) and not line then return LINE end
  write_ended(key, record, 'W', previous_of(record), 'W' .. sub(record, 154, 159))
  if line then return 1, hand_over_ended(key, line) end -- two keys
  return 1
end

-- The lease id is the record's. Its client is told of its claim now.
local function let_claim_stand(key, record, token)
  if not is_live(record) or token_of(record) ~= tonumber(token) or not is_only_claimed(record) then return 3 end
  set_told(key, record)
  return 1
end

-- The lease id is the record's. Its session is closed.
local function release_kept(key, line, record, keeper)
  if not is_live(record) or keeper_of(record) ~= keeper then return 3 end
  if has_line(record) and not line then return LINE end
  local released, held = write_released(key, record), now - acquired_of(record)
  if line then return released, hand_over_ended(key, line), 0, held end -- two keys
  return released, 0, 0, held
end

-- The lease id is the record's. In a quarantine the data may be older than a retry that has got the lease from
-- this attempt: its holder can prove that.
local function withdraw_holder(key, line, record, attempt, keeper, scope)
  local state = state_of(record)
  if state == 'H' or state == 'O' then
    if keeper_of(record) ~= keeper or keeper == NOBODY then
      return keep(key, line, record, attempt, keeper)
    end
    if state == 'H' and scope == 'U' then return 3 end
    if not line and (state == 'O' or has_line(record)) then return LINE end
    local number = line and number_of(line, lease_id_of(record)) -- two keys
    if number then remove(line, lease_id_of(record), number) end -- two keys
    local void = 'W' .. sub(record, 154, 159)
    if in_quarantine() and not is_current(record) then
      -- A later attempt that had been withdrawn does not speak against the retry's proof either.
      local _, void_attempt = void_in(record, digest_of(record))
      void = format('P%06d', max(void_attempt or 0, attempt_of(record)))
    end
    write_ended(key, record, 'W', previous_of(record), void)
    if line then return 1, hand_over_ended(key, line) end -- two keys
    return 1
  end
  return 2
end

-- What there is to see of the lock for one that leaves its line.
local function seen(record, waiters)
  return format('%d %d ', waiters, free_in(record)) .. (record and is_live(record) and owner_of(record) or '')
end

return each({41, 6, 32, 1, 16}, 4, function(key, at, line)
  local lease_id, digest = sub(ARGV[at], 1, 32), sub(ARGV[at], 33)
  local attempt, keeper = ARGV[at + 1], ARGV[at + 2]
  local record, fault = read(key)
  if fault then return fault end
  local scope = ARGV[at + 3]
  if record and lease_id_of(record) == lease_id then
    if find('SP', scope, 1, true) then return set_aside(key, line, record, keeper, tonumber(ARGV[at + 4])) end
    if scope == 'B' then return put_back(key, line, record, keeper, ARGV[at + 4]) end
    if scope == 'R' then return release_kept(key, line, record, keeper) end
    if scope == 'C' then return withdraw_claim(key, line, record, ARGV[at + 4]) end
    if scope == 'T' then return let_claim_stand(key, record, ARGV[at + 4]) end
    return withdraw_holder(key, line, record, attempt, keeper, scope)
  end
  if find('SPBRCT', scope, 1, true) then return 3 end
  if record and has_line(record) and not line then return LINE end
  local waiting, position = nil, 0 -- two keys
  if line then waiting, position = withdraw_waiter(line, lease_id, keeper) end -- two keys
  if waiting and tonumber(attempt) <= waiting then return 3 end -- two keys

  local void = make_stranger_void -- one key
  local void = (waiting or position > 0) and make_void or make_stranger_void -- two keys
  void(key, record, digest, attempt)
  if line then -- two keys
    local waiters = settle(key, line, true) -- two keys
    if waiting then return 3 end -- two keys
    if position > 0 then return 2, 0, position, seen(record, waiters) end -- two keys
  end -- two keys
  return 2
end)
