-- SPDX-License-Identifier: Apache-2.0
-- The line of waiters of a lock, in front of the scripts that may see it. It is a sorted set with
-- these members:
--
--   <request><text>  a waiter, as acquire.lua takes it. Score: its arrival number, which is the time
--                    of its arrival made unique, and higher than any of a line that was lost; PARKED +
--                    number while it is passed over, or offered the lock. Behind the text, if it was
--                    set aside, the time of that (16 digits)
--   i<lease id>      where a lease id stands. Score: -number
--   d<daemon id>     liveness mark of a daemon. Score: -time until which it is taken for alive
--   n, g, e          the highest number given, when the line began, and in which epoch. Score: -number,
--                    -time, -epoch. Another beginning is another line: the old one was lost. So it begins
--                    again in each epoch: older data may lack some of its waiters
--
-- A hand-over offers the lock to the first waiter whose daemon lives. The offered waiter is parked
-- until it claims, so that an offer that lapses, a pause, a drain and a crash are one case: the
-- waiter's daemon, if it lives again, puts it back in its place. One whose client was told of an offer
-- and did not claim it is set aside when its next turn comes: it stays parked until it is acquired again.
-- The key goes with the last waiter.

local PARKED, WAITING_END, PARKED_BEGIN = 4503599627370496, '(4503599627370496', '4503599627370496'
local OFFER_TTL, MARK_TTL = 1000000, 3000000 -- us
local PARKED_KEPT, LINE_KEPT = 30000000, 60000 -- us, ms
local PASSED_MAX = 64
local OFFERED, CANCELLED = 'O', 'C'

-- Daemon that a waiter's entry, or a record's keeper, names.
local function daemon_of(entry) return sub(entry, 50, 65) end
local function daemon_of_record(record) return sub(record, 161, 176) end

-- When a parked waiter was set aside; false if it was not. A text ends with a line break.
local function set_aside_at(entry) return sub(entry, -1) ~= '\n' and sub(entry, -16) + 0 end

local function add(line, score, member) redis.call('ZADD', line, format('%d', score), member) end

local function score_of(line, member)
  local score = redis.call('ZSCORE', line, member)
  return score and tonumber(score)
end

local function mark_of(line, daemon) return -(score_of(line, 'd' .. daemon) or 0) end
local function set_mark(line, daemon, until_time) add(line, -until_time, 'd' .. daemon) end

-- When the line began; 0 if there is none.
local function beginning_of(line) return -(score_of(line, 'g') or 0) end
local function is_of_this_epoch(line) return score_of(line, 'e') == -epoch end
local function begin(line)
  add(line, -now, 'g')
  add(line, -epoch, 'e')
end

-- Number of the waiter with this lease id, parked or not; nil if it does not stand in line.
local function number_of(line, lease_id)
  local score = score_of(line, 'i' .. lease_id)
  return score and -score
end

-- The waiter with this number, parked or not.
local function entry_at(line, number)
  local at = format('%d', number)
  local entry = redis.call('ZRANGEBYSCORE', line, at, at)[1]
  if entry then return entry end
  at = format('%d', PARKED + number)
  return redis.call('ZRANGEBYSCORE', line, at, at)[1]
end

local function remove(line, lease_id, number)
  local entry = entry_at(line, number)
  if entry then redis.call('ZREM', line, entry, 'i' .. lease_id) end
  return entry
end

-- Puts what the record says of its line right, and removes an empty line. `record` is false if there
-- is none. A record is kept as long as its line: a lock without one would be granted past its
-- waiters.
local function settle(key, line, record)
  local waiters = redis.call('ZCOUNT', line, '(0', WAITING_END)
  local columns = format('L %06d', waiters)
  if waiters == 0 and redis.call('ZCOUNT', line, PARKED_BEGIN, '+inf') == 0 then
    redis.call('DEL', line)
    columns = '- 000000'
  elseif record and redis.call('PTTL', key) <= LINE_KEPT then
    redis.call('PEXPIREAT', key, format('%d', now / 1000 + LINE_KEPT + 1000))
  end
  if record then redis.call('SETRANGE', key, LINE_AT, columns) end
  return waiters
end

-- Tells the daemon of a waiter. False if that daemon is gone.
local function tell(daemon, kind, lease_id, what, key)
  return redis.call('PUBLISH', channel .. daemon, kind .. lease_id .. ' ' .. what .. ' ' .. key) > 0
end

-- What a daemon needs to know of an offer: its token, what is left of it (us), the ttl that a claim
-- gives (ms), whether the lease before expired, and the attempt and the keeper that may decline it.
local function offer_text(record)
  return format('%d %d %d %s %d %s', token_of(record), max(lease_end_of(record) - now, 0),
    ttl_of(record), previous_of(record), attempt_of(record), keeper_of(record))
end

-- The first waiter that may be offered the lock, and its number. One whose lease has ended leaves: the line had
-- been lost when it got the lease, and came back, because the clock was set back past the line's expiry. In a
-- damaged line it may have no digest, of which a search would never end, or a number under which nobody stands.
local function first_waiter(line, voids)
  while true do
    local first = redis.call('ZRANGEBYSCORE', line, '(0', WAITING_END, 'WITHSCORES', 'LIMIT', 0, 1)
    local entry = first[1]
    local digest = entry and sub(entry, 33, 41)
    if not digest or digest == '' or not is_void_for_good(voids, digest) then return entry, first[2] end
    redis.call('ZREM', line, entry, 'i' .. sub(entry, 1, 32))
  end
end

-- Offers a lock that can be granted to the first waiter whose daemon lives. Answers the record of
-- the offer; or false, and whether there are more to pass over than one call may. `asking` is the
-- daemon that runs the script, if that is known; `is_told`, whether the reply tells it of the offer, so
-- that it needs no message.
local function hand_over(key, line, record, asking, is_told)
  local last_token, previous, voids = 0, '-', ''
  if record then
    last_token, previous, voids = token_of(record), retire(record)
    -- Its daemon should have claimed at once, so it is stuck: it delays the line only once. Unless it
    -- is the one that asks: then it lives again. Or the offer was of an earlier epoch: then it could not.
    local daemon = daemon_of_record(record)
    if state_of(record) == 'O' and find('Dd', claim_of(record), 1, true) and daemon ~= asking and
      is_current(record) then
      set_mark(line, daemon, now)
    end
  end
  for _ = 1, PASSED_MAX do
    local entry, number = first_waiter(line, voids)
    if not entry then return false, false end
    local daemon = daemon_of(entry)
    add(line, PARKED + number, entry)
    if mark_of(line, daemon) > now then
      local token, offer_end = next_token(last_token), now + OFFER_TTL
      local form = asks_hold(sub(entry, 115, 115)) and '3' or '1'
      local offer = format('%s O %s L 000000 %016d %016d %016d %016d %016d %s ', form, previous, token,
        offer_end, offer_end, now, 0, epoch) .. sub(entry, 1, 115) .. '\n' .. sub(entry, 116) .. voids
      local knows = is_told and daemon == asking
      if knows or tell(daemon, OFFERED, sub(entry, 1, 32), offer_text(offer), key) then
        write(key, offer, max(token, offer_end))
        return offer, false
      end
      set_mark(line, daemon, now)
    end
  end
  return false, redis.call('ZCOUNT', line, '(0', WAITING_END) > 0
end

-- Hands over after the lease in `record` was ended by the caller; the record is written already.
-- Answers 1 if the hand-over has to go on in another call, else 0. `asking` as in hand_over.
local function hand_over_ended(key, line, asking)
  local record = read(key)
  if not record or free_in(record) > 0 then
    settle(key, line, record)
    return 0
  end
  local offer, more = hand_over(key, line, record, asking)
  settle(key, line, offer or record)
  return more and 1 or 0
end
