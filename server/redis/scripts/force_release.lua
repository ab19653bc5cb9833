#!lua flags=allow-oom
-- SPDX-License-Identifier: Apache-2.0
-- with frame.lua, record.lua, line.lua
-- Ends leases without their holders, for an administrator, and raises the tokens.
-- KEYS       for each lock: record (string); with two keys per lock: line (sorted set)
-- ARGV[1]    token floor (integer): no token is raised to less
-- ARGV[2]    retention (ms) of a record beyond its last point in time that matters
-- ARGV[3]    epoch (10 digits)
-- ARGV[4]    keys per lock (1 or 2)
-- ARGV[5]    beginning of the channels of daemons
-- ARGV[6]    stamp and beats that the marker of the store has to have; '': there must be no marker. Its
--            key is the last one
-- ARGV[7]    time from which on new grants are allowed (16 digits, us)
-- ARGV[8..9] earliest and latest time that this node's clock may read (16 digits, us)
-- ARGV[10..] for each lock: delay (0: free at once, 1: closed for the rest of the lease)
-- Returns    {now (us), then for each lock: outcome, token, closed for (us), lease id and owner}
--            1 ENDED: lease id and owner of the lease; 2 NOTHING: there was nothing to end; 3 OPENED: it was
--            only closed
--            80 the line has to be seen; 90 record corrupt; 91 record of a newer format
--            Or {now, 81} or {now, 82}: marker or clock are not as expected, and nothing was done
-- Errors     LOCKKEEPER_ARGUMENTS: nothing was written
-- Why        The holder does not know yet: the lock stays closed as long as it may believe in its
--            lease, and until its lock_delay and hold_at_least are over, unless the administrator knows
--            better. An offer is no lease: it is left alone. A lease that was released stays released: the next
--            one is not told that it expired.

return each({1}, 4, function(key, at, line)
  local delay = ARGV[at]
  local record, fault = read(key)
  if fault then return fault, 0, 0, '' end
  if not record or state_of(record) == 'O' then return 2, 0, 0, '' end

  local closed_until, live = closed_until_of(record), is_live(record)
  if not live and (closed_until <= now or delay == '1') then
    return 2, token_of(record), max(closed_until - now, 0), ''
  end
  if has_line(record) and not line then return LINE, 0, 0, '' end
  local token = next_token(token_of(record))
  if delay == '0' then closed_until = 0 end
  if state_of(record) == 'R' then
    write(key, '2 N - ' .. sub(record, 7, 15) .. digits(token) .. ' ' .. epoch_of(record) ..
      sub(record, voids_at(record)), token)
    if line then hand_over_ended(key, line) end
    return 3, token, 0, ''
  end
  overwrite(key, STATE_AT, 'F' .. sub(record, 4, 15) ..
    format('%016d %016d %016d', token, now, closed_until), max(token, closed_until))
  if line then hand_over_ended(key, line) end
  if not live then return 3, token, max(closed_until - now, 0), '' end
  return 1, token, max(closed_until - now, 0), lease_id_of(record) .. owner_of(record)
end)
