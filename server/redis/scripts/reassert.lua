#!lua flags=allow-oom
-- SPDX-License-Identifier: Apache-2.0
-- with frame.lua, record.lua, line.lua
-- Takes leases back that were proved to have been granted, while a quarantine runs. One that was taken back
-- is extended, also after the quarantine. Restores leases that a daemon has told its clients of: until their
-- ends, which a proof may put off.
-- KEYS       for each lock: record (string), line (sorted set)
-- ARGV[1]    token floor (integer), not used
-- ARGV[2]    retention (ms) of a record beyond its last point in time that matters
-- ARGV[3]    epoch (10 digits)
-- ARGV[4]    keys per lock (2)
-- ARGV[5]    beginning of the channels of daemons, not used
-- ARGV[6]    stamp and beats that the marker of the store has to have; '': there must be no marker. Its
--            key is the last one
-- ARGV[7]    time from which on new grants are allowed (16 digits, us), not used
-- ARGV[8..9] earliest and latest time that this node's clock may read (16 digits, us)
-- ARGV[10..] for each lock: lease id and digest (41 digits), token (16 digits), ttl (8 digits, ms),
--            lock_delay (8 digits, ms), end by max_hold (16 digits, us, 0: none), end of the lease that
--            is proved (16 digits, us), end by hold_at_least (16 digits, us, 0: none), all three in
--            service time, principal, keeper that the lease gets (32 digits, '': none), and for a lease that is
--            restored what is left of it (us, below 0: it is over, and lock_delay or hold_at_least keep the
--            lock closed), else ''
-- Returns    {now (us), then for each lock: outcome, a, b, c}
--            1 HELD_AGAIN, or restored: token, remaining (us), terms (ms, see terms_text)
--            3 LOST; 90 record corrupt; 91 record of a newer format: 0, 0, 0
--            Or {now, 81} or {now, 82}: marker or clock are not as expected, and nothing was done
-- Errors     LOCKKEEPER_ARGUMENTS: nothing was written
-- Why        The daemon has checked the proof: this lease was granted with this token, and ran until this
--            end. One that has ended since is not revived. How far this node's clock is ahead of service
--            time says the marker: what the daemon knew may be old when the script runs. Of several the
--            highest token wins, and what is known to have ended stays ended. The attempt is
--            forgotten, so nobody can tell a stale copy of its acquire from a retry: no call may
--            withdraw a lease that its holder has asserted, nor become its keeper.

-- A point in service time by this node's clock.
local function by_node(time) return time + clock_offset_of(marker) end

-- Whether the record speaks against a lease with this token. That a lease of this acquire expired, or was forced,
-- says nothing of a later one: the record may be older data, and another attempt got a lease after a loss.
local function is_against(record, who, token)
  local known, void_kind = token_of(record), void_in(record, sub(who, 33))
  if void_kind and not find('WPXF', void_kind, 1, true) then return true end
  if sub(record, 112, 152) ~= who then
    return known > token or known == token and void_kind ~= 'P'
  end
  if sub(record, 154, 159) == FOR_GOOD then return true end
  -- Another attempt of this acquire: one that was withdrawn, before this one or after.
  if known ~= token then return known > token end
  if is_current(record) and not is_restored(record) then return not runs(record, 'H') end
  local state = state_of(record)
  return state ~= 'H' and state ~= 'O'
end

-- What of a text comes before the line of hold_at_least: principal, owner and labels.
local function three_lines(text)
  local _, last = find(text, '^[^\n]*\n[^\n]*\n[^\n]*\n')
  return sub(text, 1, last)
end

return each({41, 16, 8, 8, 16, 16, 16, 0, 0, 0}, 4, function(key, at, line)
  local who, token, ttl = ARGV[at], ARGV[at + 1] + 0, ARGV[at + 2] + 0
  local lock_delay, max_hold_end, hold_end = ARGV[at + 3] + 0, ARGV[at + 4] + 0, ARGV[at + 6] + 0
  local principal, keeper, left = ARGV[at + 7], ARGV[at + 8], tonumber(ARGV[at + 9])
  local record, fault = read(key)
  if fault then return fault end
  if record and is_against(record, who, token) then return 3 end
  local is_its = record and sub(record, 112, 152) == who and token_of(record) == token and is_current(record)
  -- It has been taken back already: its holder has shown the proof twice, or before a daemon restored it.
  local is_back = is_its and is_live(record)
  if left then
    if not in_quarantine() then return 3 end
  elseif not is_back and (not in_quarantine() or by_node(ARGV[at + 5]) <= now) then
    return 3
  end
  if keeper == '' then keeper = is_back and keeper_of(record) or HOLDER end

  if max_hold_end > 0 then max_hold_end = by_node(max_hold_end) end
  if hold_end > 0 then hold_end = by_node(hold_end) end
  local lease_end = now + (left or ttl * 1000)
  if not left and max_hold_end > 0 and max_hold_end < lease_end then lease_end = max_hold_end end
  local text, voids = principal .. '\n\n\n', ''
  if record then
    voids = rest_of(record, voids_at(record))
    if lease_id_of(record) == sub(who, 1, 32) and principal_is(record, principal) then
      text = three_lines(sub(record, TEXT_AT, voids_at(record) - 1))
    end
    if is_its then lease_end = max(lease_end, lease_end_of(record)) end
  end
  -- It may have been told by another clock: an extend must not shorten the lease.
  if max_hold_end > 0 then max_hold_end = max(max_hold_end, lease_end) end
  local closed_until = max(lease_end + lock_delay * 1000, hold_end)
  if (left and closed_until or lease_end) <= now then return 3 end
  -- An older line may have it back as a waiter.
  local number = number_of(line, sub(who, 1, 32))
  if number then remove(line, sub(who, 1, 32), number) end
  local form, claim, acquired = '1', 'D', now
  if hold_end > now then
    -- In whole milliseconds: it counts from so much before now that its end stays.
    local hold = math.ceil((hold_end - now) / 1000)
    form, claim, acquired, text = '3', 'd', hold_end - hold * 1000, text .. format('%08d\n', hold)
  end
  if left and not (is_back and not is_restored(record)) then claim = 'U' end
  write(key, format('%s H - - 000000 %016d %016d %016d %016d %016d %s ', form, token, lease_end,
    closed_until, acquired, max_hold_end, epoch) .. who .. ' 000000 ' .. keeper ..
    format(' %08d %08d 00000000 %04d %s\n', ttl, lock_delay, #text, claim) .. text .. voids,
    max(token, closed_until))
  settle(key, line, true)
  return 1, token, lease_end - now, terms_text(ttl, lock_delay, max_hold_end, hold_end)
end)
