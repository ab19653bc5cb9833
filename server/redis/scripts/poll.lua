#!lua flags=allow-oom
-- SPDX-License-Identifier: Apache-2.0
-- with frame.lua, record.lua, line.lua
-- Keeps a daemon's waiters in line and finds what messages have lost.
-- KEYS       for each lock: record (string), line (sorted set)
-- ARGV[1]    token floor (integer), for the next in line
-- ARGV[2]    retention (ms) of a record beyond its last point in time that matters
-- ARGV[3]    epoch (10 digits)
-- ARGV[4]    keys per lock (2)
-- ARGV[5]    beginning of the channels of daemons
-- ARGV[6]    stamp and beats that the marker of the store has to have; '': there must be no marker. Its
--            key is the last one
-- ARGV[7]    time from which on new grants are allowed (16 digits, us)
-- ARGV[8..9] earliest and latest time that this node's clock may read (16 digits, us)
-- ARGV[10..] for each lock: daemon (16 digits), mode (W: has waiters, L: leaves its waiters parked,
--            H: has none, only hands over), line that its waiters stand in (16 digits, 0: none),
--            number from which on the daemon's parked waiters go back (16 digits, 0: they do not)
-- Returns    {now (us), then for each lock: outcome, a, b, c}
--            1 IN_LINE: free by itself in (us), waiters, offer to this daemon (lease id and text) or ''
--            2 PARKED: the same, and waiters are parked, perhaps this daemon's: they should go back
--            3 MORE_PARKED: the same, and there are more parked waiters to go through: b is the next number
--            4 LOST: its waiters have to stand again: 0, 0, ''
--            90 record corrupt; 91 record of a newer format
--            Or {now, 81} or {now, 82}: marker or clock are not as expected, and nothing was done
-- Errors     LOCKKEEPER_ARGUMENTS: nothing was written
-- Why        Messages are hints. Whatever one told is here again, for whoever asks.

-- Puts the parked waiters of a daemon back in their places, except the one that has the offer, and those
-- that were set aside.
-- Answers where to go on, or 0.
local function unpark(line, daemon, offered, from)
  local parked = redis.call('ZRANGEBYSCORE', line, format('%d', PARKED + from), '+inf', 'WITHSCORES',
    'LIMIT', 0, PASSED_MAX)
  for i = 1, #parked, 2 do
    local entry = parked[i]
    if daemon_of(entry) == daemon and sub(entry, 1, 32) ~= offered and not set_aside_at(entry) then
      add(line, parked[i + 1] - PARKED, entry)
    end
  end
  if #parked < PASSED_MAX * 2 then return 0 end
  return parked[#parked] - PARKED + 1
end

-- Whether waiters are parked besides the one that has the offer.
local function has_parked(line, offered)
  local parked = redis.call('ZCOUNT', line, PARKED_BEGIN, '+inf')
  return parked > 1 or parked == 1 and offered == ''
end

-- Removes the parked waiters that come first if they were set aside, or their daemons have been dead, for
-- long.
local function forget_dead(line, offered)
  local parked = redis.call('ZRANGEBYSCORE', line, PARKED_BEGIN, '+inf', 'LIMIT', 0, PASSED_MAX)
  for i = 1, #parked do
    local entry = parked[i]
    local heard_of = set_aside_at(entry) or mark_of(line, daemon_of(entry))
    if heard_of + PARKED_KEPT > now or sub(entry, 1, 32) == offered then
      return
    end
    redis.call('ZREM', line, entry, 'i' .. sub(entry, 1, 32))
  end
end

-- Whether the places of this daemon's waiters may have been forgotten: it has not been heard of for so long.
local function is_forgotten(line, daemon) return mark_of(line, daemon) + PARKED_KEPT <= now end

return each({16, 1, 16, 16}, 4, function(key, at, line)
  local daemon, mode = ARGV[at], ARGV[at + 1]
  local known_line, from = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local record, fault = read(key)
  if fault then return fault, 0, 0, '' end
  local began = beginning_of(line)
  if began > 0 and not is_of_this_epoch(line) then
    begin(line)
    began = now
  end
  if mode == 'W' and (began == 0 or began ~= known_line or is_forgotten(line, daemon)) then return 4, 0, 0, '' end
  if began == 0 then return 1, 0, 0, '' end

  local outcome, go_on = 1, 0
  local offered = record and runs(record, 'O') and lease_id_of(record) or ''
  if mode == 'W' then
    set_mark(line, daemon, now + MARK_TTL)
    redis.call('PEXPIREAT', line, format('%d', now / 1000 + LINE_KEPT))
    if from > 0 then go_on = unpark(line, daemon, offered, from) end
  elseif mode == 'L' then
    set_mark(line, daemon, now)
  end
  forget_dead(line, offered)
  if free_in(record) == 0 then
    record = hand_over(key, line, record, mode ~= 'L' and daemon, mode == 'W') or record
  end
  local waiters = settle(key, line, record)
  local offer = ''
  offered = record and runs(record, 'O') and lease_id_of(record) or ''
  if offered ~= '' and daemon_of_record(record) == daemon then
    offer = offered .. ' ' .. offer_text(record)
  end
  local closed_for = free_in(record)
  if go_on > 0 then return 3, closed_for, go_on, offer end
  if mode == 'W' and from == 0 and has_parked(line, offered) then outcome = 2 end
  return outcome, closed_for, waiters, offer
end)
