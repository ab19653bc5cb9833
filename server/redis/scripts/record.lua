-- SPDX-License-Identifier: Apache-2.0
--
-- The lock record and what all scripts share. The build puts this text behind the `#!lua` line of
-- each script; it is no script of its own. docs/reference/record.md shows a record and its columns.
--
-- A record is a string: a header of fixed columns, then principal, owner and labels, a line each,
-- then the void list, then the former holders. Points in time are microseconds of this node's clock,
-- durations milliseconds. Of a lock without a lease or an offer only the first columns are kept: format 2,
-- below. The build makes the columns of C++ of this list (`column::kToken`), counted from 1.
--
--     1 format     3 state      5 previous   7 line         9- 14 waiters    16- 31 token
--    33- 48 lease end          50- 65 closed until         67- 82 acquired   84- 99 max_hold end
--   101-110 epoch             112-143 lease id            145-152 digest    154-159 attempt
--   161-192 keeper            194-201 ttl                 203-210 lock_delay
--   212-219 max_hold          221-224 text bytes          226 claim
--
--   state     H held (until its lease end), O offered, F forced
--   previous  X if the lease before this one ended without a release, or may have, else -
--   line      L if the lock may have a line, else -; waiters: those in it whose daemon lives
--   digest    of the lease id, made by the daemon (lock_record.cc)
--   claim     how an offer is claimed: D by the daemon; by the client C, or with min_assurance K (DISK) or
--             R (REPLICAS). K and R become L and S by the claim, and C when the holder is told next. In
--             lower case if hold_at_least is asked. U: a daemon has restored the lease after a loss, and
--             its holder has not extended it since
--   closed until: nobody is granted the lock before this time
--
-- Format 3 is format 1 of a lease or an offer with hold_at_least: its text has a fourth line, hold_at_least
-- in eight digits (ms), which counts from the column acquired. It has one more state, R: released, while
-- hold_at_least keeps the lock closed.
--
-- Format 2 has the columns 1 to 31, a space, the epoch without leading zeros, the void list and the former
-- holders. Its states: R released, W withdrawn or declined; N if no lease is known.
--
-- An entry of the void list: a space, the digest of the lease id, and how it ended (R X F W, or U:
-- unknown, but refused from now on). Behind W, in six digits, the highest attempt that is void. P is a W
-- that was written in a quarantine, of an earlier epoch: a proof counts more than it. The others
-- are void for good, and so is FOR_GOOD, which is beyond every attempt. Of two ids with one digest,
-- which chance makes once in 2^48, one is refused as void though it is not: a client takes another.
--
-- A list that has grown to VOIDS_BYTES gets a mark, ' :' and the time in seconds, and goes on. At the next
-- mark what stands before the mark before falls out: then the list begins with a mark, and everything
-- that ended later is on it. A repeat that is not on such a list may have had a lease that has ended and
-- fallen out.
--
-- A former holder, the newest last: '\n', how its lease ended (R X F), its token, how many ms after that the
-- lease ended, ';' and the beginning of its owner. There is no space and no colon in it: then a version that
-- knows of no former holders takes them for a part of the void list and does no harm. The first lease of a
-- record, when it was released, leaves how and token to the columns, and what is beyond FIRST_FORMER_BYTES out:
-- so a name that is locked once costs no more than 200 bytes. Those beyond FORMER_BYTES fall out, and one who
-- released after less than FORMER_HELD is left out, but for one whose hold_at_least kept the lock closed.
--
-- What a script costs: Redis makes its functions anew in each call, hashes every byte of every string
-- that Lua makes, and prints numbers given to a command slowly. Hence the short list; hence scripts
-- that need the header only read and write only that, and numbers are read once and given as texts;
-- and hence one-line functions and constants are written into their callers by cmake/link_lua.lua.

local TEXT_AT, VOID_LENGTH, VOIDS_BYTES = 228, 10, 62
local FORMER_BYTES, FORMER_OWNER_BYTES, FIRST_FORMER_BYTES = 180, 32, 16
-- A lease that was held for less (us) leaves no former holder: the entry costs more than what it tells.
local FORMER_HELD = 100000
-- For how long (us) the repeat of an acquire is told that its lease has ended. A mark is in whole seconds.
local RETRY_WINDOW = 61000000
local TOKEN_MAX = 9007199254740991
local FOR_GOOD, NOBODY = '999999', '00000000000000000000000000000000'
-- Keeper of a lease that its holder has asserted. No call has it, and none takes it over. The same goes
-- for that of a session that has adopted a lease, which begins like it.
local HOLDER = 'ffffffffffffffffffffffffffffffff'
local SHORT = '^2 [RWN] [X-] [L-] %d%d%d%d%d%d %d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d %d'
-- What every script may answer for an operation; GUARD and OLDER for a whole call, which has done nothing.
-- The build makes the constants of C++ of these lines (`kOutcomeLine`).
local LINE = 80 -- The operation needs the line: the operation queue sends it again with the line's key.
local GUARD = 81 -- The marker or the node's clock is not as the daemon's guard expects.
local OLDER = 82 -- The marker has fewer beats than the daemon has seen.
local CORRUPT = 90 -- The record cannot be read.
local FORMAT_TOO_NEW = 91 -- The record has a newer format.
-- Where SETRANGE overwrites: the column before.
local STATE_AT, LINE_AT, LEASE_END_AT, ATTEMPT_AT, KEEPER_AT, CLAIM_AT = '2', '6', '32', '153', '160', '225'

-- Sixteen digits of a point in time or a token.
local function digits(n) return n == now and now_digits or format('%016d', n) end

local function number_at(text, first, last) return sub(text, first, last) + 0 end

-- Whether only the first columns are there.
local function is_short(record) return sub(record, 1, 2) == '2 ' end

-- The columns. A bad record raises an error where its number is used.
local function state_of(record) return sub(record, 3, 3) end
local function previous_of(record) return sub(record, 5, 5) end
local function token_of(record) return sub(record, 16, 31) + 0 end
local function lease_end_of(record) return sub(record, 33, 48) + 0 end
local function acquired_of(record) return sub(record, 67, 82) + 0 end
local function closed_until_of(record) return is_short(record) and 0 or sub(record, 50, 65) + 0 end
local function max_hold_of(record) return sub(record, 212, 219) + 0 end
local function max_hold_end_of(record) return sub(record, 84, 99) + 0 end
local function lease_id_of(record) return sub(record, 112, 143) end
-- With the space before it, as in the void list.
local function digest_of(record) return sub(record, 144, 152) end
local function attempt_of(record) return sub(record, 154, 159) + 0 end
local function keeper_of(record) return sub(record, 161, 192) end
local function ttl_of(record) return sub(record, 194, 201) + 0 end
local function lock_delay_of(record) return sub(record, 203, 210) + 0 end
local function text_bytes_of(record) return sub(record, 221, 224) + 0 end
local function claim_of(record) return sub(record, 226, 226) end
local function has_lock_delay(record) return sub(record, 203, 210) ~= '00000000' end
local function has_max_hold(record) return sub(record, 84, 99) ~= '0000000000000000' end
local function is_current(record) return sub(record, 101, 110) == epoch end
local function has_line(record) return sub(record, 7, 7) == 'L' end

-- Whether a text that Redis has is a record that can be read, and what to answer if it is not.
local function is_long(text) return sub(text, 1, 2) == '1 ' and sub(text, 227, 227) == '\n' end
local function has_hold(record) return sub(record, 1, 2) == '3 ' end
local function is_long_with_hold(text) return has_hold(text) and sub(text, 227, 227) == '\n' end
local function is_readable(text) return is_long(text) or find(text, SHORT) or is_long_with_hold(text) end
local function is_newer(text) return not find(text, '^[123] ') and find(text, '^[1-9]%d* ') end
local function fault_of(text) return is_newer(text) and FORMAT_TOO_NEW or CORRUPT end

-- The terms of a lease as daemons are told them: its ttl, or "<ttl> <lock_delay> <end by max_hold> <end by
-- hold_at_least>" if it has any of the other three.
local function terms_text(ttl, delay, max_hold_end, hold_end)
  if delay == 0 and max_hold_end == 0 and hold_end == 0 then return ttl end
  return format('%d %d %d %d', ttl, delay, max_hold_end, hold_end)
end

-- Record at `key`; false and a fault if there is none or it cannot be read.
local function read(key)
  local record = redis.call('GET', key)
  if not record or record == '' then return false end
  if not is_readable(record) then return false, fault_of(record) end
  return record
end

-- Only the header of the record and as much of the text as `principal_is` looks at; '' if there is
-- none.
local function end_of_header(principal) return principal == '' and '227' or 227 + #principal end
local function text_of(key, last) return redis.call('GETRANGE', key, '0', last) end
local function read_header(key, who) return text_of(key, end_of_header(who)) end

-- When a record that matters until `time` is collected as garbage.
local function collect_at(time) return format('%d', max(now, time) / 1000 + retention) end

local function write(key, record, until_time)
  redis.call('SET', key, record, 'PXAT', collect_at(until_time))
end

-- Writes `text` over columns of the record.
local function overwrite(key, at, text, until_time)
  redis.call('SETRANGE', key, at, text)
  redis.call('PEXPIREAT', key, collect_at(until_time))
end

-- The last point in time that matters to a record.
local function end_of(r) return is_short(r) and token_of(r) or max(token_of(r), lease_end_of(r), closed_until_of(r)) end

local function short_voids_at(record) return find(record, ' ', 33, true) or #record + 1 end
local function long_voids_at(record) return TEXT_AT + text_bytes_of(record) end
local function voids_at(record) return is_short(record) and short_voids_at(record) or long_voids_at(record) end

-- Whether hold_at_least is asked, by the column claim of an entry of the line, or of a record.
local function asks_hold(claim) return find('cdkr', claim, 1, true) end

-- Whether the lease's client has claimed it with min_assurance, and nobody else was told of it since.
local function is_only_claimed(record) return find('LSls', claim_of(record), 1, true) end

-- Whether a daemon has restored the lease, and its holder has not extended it since. Such a lease keeps its
-- lock closed, and no more: it may have been released, and its lock granted further.
local function is_restored(record) return claim_of(record) == 'U' end

-- Its holder is told of the lease now.
local function set_told(key, record) redis.call('SETRANGE', key, CLAIM_AT, has_hold(record) and 'c' or 'C') end

-- The hold_at_least (us) of a record whose text has it, and ends before `text_end`.
local function hold_before(record, text_end) return sub(record, text_end - 9, text_end - 2) * 1000 end

-- Until when hold_at_least keeps the lock closed; 0 without it.
local function hold_end_of(record)
  if not has_hold(record) then return 0 end
  local text_end = long_voids_at(record)
  return acquired_of(record) + hold_before(record, text_end)
end

-- How the lease id of `digest` ended and its highest void attempt; nil if it is not void. `voids`: a text
-- with a void list that begins at `at`.
local function find_void(voids, digest, at)
  local kind, attempt
  at = find(voids, digest, at, true)
  while at do
    local how = sub(voids, at + 9, at + 9)
    local found = ((how == 'W' or how == 'P') and sub(voids, at + 10, at + 15) or FOR_GOOD) + 0
    if not attempt or found >= attempt then kind, attempt = how, found end
    at = find(voids, digest, at + VOID_LENGTH, true)
  end
  return kind, attempt
end

-- The same of a record.
local function void_in(record, digest) return find_void(record, digest, voids_at(record)) end

-- Whether nothing can be granted any more to the lease id of `digest`, by this void list.
local function is_void_for_good(voids, digest)
  local _, attempt = find_void(voids, digest, 1)
  return attempt == FOR_GOOD + 0
end

local function owner_of(record)
  local owner = find(record, '\n', TEXT_AT, true) + 1
  return sub(record, owner, find(record, '\n', owner, true) - 1)
end

-- The holder in `record` as a former one: how its lease ended, and when.
local function former_holder(record, how, ended)
  local owner = sub(owner_of(record), 1, FORMER_OWNER_BYTES)
  if find(owner, '[ :]') then owner = string.gsub(string.gsub(owner, ' ', '\t'), ':', '\v') end
  return '\n' .. how .. sub(record, 16, 31) .. format('%d;', (ended - token_of(record)) / 1000) .. owner
end

-- The same of one whose lease was released now, for a record of format 2; '' if it was short. `at`: the void
-- list in `record`.
local function released_holder(record, at)
  if now - acquired_of(record) < FORMER_HELD then return '' end
  local former = former_holder(record, 'R', now)
  return at > #record and '\n' .. sub(former, 19, 17 + FIRST_FORMER_BYTES) or former
end

-- Where the void list that begins at `at` ends. What a version that knows no former holders has put behind
-- them has spaces: then all is void list.
local function voids_end(record, at)
  local first = find(record, '\n', at, true)
  return first and not find(record, ' ', first, true) and first - 1 or #record
end

-- The void list of `record`, which begins at `at`, with one more entry, and the former holders, with one more.
local function add_void(record, at, entry, former)
  local last, mark = voids_end(record, at), find(record, ':', at + 2, true)
  local from = mark and mark - 1 or at
  local voids = last - from + 1 < VOIDS_BYTES and sub(record, at, last) .. entry or
    sub(record, from, last) .. ' :' .. sub(now_digits, 1, 10) .. entry
  if last == #record and (former or '') == '' then return voids end
  local oldest = last + 1
  while former and #record - oldest + #former >= FORMER_BYTES do
    oldest = find(record, '\n', oldest + 1, true) or #record + 1
  end
  return voids .. sub(record, oldest) .. (former or '')
end

-- The void list and the former holders of `record`, which begin at `at`, for the next lease: its token will not
-- be that of a former holder who has none of its own.
local function rest_of(record, at)
  local first = find(record, '\n', at, true)
  if not first or sub(record, first + 1, first + 1) > '9' then return sub(record, at) end
  return sub(record, at, first) .. 'R' .. sub(record, 16, 31) .. sub(record, first + 1)
end

-- Whether a lease that ended within the RETRY_WINDOW may have fallen out of the list.
local function marked_at(record, at) return sub(record, at + 2, at + 11) * 1000000 end
local function has_mark(record, at) return sub(record, at, at + 1) == ' :' end
local function has_forgotten(record, at) return has_mark(record, at) and marked_at(record, at) + RETRY_WINDOW > now end

-- Writes a record of a lock of which no lease is known.
local function write_empty(key, voids)
  write(key, '2 N - - 000000 0000000000000000 ' .. (epoch + 0) .. voids, 0)
end

-- Makes a lease id void in `record`, or in a new one if there is none.
local function write_void(key, record, entry)
  if record then
    local at = voids_at(record)
    write(key, sub(record, 1, at - 1) .. add_void(record, at, entry), end_of(record))
  else
    write_empty(key, entry)
  end
end

-- What is left of `record` when its lease or offer has ended; and the same written, its lease id void as
-- `void` says.
local function epoch_of(record) return sub(record, 101, 110) + 0 end
local function short_record(record, state, previous, epoch, voids) return '2 ' .. state .. ' ' .. previous .. sub(record, 6, 32) .. epoch .. voids end
local function write_ended(key, record, state, previous, void)
  local at = long_voids_at(record)
  local former = state == 'R' and previous == '-' and released_holder(record, at)
  local voids = add_void(record, at, digest_of(record) .. void, former)
  -- Nothing says that the token of a restored lease is the newest.
  local known_in = is_restored(record) and 0 or epoch_of(record)
  write(key, short_record(record, state, previous, known_in, voids), token_of(record))
end

-- Writes that the lease in `record` was released. Its hold_at_least may keep the lock closed: then the
-- record stays whole. Answers 1.
local function write_released(key, record)
  local hold_end = hold_end_of(record)
  if hold_end <= now then
    write_ended(key, record, 'R', '-', 'R')
    return 1
  end
  local at = long_voids_at(record)
  local voids = add_void(record, at, digest_of(record) .. 'R')
  write(key, '3 R - ' .. sub(record, 7, 32) .. now_digits .. ' ' .. digits(hold_end) ..
    sub(record, 66, at - 1) .. voids, max(token_of(record), hold_end))
  return 1
end

local function principal_is(record, who) return sub(record, TEXT_AT, TEXT_AT + #who) == who .. '\n' end

-- Whether a lease, or an offer, runs. One of an earlier epoch does not: its holder has to re-assert it.
local function runs(record, state)
  return state_of(record) == state and lease_end_of(record) > now and is_current(record)
end
local function is_live(record) return runs(record, 'H') end

-- Whether nobody may have the lock because of the lease in the record.
local function is_closed(record) return closed_until_of(record) > now and is_current(record) end

-- Time until the lock can be granted if nobody does anything (us). Nothing is granted in a quarantine,
-- which the leases of earlier epochs do not outlive.
local function free_in(record)
  local at = record and is_closed(record) and closed_until_of(record) or 0
  if now_digits < grants_from then at = max(at, grants_from + 0) end
  return max(at - now, 0)
end

-- The quarantine that the stamp tells of: whether it runs, and when it ends or ended; 0 without any.
local function in_quarantine() return now_digits < expected_quarantine_end() end
local function quarantine_end() return tonumber(expected_quarantine_end()) or 0 end

-- What the next grant has to know of `record`: whether the lease before it ended without a release, and the
-- void list. An offer was no lease: it leaves both as they were.
local function retire(record)
  local state, at = state_of(record), voids_at(record)
  local previous = previous_of(record)
  if is_short(record) or state == 'O' then return previous, rest_of(record, at) end
  local how = state == 'H' and 'X' or state
  if how ~= 'R' then previous = 'X' end
  local former = former_holder(record, how, lease_end_of(record))
  -- A release that found it expired, by the clock of an earlier epoch, may have been in time.
  local void = how == 'X' and sub(record, 154, 159) == FOR_GOOD and not is_current(record) and 'U' or how
  local rest = add_void(record, at, void ~= 'R' and digest_of(record) .. void or '', former)
  return previous, rest
end

-- Beyond TOKEN_MAX two tokens could be the same number: better none than one twice.
local function next_token(last_token)
  local token = max(last_token + 1, now, token_floor)
  if token > TOKEN_MAX then error('no token is left') end
  return token
end
