#!lua
-- SPDX-License-Identifier: Apache-2.0
-- with record.lua, line.lua
-- Grants locks that are free, once; or lets acquires stand in line.
-- KEYS       for each lock: record (string); with two keys per lock: line (sorted set)
-- ARGV[1]    token floor (integer): no token is granted below it
-- ARGV[2]    retention (ms) of a record beyond its last point in time that matters
-- ARGV[3]    epoch (10 digits)
-- ARGV[4]    keys per lock (1 or 2)
-- ARGV[5]    beginning of the channels of daemons
-- ARGV[6..]  for each lock: request (106 bytes: the columns of the record from the lease id on), text
--            (principal, owner and labels, a line each), waiters that the line may have (6 digits,
--            0: do not wait)
-- Returns    {now (us), then for each lock: outcome, a, b, c}
--            1 granted, 2 granted after a lease that expired: token, remaining (us), ttl (ms)
--            3 contention: free by itself in (us), waiters, owner of the holder
--            4 lease id is void or used up, or a later attempt of it waits: 0, 0, 0
--            5 waits: arrival number, position, free by itself in (us)
--            6 offered, 7 offered after a lease that expired: token, remaining (us), ttl (ms)
--            8 the line is full: 0, 0, 0
--            80 the line has to be seen; 90 record corrupt; 91 record of a newer format: 0, 0, 0
-- Errors     LOCKKEEPER_ARGUMENTS: nothing was written
-- Why        A repeat is a real write too, so that waiting for replicas means something after it.
--            It moves the keeper to the newest attempt: only that call may withdraw the grant.
--            A lock with a line is never granted past it: whoever finds it free hands it over first.

local function repeated(key, record, request)
  local attempt, known = number_at(request, 34, 39), attempt_of(record)
  local keeper = keeper_of(record)
  if attempt > known then
    keeper = sub(request, 41, 72)
  elseif attempt == known and keeper ~= sub(request, 41, 72) then
    keeper = NOBODY
  end
  overwrite(key, ATTEMPT_AT, format('%06d %s', max(attempt, known), keeper), end_of(record))
  local outcome = state_of(record) == 'O' and 6 or 1
  return previous_of(record) == 'X' and outcome + 1 or outcome, token_of(record),
    lease_end_of(record) - now, ttl_of(record)
end

-- `voids` and `ended` are the void list that the new record gets.
local function grant(key, last_token, previous, voids, ended, request, text)
  local token = next_token(last_token)
  local ttl, delay, max_hold = number_at(request, 74, 81), 0, 0
  if sub(request, 83, 99) ~= '00000000 00000000' then
    delay, max_hold = number_at(request, 83, 90), number_at(request, 92, 99)
  end
  local lease_end, max_hold_digits = now + ttl * 1000, '0000000000000000'
  if max_hold > 0 then
    local max_hold_end = now + max_hold * 1000
    if max_hold_end < lease_end then lease_end = max_hold_end end
    max_hold_digits = digits(max_hold_end)
  end
  local closed_until, lease_end_digits = lease_end + delay * 1000, digits(lease_end)
  local closed_digits = delay == 0 and lease_end_digits or digits(closed_until)
  write(key, '1 H ' .. previous .. ' - 000000 ' .. digits(token) .. ' ' .. lease_end_digits .. ' ' ..
    closed_digits .. ' ' .. now_digits .. ' ' .. max_hold_digits .. ' ' .. epoch .. ' ' .. request ..
    '\n' .. text .. voids .. ended, max(token, closed_until))
  return previous == 'X' and 2 or 1, token, lease_end - now, ttl
end

-- Brings a waiter in, or a repeat of one to its place: then the newest attempt is the one that
-- waits. Answers its number; nil if a later attempt stands there.
local function stand(line, entry, known_number)
  local lease_id, attempt = sub(entry, 1, 32), number_at(entry, 34, 39)
  local number = known_number
  if number then
    local standing = entry_at(line, number)
    if standing and number_at(standing, 34, 39) > attempt then return nil end
    if standing then redis.call('ZREM', line, standing) end
  else
    number = max(-(score_of(line, 'n') or 0) + 1, now)
    if not score_of(line, 'g') then add(line, -number, 'g') end
    add(line, -number, 'n')
    add(line, -number, 'i' .. lease_id)
  end
  add(line, number, entry)
  set_mark(line, daemon_of(entry), now + MARK_TTL)
  redis.call('PEXPIREAT', line, format('%d', now / 1000 + LINE_KEPT))
  return number
end

-- The lock is not to be had now: the acquire waits, or hears who is before it.
local function wait_or_leave(key, line, record, entry, number, waiters_max)
  local lease_id = sub(entry, 1, 32)
  local closed_for = record and max(closed_until_of(record) - now, 0) or 0
  if waiters_max == 0 then
    if number then remove(line, lease_id, number) end
    local waiters = settle(key, line, record)
    return 3, closed_for, waiters, record and is_live(record) and owner_of(record) or ''
  end
  if not number and redis.call('ZCOUNT', line, '(0', WAITING_END) >= waiters_max then
    return 8, 0, 0, 0
  end
  number = stand(line, entry, number)
  if not number then return 4, 0, 0, 0 end
  settle(key, line, record)
  return 5, number, redis.call('ZCOUNT', line, '(0', format('(%d', number)) + 1, closed_for
end

-- An acquire of a lock that may have a line, not the holder's own.
local function acquire_with_line(key, line, record, entry, waiters_max)
  local lease_id = sub(entry, 1, 32)
  local number = number_of(line, lease_id)
  if record and closed_until_of(record) > now then
    return wait_or_leave(key, line, record, entry, number, waiters_max)
  end
  if number and not stand(line, entry, number) then return 4, 0, 0, 0 end

  local offer, more = hand_over(key, line, record)
  if offer and lease_id_of(offer) == lease_id then
    settle(key, line, offer)
    return previous_of(offer) == 'X' and 7 or 6, token_of(offer), lease_end_of(offer) - now,
      ttl_of(offer)
  end
  if offer or more then
    return wait_or_leave(key, line, offer or record, entry, number, waiters_max)
  end
  if number then remove(line, lease_id, number) end
  local last_token, previous, voids, ended = 0, '-', '', ''
  if record then
    last_token, previous, voids, ended = token_of(record), retire(record, lease_id)
  end
  local outcome, token, remaining, ttl =
    grant(key, last_token, previous, voids, ended, sub(entry, 1, 106), sub(entry, 107))
  settle(key, line, true)
  return outcome, token, remaining, ttl
end

return each({106, 0, 6}, 4, function(key, at, line)
  local request, text = ARGV[at], ARGV[at + 1]
  local record, fault = read(key)
  if fault then return fault end

  local lease_id = sub(request, 1, 32)
  if record and lease_id_of(record) == lease_id then
    local principal = sub(text, 1, find(text, '\n', 1, true) - 1)
    local state = state_of(record)
    if (is_live(record) or runs(record, 'O')) and principal_is(record, principal) then
      return repeated(key, record, request)
    end
    local withdrawn = state == 'W' and number_at(request, 34, 39) > attempt_of(record)
    if not withdrawn and state ~= 'O' then return 4 end
  elseif record then
    local kind, void_attempt = find_void(record, lease_id)
    if kind and number_at(request, 34, 39) <= void_attempt then return 4 end
  end

  local waiters_max = ARGV[at + 2]
  if line then -- two keys
    return acquire_with_line(key, line, record, request .. text, tonumber(waiters_max)) -- two keys
  end -- two keys
  if not record then return grant(key, 0, '-', '', '', request, text) end
  if has_line(record) then return LINE end
  local closed_until = closed_until_of(record)
  if closed_until > now then
    if tonumber(waiters_max) > 0 then return LINE end
    return 3, closed_until - now, 0, is_live(record) and owner_of(record) or ''
  end
  local previous, voids, ended = retire(record, lease_id)
  return grant(key, token_of(record), previous, voids, ended, request, text)
end)
