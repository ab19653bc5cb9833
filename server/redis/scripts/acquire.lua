#!lua
-- SPDX-License-Identifier: Apache-2.0
-- with frame.lua, record.lua, line.lua
-- Grants locks that are free, once; or lets acquires stand in line.
-- KEYS       for each lock: record (string); with two keys per lock: line (sorted set)
-- ARGV[1]    token floor (integer): no token is granted below it
-- ARGV[2]    retention (ms) of a record beyond its last point in time that matters
-- ARGV[3]    epoch (10 digits)
-- ARGV[4]    keys per lock (1 or 2)
-- ARGV[5]    beginning of the channels of daemons
-- ARGV[6]    stamp and beats that the marker of the store has to have; '': there must be no marker. Its
--            key is the last one
-- ARGV[7]    time from which on new grants are allowed (16 digits, us)
-- ARGV[8..9] earliest and latest time that this node's clock may read (16 digits, us)
-- ARGV[10..] for each lock: request (115 bytes: the columns of the record from the lease id on; with
--            hold_at_least 9 more: a space and 8 digits, ms), text (principal, owner and labels, a line
--            each), waiters that the line may have (6 digits, 0: do not wait), and behind a space its number
--            in a line that was lost
-- Returns    {now (us), then for each lock: outcome, a, b, c}
--            1 GRANTED, 2 GRANTED_AFTER_EXPIRED, if the lease before expired: token, remaining (us), terms (ms,
--            see terms_text)
--            3 CONTENTION: free by itself in (us), waiters, owner of the holder; 10 CLOSED: the same of a
--            lock that nobody holds, and that stays closed after its last lease
--            4 ENDED: lease id is void or used up, or a later attempt of it waits: 0, 0, 0
--            5 WAITS: arrival number, position, "<free by itself in (us)> <line>"
--            6 OFFERED, 7 OFFERED_AFTER_EXPIRED: token, remaining (us), "<ttl (ms)> <arrival number> <line>"
--            8 LINE_FULL: 0, 0, 0; 9 REFUSED: nothing is granted now, see ARGV[7]: 0, 0, 0
--            80 the line has to be seen; 90 record corrupt; 91 record of a newer format: 0, 0, 0
--            Or {now, 81} or {now, 82}: marker or clock are not as expected, and nothing was done
-- Errors     LOCKKEEPER_ARGUMENTS: nothing was written
-- Why        A repeat is a real write too, so that waiting for replicas means something after it.
--            It moves the keeper to the newest attempt: only that call may withdraw the grant.
--            A lock with a line is never granted past it: whoever finds it free hands it over first.

-- Records of all locks, since one command costs less than many. MGET answers nothing for a value of
-- another type: a first grant asks again.
local records = from <= #keys and redis.call('MGET', unpack(keys, from)) or {} -- one key
local seen, taken = from < #keys and {}, 0 -- one key

-- How the records begin that most acquires find: released and without a line. Texts are compared faster
-- than numbers are read.
local RELEASED = '2 R - - 000000 '

-- What the terms of the last grant (ttl, lock_delay, max_hold) came to: most of a call are the same.
local terms, told, remaining, closed_until, columns, kept_until

-- `is_new`: there should be no value of any type. `hold`: hold_at_least, false without it.
local function grant(key, is_new, last_token, previous, voids, request, text, hold)
  if hold or sub(request, 83, 108) ~= terms then
    local ttl, hold_end = number_at(request, 83, 90), hold and now + hold * 1000 or 0
    local lease_end, delay, max_hold_digits = now + ttl * 1000, 0, '0000000000000000'
    told = ttl
    if hold or sub(request, 92, 108) ~= '00000000 00000000' then
      delay = number_at(request, 92, 99)
      local max_hold = number_at(request, 101, 108)
      if max_hold > 0 then
        local max_hold_end = now + max_hold * 1000
        if max_hold_end < lease_end then lease_end = max_hold_end end
        max_hold_digits = digits(max_hold_end)
      end
      told = terms_text(ttl, delay, max_hold_digits + 0, hold_end)
    end
    remaining, closed_until = lease_end - now, max(lease_end + delay * 1000, hold_end)
    local lease_end_digits = digits(lease_end)
    local closed_digits = closed_until == lease_end and lease_end_digits or digits(closed_until)
    columns = ' ' .. lease_end_digits .. ' ' .. closed_digits .. ' ' .. now_digits .. ' ' ..
      max_hold_digits .. ' ' .. epoch .. ' '
    terms, kept_until = not hold and sub(request, 83, 108), collect_at(closed_until)
  end
  local token = next_token(last_token)
  local record = (hold and '3 H ' or '1 H ') .. previous .. ' - 000000 ' .. digits(token) .. columns .. request .. '\n' ..
    text .. voids
  local kept = token > closed_until and collect_at(token) or kept_until
  if not is_new then
    redis.call('SET', key, record, 'PXAT', kept)
  elseif not redis.call('SET', key, record, 'PXAT', kept, 'NX') then
    return CORRUPT
  end
  return previous == 'X' and 2 or 1, token, remaining, told
end

-- The lock is not to be had now.
local function contention(record, closed_for, waiters)
  if record and is_live(record) then return 3, closed_for, waiters, owner_of(record) end
  local is_only_closed = record and is_closed(record) and not runs(record, 'O')
  return is_only_closed and 10 or 3, closed_for, waiters, ''
end

-- The first number from `wished` on that nobody has. A line that goes empty may give a number again, and
-- older data brings back who had it first. Nil if there are many of them.
local function free_number(line, wished)
  for number = wished, wished + PASSED_MAX do
    if not entry_at(line, number) then return number end
  end
end

-- Brings a waiter in, or a repeat of one to its place: then the newest attempt is the one that
-- waits. `parked` is PARKED if it has the offer, else 0. One that stood in a line that was lost has its
-- `old_number` again. A new number is higher than all that were given before a loss, as a token is: in a
-- quarantine the clock may not have come that far. Answers its number; nil if a later attempt stands there.
local function stand(line, entry, known_number, parked, old_number)
  local lease_id, attempt = sub(entry, 1, 32), number_at(entry, 43, 48)
  local number = known_number
  if number then
    local standing = entry_at(line, number)
    if standing and number_at(standing, 43, 48) > attempt then return nil end
    if standing then redis.call('ZREM', line, standing) end
  else
    local last = -(score_of(line, 'n') or 0)
    number = old_number and free_number(line, old_number) or
      max(last + 1, now, token_floor, quarantine_end())
    if last == 0 then begin(line) end
    add(line, -max(last, number), 'n')
    add(line, -number, 'i' .. lease_id)
  end
  add(line, parked + number, entry)
  set_mark(line, daemon_of(entry), now + MARK_TTL)
  redis.call('PEXPIREAT', line, format('%d', now / 1000 + LINE_KEPT))
  return number
end

-- What is told of an offer besides token and time: the place that its waiter keeps until it is claimed.
local function offered_text(line, record, number)
  return format('%d %d %d', ttl_of(record), number or 0, beginning_of(line))
end

-- An offer that lapses leaves the newest attempt waiting: the place in line is that one's too.
local function repeated(key, line, record, request, text)
  if state_of(record) == 'O' then
    if not line then return LINE end
    local number = number_of(line, lease_id_of(record)) -- two keys
    if number then stand(line, request .. text, number, PARKED) end -- two keys
  end
  local attempt, known = number_at(request, 43, 48), attempt_of(record)
  local keeper = keeper_of(record)
  -- Its holder has asserted or adopted it since: this is a stale copy, whatever its attempt.
  if sub(keeper, 1, 16) == sub(HOLDER, 1, 16) then
    attempt = known
  elseif attempt > known then
    keeper = sub(request, 50, 81)
  elseif attempt == known and keeper ~= sub(request, 50, 81) then
    keeper = NOBODY
  end
  overwrite(key, ATTEMPT_AT, format('%06d %s', max(attempt, known), keeper), end_of(record))
  -- Its holder is told by this answer. Not by that to an earlier attempt: it has asked again since.
  if attempt >= known and is_only_claimed(record) then set_told(key, record) end
  local outcome = state_of(record) == 'O' and 6 or 1
  outcome = previous_of(record) == 'X' and outcome + 1 or outcome
  if state_of(record) == 'O' then -- two keys
    local number = number_of(line, lease_id_of(record)) -- two keys
    return outcome, token_of(record), lease_end_of(record) - now, offered_text(line, record, number) -- two keys
  end -- two keys
  local hold_end = hold_end_of(record)
  return outcome, token_of(record), lease_end_of(record) - now,
    terms_text(ttl_of(record), lock_delay_of(record), max_hold_end_of(record), hold_end)
end

-- The lock is not to be had now: the acquire waits, or hears who is before it.
local function wait_or_leave(key, line, record, entry, number, waiters_max, old_number)
  local lease_id = sub(entry, 1, 32)
  local closed_for = free_in(record)
  if waiters_max == 0 then
    if number then remove(line, lease_id, number) end
    return contention(record, closed_for, settle(key, line, record))
  end
  if not number and redis.call('ZCOUNT', line, '(0', WAITING_END) >= waiters_max then
    return 8, 0, 0, 0
  end
  number = stand(line, entry, number, 0, old_number)
  if not number then return 4, 0, 0, 0 end
  if not record then write_empty(key, '') end
  settle(key, line, true)
  return 5, number, redis.call('ZCOUNT', line, '(0', format('(%d', number)) + 1,
    format('%d %d', closed_for, beginning_of(line))
end

-- An acquire of a lock that may have a line, not the holder's own.
local function acquire_with_line(key, line, record, entry, waiters_max, old_number)
  local lease_id = sub(entry, 1, 32)
  local number = number_of(line, lease_id)
  local held_back = now_digits < grants_from
  if record and is_closed(record) or held_back and old_number then
    return wait_or_leave(key, line, record, entry, number, waiters_max, old_number)
  end
  if held_back then return 9, 0, 0, 0 end
  if number and not stand(line, entry, number, 0) then return 4, 0, 0, 0 end

  local offer, more = hand_over(key, line, record, daemon_of(entry), false)
  if offer and lease_id_of(offer) == lease_id then
    settle(key, line, offer)
    return previous_of(offer) == 'X' and 7 or 6, token_of(offer), lease_end_of(offer) - now,
      offered_text(line, offer, number)
  end
  if offer or more then
    return wait_or_leave(key, line, offer or record, entry, number, waiters_max, old_number)
  end
  if number then remove(line, lease_id, number) end
  local last_token, previous, voids = 0, '-', ''
  if record then last_token, previous, voids = token_of(record), retire(record) end
  local hold = asks_hold(sub(entry, 115, 115)) and sub(entry, -9, -2)
  local outcome, token =
    grant(key, false, last_token, previous, voids, sub(entry, 1, 115), sub(entry, 116), hold)
  settle(key, line, true)
  return outcome, token, remaining, told
end

return each({{115, 124}, 0, 0}, 4, function(key, at, line)
  local request, text, waiters_max = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local hold = #request > 115 and sub(request, 117)
  if hold then request, text = sub(request, 1, 115), text .. hold .. '\n' end
  -- The build makes two texts of this file, for calls with one and with two keys for each lock, and drops the
  -- lines of the other kind (cmake/link_lua.lua). So each text declares `record` once.
  taken = taken + 1 -- one key
  local record = records[taken] -- one key
  if seen then -- one key
    if seen[key] then record = redis.call('GET', key) end -- one key
    seen[key] = true -- one key
  end -- one key
  local record = redis.call('GET', key) -- two keys
  local is_new = not record
  if record == '' then record = false end
  local released = record and sub(record, 1, 15) == RELEASED and sub(record, 32, 32) == ' '
  if record and not released and not is_readable(record) then return fault_of(record) end

  local digest, known, voids_from = sub(request, 33, 41), true, 0
  if record then
    voids_from = released and short_voids_at(record) or voids_at(record)
    known = find(record, digest, voids_from, true)
    if known then
      local kind, void_attempt = find_void(record, digest, voids_from)
      if kind and number_at(request, 43, 48) <= void_attempt then return 4 end
    end
  end
  if record and not released and lease_id_of(record) == sub(request, 1, 32) then
    local principal = sub(text, 1, find(text, '\n', 1, true) - 1)
    local state = state_of(record)
    if is_restored(record) and in_quarantine() then return 9 end
    if (is_live(record) or runs(record, 'O')) and principal_is(record, principal) then
      return repeated(key, line, record, request, text)
    end
    if now_digits < grants_from and not is_current(record) and (state == 'H' or state == 'O') then
      return 9
    end
    if state ~= 'O' then return 4 end
    known = true
  end
  -- A repeat of which nothing is known: what it repeats may have been granted, and may have ended. So may
  -- another attempt of one that stood in a line that was lost. In a quarantine the data may be older than
  -- what it repeats: there it may stand. A daemon that grants nothing for another reason only refuses it.
  if not known and (sub(request, 43, 48) > '000001' or #waiters_max > 6) and not in_quarantine() and
    has_forgotten(record, voids_from) then
    if not line then return LINE end
    if not number_of(line, sub(request, 1, 32)) then -- two keys
      if now_digits < grants_from then return 9 end -- two keys
      write_void(key, record, digest .. 'U') -- two keys
      settle(key, line, true) -- two keys
      return 4 -- two keys
    end -- two keys
  end

  if line then -- two keys
    local old_number = #waiters_max > 6 and sub(waiters_max, 8) + 0 -- two keys
    return acquire_with_line(key, line, record, request .. text, sub(waiters_max, 1, 6) + 0, old_number) -- two keys
  end -- two keys
  local last_token, previous, voids = 0, '-', ''
  if record then
    if not released then
      if has_line(record) then return LINE end
      local closed_for = closed_until_of(record) - now
      if closed_for > 0 and is_current(record) then
        if waiters_max ~= '000000' then return LINE end
        return contention(record, closed_for, 0)
      end
      local how, list = retire(record)
      previous, voids = how, list
    else
      voids = rest_of(record, voids_from)
    end
    last_token = token_of(record)
  end
  if now_digits < grants_from then return #waiters_max > 6 and LINE or 9 end
  return grant(key, is_new, last_token, previous, voids, request, text, hold)
end)
