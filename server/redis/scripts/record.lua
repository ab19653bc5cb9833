-- SPDX-License-Identifier: Apache-2.0
--
-- The lock record and what all scripts share. The build puts this text behind the `#!lua` line of
-- each script; it is no script of its own. docs/reference/record.md shows a record and its columns.
--
-- A record is a string: a header of fixed columns, then principal, owner and labels, a line each,
-- then the void list. Points in time are microseconds of this node's clock, durations milliseconds.
--
--     1 format     3 state      5 previous   7 line         9- 14 waiters    16- 31 token
--    33- 48 lease end          50- 65 closed until         67- 82 acquired   84- 99 max_hold end
--   101-110 epoch             112-143 lease id            145-150 attempt   152-183 keeper
--   185-192 ttl               194-201 lock_delay          203-210 max_hold  212-215 bytes of text
--   217 claim
--
--   state     H held (until its lease end), O offered, or how the lease ended: R released,
--             F forced, W withdrawn; N if no lease is known and only void lease ids are kept
--   previous  X if the lease before this one ended without a release, else -
--   line      L if the lock may have a line, else -; waiters: those in it whose daemon lives
--   claim     how an offer is claimed: D by the daemon, C by the client
--   closed until: nobody is granted the lock before this time
--
-- An entry of the void list: a space, the lease id, how it ended (R X F W, or U: released although
-- unknown) and, in six digits, the highest attempt that is void; FOR_GOOD is beyond every attempt.
-- All digits of the id, since ids of one client may have most of them in common.
--
-- What a script costs: Redis makes its functions anew in each call, hashes every byte of every string
-- that Lua makes, and prints numbers given to a command slowly. Hence the short list; hence scripts
-- that need the header only read and write only that, and numbers are read once and given as texts;
-- and hence one-line functions and constants are written into their callers by cmake/link_lua.lua.

local sub, find, format, max = string.sub, string.find, string.format, math.max

local HEADER_LENGTH, TEXT_AT, VOID_LENGTH, VOIDS_MAX = 217, 219, 40, 12
local TOKEN_MAX = 9007199254740991
local FOR_GOOD, NOBODY = '999999', '00000000000000000000000000000000'
local LINE, CORRUPT, FORMAT_TOO_NEW = 80, 90, 91
-- Where SETRANGE overwrites: the column before.
local STATE_AT, LINE_AT, LEASE_END_AT, ATTEMPT_AT = '2', '6', '32', '144'

-- Every script takes these before the arguments of its operations. With two keys for each lock the
-- second is the key of its line; with one an operation that has to see the line answers LINE.
local token_floor, retention, epoch = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local keys_per_lock, channel = tonumber(ARGV[4]), ARGV[5]
local COMMON_ARGUMENTS = 5
if not token_floor or not retention or #(epoch or '') ~= 10 or not channel or
  (keys_per_lock ~= 1 and keys_per_lock ~= 2) or #KEYS % keys_per_lock ~= 0 then
  return redis.error_reply('LOCKKEEPER_ARGUMENTS wrong number or form of arguments')
end

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local now_digits = format('%016d', now)

-- Sixteen digits of a point in time or a token.
local function digits(n) return n == now and now_digits or format('%016d', n) end

local function number_at(text, first, last) return tonumber(sub(text, first, last)) end

-- The columns. A bad record raises an error where its number is used.
local function state_of(record) return sub(record, 3, 3) end
local function previous_of(record) return sub(record, 5, 5) end
local function token_of(record) return tonumber(sub(record, 16, 31)) end
local function lease_end_of(record) return tonumber(sub(record, 33, 48)) end
local function closed_until_of(record) return tonumber(sub(record, 50, 65)) end
local function max_hold_of(record) return tonumber(sub(record, 203, 210)) end
local function max_hold_end_of(record) return tonumber(sub(record, 84, 99)) end
local function lease_id_of(record) return sub(record, 112, 143) end
local function attempt_of(record) return tonumber(sub(record, 145, 150)) end
local function keeper_of(record) return sub(record, 152, 183) end
local function ttl_of(record) return tonumber(sub(record, 185, 192)) end
local function lock_delay_of(record) return tonumber(sub(record, 194, 201)) end
local function text_bytes_of(record) return tonumber(sub(record, 212, 215)) end
local function claim_of(record) return sub(record, 217, 217) end
local function has_line(record) return sub(record, 7, 7) == 'L' end

local function check(record)
  if not record or record == '' then return false end
  if sub(record, 1, 2) ~= '1 ' then
    return false, find(record, '^[1-9]%d* ') and FORMAT_TOO_NEW or CORRUPT
  end
  if sub(record, HEADER_LENGTH + 1, HEADER_LENGTH + 1) ~= '\n' then return false, CORRUPT end
  return record
end

-- Record at `key`; false and a fault if there is none or it cannot be read.
local function read(key) return check(redis.call('GET', key)) end

-- The same, but only the header and as much of the text as `principal_is` looks at.
local function end_of_header(principal) return principal == '' and '218' or 218 + #principal end
local function text_of(key, last) return redis.call('GETRANGE', key, '0', last) end
local function read_header(key, who) return check(text_of(key, end_of_header(who))) end

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
local function end_of(record)
  return max(token_of(record), lease_end_of(record), closed_until_of(record))
end

local function voids_at(record) return TEXT_AT + text_bytes_of(record) end

-- How `lease_id` ended and its highest void attempt; nil if it is not void.
local function find_void(record, lease_id)
  local kind, attempt
  local entry = ' ' .. lease_id
  local at = find(record, entry, voids_at(record), true)
  while at do
    local found = number_at(record, at + 34, at + 39)
    if not attempt or found >= attempt then kind, attempt = sub(record, at + 33, at + 33), found end
    at = find(record, entry, at + VOID_LENGTH, true)
  end
  return kind, attempt
end

local function void(lease_id, kind, attempt) return ' ' .. lease_id .. kind .. attempt end

-- The void list of `record`, without its oldest entry if it is full.
local function voids_with_room(record)
  local at = voids_at(record)
  local full = #record - at + 1 >= VOIDS_MAX * VOID_LENGTH
  return sub(record, full and at + VOID_LENGTH or at)
end

-- Makes a lease id void in `record`, or in a new one if there is none.
local function write_void(key, record, entry)
  if record then
    write(key, sub(record, 1, voids_at(record) - 1) .. voids_with_room(record) .. entry,
      end_of(record))
  else
    write(key, format('1 N - - 000000 %016d %016d %016d %016d %016d %s ', 0, 0, 0, 0, 0, epoch) ..
      NOBODY .. ' 000000 ' .. NOBODY .. ' 00000000 00000000 00000000 0003 D\n\n\n\n' .. entry, 0)
  end
end

local function principal_is(record, who) return sub(record, TEXT_AT, TEXT_AT + #who) == who .. '\n' end

local function owner_of(record)
  local owner = find(record, '\n', TEXT_AT, true) + 1
  return sub(record, owner, find(record, '\n', owner, true) - 1)
end

-- Whether a lease, or an offer, runs.
local function runs(record, state) return state_of(record) == state and lease_end_of(record) > now end
local function is_live(record) return runs(record, 'H') end

-- What the next grant has to know of the lease in `record`: whether it ended without a release, the
-- void list, and its entry there. An offer was no lease: it leaves both as they were.
local function retire(record, next_lease_id)
  local state, ended, previous = state_of(record), lease_id_of(record), '-'
  if state == 'H' then
    state, previous = 'X', 'X'
  elseif state == 'F' then
    previous = 'X'
  elseif state ~= 'R' then
    previous = previous_of(record)
  end
  if state == 'N' or state == 'O' or ended == next_lease_id then
    return previous, sub(record, voids_at(record)), ''
  end
  local attempt = state == 'W' and format('%06d', attempt_of(record)) or FOR_GOOD
  return previous, voids_with_room(record), void(ended, state, attempt)
end

-- Beyond TOKEN_MAX two tokens could be the same number: better none than one twice.
local function next_token(last_token)
  local token = max(last_token + 1, now, token_floor)
  if token > TOKEN_MAX then error('no token is left') end
  return token
end

-- Runs `step(key, argument index, key of the line)` for each lock and answers {now, results...},
-- `width` numbers (or texts) for each. Nothing is written before all arguments have been checked:
-- `lengths` says what each argument of an operation measures, 0 if it may be of any length. A record
-- that makes a step fail is CORRUPT and concerns nobody else: steps write last.
local function each(lengths, width, step)
  local keys, arguments, count = KEYS, ARGV, #lengths
  if #arguments ~= COMMON_ARGUMENTS + #keys / keys_per_lock * count then
    return redis.error_reply('LOCKKEEPER_ARGUMENTS wrong number of arguments')
  end
  for i = 1, count do
    local length = lengths[i]
    for at = COMMON_ARGUMENTS + i, length > 0 and #arguments or 0, count do
      if #arguments[at] ~= length then
        return redis.error_reply('LOCKKEEPER_ARGUMENTS argument ' .. at .. ' has a wrong length')
      end
    end
  end
  local reply, filled, at = {now}, 1, COMMON_ARGUMENTS + 1
  for i = 1, #keys, keys_per_lock do
    local ok, a, b, c, d = pcall(step, keys[i], at, keys_per_lock == 2 and keys[i + 1] or nil)
    if not ok or not a then a, b, c, d = CORRUPT, 0, 0, 0 end
    reply[filled + 1] = a
    if width > 1 then reply[filled + 2] = b or 0 end
    if width > 2 then reply[filled + 3], reply[filled + 4] = c or 0, d or 0 end
    filled, at = filled + width, at + count
  end
  return reply
end
