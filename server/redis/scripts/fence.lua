#!lua flags=allow-oom
-- SPDX-License-Identifier: Apache-2.0
-- with frame.lua, record.lua
-- Compares tokens with the newest ones of their locks. Writes nothing.
-- KEYS       for each lock: record (string)
-- ARGV[1]    token floor (integer), not used
-- ARGV[2]    retention (ms), not used
-- ARGV[3]    epoch (10 digits)
-- ARGV[4]    keys per lock (1)
-- ARGV[5]    beginning of the channels of daemons, not used
-- ARGV[6]    stamp and beats that the marker of the store has to have; '': there must be no marker. Its
--            key is the last one
-- ARGV[7]    time from which on new grants are allowed (16 digits, us)
-- ARGV[8..9] earliest and latest time that this node's clock may read (16 digits, us)
-- ARGV[10..] for each lock: token (integer), liveness (1: the lease has to be live, else 0)
-- Returns    {now (us), then for each lock: outcome, newest token}
--            1 ADMITTED; 2 STALE; 3 OVER: the newest, but its lease is over; 4 UNKNOWN token
--            90 record corrupt; 91 record of a newer format
--            Or {now, 81} or {now, 82}: marker or clock are not as expected, and nothing was done
-- Errors     LOCKKEEPER_ARGUMENTS
-- Why        A lease that was granted before a loss and not re-asserted since is nobody's: its lock may
--            have been granted further, which was forgotten too. Not declared as no-writes: a replica or an isolated primary must refuse it. The token
--            of a forced release is nobody's: it only makes the older ones stale.

-- Whether the newest lease was granted, or asserted, in this epoch. One that was only restored may have been
-- released, and its lock granted further.
local function is_of_epoch(record)
  if not is_short(record) then return is_current(record) and not is_restored(record) end
  return sub(record, 33, (find(record, ' ', 33, true) or 0) - 1) + 0 == epoch + 0
end

return each({0, 1}, 2, function(key, at)
  local token, liveness = tonumber(ARGV[at]), ARGV[at + 1]
  local record = read_header(key, '')
  if record == '' then return 4, 0 end
  if not is_readable(record) then return fault_of(record) end

  local newest, state = token_of(record), state_of(record)
  if token < newest then return 2, newest end
  if token > newest or state == 'F' or state == 'N' or not is_of_epoch(record) then return 4, newest end
  if liveness == '1' and not is_live(record) then return 3, newest end
  return 1, newest
end)
