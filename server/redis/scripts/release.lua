#!lua flags=allow-oom
-- SPDX-License-Identifier: Apache-2.0
-- with frame.lua, record.lua, line.lua
-- Releases leases, takes waiters out of the line, and makes their lease ids void for good.
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
-- ARGV[10..] for each lock: lease id (32 digits, a space and its digest: 8 characters), principal
-- Returns    {now (us), then for each lock: outcome, more, held, token}
--            1 RELEASED, now or by an earlier release of this lease id
--            2 EXPIRED: the lease had ended without a release; 3 NOT_HOLDER
--            4 LEFT_LINE: the lease id stood in line and has left it; 3 in a quarantine
--            80 the line has to be seen; 90 record corrupt; 91 record of a newer format
--            more: 1 if the hand-over has to go on in another call
--            held: how long the lease was held (us) that was released now, and token: its token; else 0
--            Or {now, 81} or {now, 82}: marker or clock are not as expected, and nothing was done
-- Errors     LOCKKEEPER_ARGUMENTS: nothing was written
-- Why        An unknown lease id becomes void too: its acquire may still be on its way, and grants
--            nothing when it comes. So does one whose lease has expired: that lease may be withdrawn
--            yet, which would let a later attempt of it in.

-- Whether the lease id and its digest are the record's.
local function is_of(record, who) return sub(record, 112, 152) == who end

-- How records of held locks without a line begin.
local HELD, HELD_AFTER_EXPIRED = '1 H - - ', '1 H X - '

-- What is answered for a lease id that has ended before, by how it ended. False if nobody writes that.
local function lost_by(how) return (how == 'X' or how == 'F') and 2 end
local function outcome_of(how) return how == 'R' and 1 or lost_by(how) or how == 'U' and 3 end

-- Ends the lease in `record`, of an earlier epoch. It may be over: the clock that its end was told by may
-- have been set since, or the record may be older data.
local function end_forgotten(key, record)
  write_ended(key, record, 'R', 'X', 'U')
  return 3
end

-- Makes the lease id of the record, whose lease has expired, void for good.
local function end_expired(key)
  redis.call('SETRANGE', key, ATTEMPT_AT, FOR_GOOD)
  return 2
end

-- Of the records that end now, as digits.
local epoch_column

-- Ends the lease in `record`, of this epoch. A name that was locked before will be again: Redis may keep its
-- record for as long as it would have with the lease, if that is at most half the retention more. The time
-- when it is collected would cost as much as the rest of the write.
local function end_lease(key, line, record)
  epoch_column = epoch_column or (epoch + 0) .. ''
  local at, held = long_voids_at(record), now - acquired_of(record)
  local voids = add_void(record, at, digest_of(record) .. 'R', released_holder(record, at))
  local short = short_record(record, 'R', '-', epoch_column, voids)
  if at <= #record and closed_until_of(record) - now <= retention * 500 then
    redis.call('SET', key, short, 'KEEPTTL')
  else
    write(key, short, token_of(record))
  end
  if line then return 1, hand_over_ended(key, line), held, token_of(record) end -- two keys
  return 1, 0, held, token_of(record)
end

-- What is answered for a lease id that has left the line, or its offer. Older data may show a place or an
-- offer that has become a lease since.
local function left_line() return in_quarantine() and 3 or 4 end

-- Takes the offered lease id out: its acquire ends as cancelled.
local function release_offered(key, line, record)
  local lease_id = lease_id_of(record)
  local number = number_of(line, lease_id)
  if number then remove(line, lease_id, number) end
  tell(daemon_of_record(record), CANCELLED, lease_id, '-', key)
  write_ended(key, record, 'W', previous_of(record), 'U')
  return left_line(), hand_over_ended(key, line)
end

-- Takes a waiter out of the line: its acquire ends as cancelled. False if it does not stand there,
-- or is somebody else's.
local function release_waiter(key, line, record, who, principal)
  local lease_id = sub(who, 1, 32)
  local number = number_of(line, lease_id)
  local entry = number and entry_at(line, number)
  if not entry or sub(entry, 116, 116 + #principal) ~= principal .. '\n' then return false end
  remove(line, lease_id, number)
  tell(daemon_of(entry), CANCELLED, lease_id, '-', key)
  write_void(key, record, sub(who, 33) .. 'U')
  settle(key, line, true)
  return true
end

-- Makes a lease id void of which no lease is known. In a quarantine that is also one whose lease expired, or was
-- forced, by data that may be older: a later attempt may have a lease since (reassert.lua).
local function release_unknown(key, record, who)
  write_void(key, record, sub(who, 33) .. 'U')
  return 3
end

-- The lease id does not hold the lock.
local function release_other(key, line, who, principal)
  local record = read(key)
  if record and has_line(record) and not line then return LINE end
  if line and release_waiter(key, line, record, who, principal) then -- two keys
    return left_line() -- two keys
  end -- two keys
  local kind = record and void_in(record, sub(who, 33)) or 'W'
  if kind == 'W' or kind == 'P' or lost_by(kind) and in_quarantine() then return release_unknown(key, record, who) end
  return outcome_of(kind)
end

-- Whatever is not a plain lease of this lease id: one without hold_at_least.
local function release_any(key, line, record, who, principal)
  if record ~= '' and not is_readable(record) then return fault_of(record) end
  if not is_of(record, who) then return release_other(key, line, who, principal) end
  if not principal_is(record, principal) then return 3 end
  local state = state_of(record)
  if state == 'O' then
    if not line then return LINE end
    return release_offered(key, line, record) -- two keys
  end
  if state == 'F' and in_quarantine() then return release_unknown(key, record, who) end
  if state ~= 'H' then return outcome_of(state) end
  if not is_current(record) then return end_forgotten(key, record) end
  if lease_end_of(record) <= now then return end_expired(key) end
  if has_hold(record) or is_restored(record) then
    if has_line(record) and not line then return LINE end
    local released, held, token = write_released(key, record), now - acquired_of(record), token_of(record)
    if line then return released, hand_over_ended(key, line), held, token end -- two keys
    return released, 0, held, token
  end
  if not line then return LINE end
  return end_lease(key, line, record) -- two keys
end

return each({41, 0}, 4, function(key, at, line)
  local who, principal = ARGV[at], ARGV[at + 1]
  local record = redis.call('GET', key) or ''
  local form, text = sub(record, 1, 8), '\n' .. principal .. '\n'
  if form ~= HELD and form ~= HELD_AFTER_EXPIRED or not is_of(record, who) or
    not is_current(record) or sub(record, 227, 228 + #principal) ~= text or lease_end_of(record) <= now or
    is_restored(record) then
    return release_any(key, line, record, who, principal)
  end
  return end_lease(key, line, record)
end)
