#!lua flags=allow-oom
-- SPDX-License-Identifier: Apache-2.0
-- with record.lua, line.lua
-- Releases leases, takes waiters out of the line, and makes their lease ids void for good.
-- KEYS       for each lock: record (string); with two keys per lock: line (sorted set)
-- ARGV[1]    token floor (integer), for the next in line
-- ARGV[2]    retention (ms) of a record beyond its last point in time that matters
-- ARGV[3]    epoch (10 digits)
-- ARGV[4]    keys per lock (1 or 2)
-- ARGV[5]    beginning of the channels of daemons
-- ARGV[6..]  for each lock: lease id (32 digits), principal
-- Returns    {now (us), then for each lock: outcome, more, 0, 0}
--            1 released, now or by an earlier release of this lease id
--            2 the lease had ended without a release; 3 the lease id does not hold the lock
--            4 the lease id stood in line and has left it
--            80 the line has to be seen; 90 record corrupt; 91 record of a newer format
--            more: 1 if the hand-over has to go on in another call
-- Errors     LOCKKEEPER_ARGUMENTS: nothing was written
-- Why        An unknown lease id becomes void too: its acquire may still be on its way, and grants
--            nothing when it comes.

-- What is answered for a lease id that has ended before, by how it ended.
local OUTCOMES = {R = 1, X = 2, F = 2, U = 3, W = 3, N = 3}

-- Ends the lease or offer in `record` as `state` says, voiding attempts up to `attempt`.
local function end_lease(key, line, record, state)
  overwrite(key, STATE_AT, state .. sub(record, 4, 32) .. now_digits .. ' 0000000000000000',
    token_of(record))
  if line then return hand_over_ended(key, line) end -- two keys
  return 0
end

-- Takes the offered lease id out: its acquire ends as cancelled.
local function release_offered(key, line, record)
  local lease_id = lease_id_of(record)
  local number = number_of(line, lease_id)
  if number then remove(line, lease_id, number) end
  tell(daemon_of_record(record), CANCELLED, lease_id, '-', key)
  overwrite(key, ATTEMPT_AT, FOR_GOOD, end_of(record))
  return 4, end_lease(key, line, record, 'W')
end

local function release_holder(key, line, record, principal)
  local state = state_of(record)
  if not principal_is(record, principal) then return 3 end
  if state == 'H' and not is_live(record) then return 2 end
  if (state == 'H' and has_line(record) or state == 'O') and not line then return LINE end
  if state == 'H' then return 1, end_lease(key, line, record, 'R') end
  if state == 'O' then return release_offered(key, line, record) end -- two keys
  if state == 'W' then overwrite(key, ATTEMPT_AT, FOR_GOOD, end_of(record)) end
  return OUTCOMES[state]
end

-- Takes a waiter out of the line: its acquire ends as cancelled. False if it does not stand there,
-- or is somebody else's.
local function release_waiter(key, line, record, lease_id, principal)
  local number = number_of(line, lease_id)
  local entry = number and entry_at(line, number)
  if not entry or sub(entry, 107, 107 + #principal) ~= principal .. '\n' then return false end
  remove(line, lease_id, number)
  tell(daemon_of(entry), CANCELLED, lease_id, '-', key)
  write_void(key, record, void(lease_id, 'U', FOR_GOOD))
  settle(key, line, true)
  return true
end

return each({32, 0}, 4, function(key, at, line)
  local lease_id, principal = ARGV[at], ARGV[at + 1]
  local header, fault = read_header(key, principal)
  if fault then return fault end
  if header and lease_id_of(header) == lease_id then
    return release_holder(key, line, header, principal)
  end
  if header and has_line(header) and not line then return LINE end

  local record = header and read(key)
  if line and release_waiter(key, line, record, lease_id, principal) then return 4 end -- two keys
  local kind = record and find_void(record, lease_id) or 'W'
  if kind == 'W' then write_void(key, record, void(lease_id, 'U', FOR_GOOD)) end
  return OUTCOMES[kind]
end)
