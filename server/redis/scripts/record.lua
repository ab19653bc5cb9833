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

local HEADER_LENGTH, TEXT_AT, VOID_LENGTH, VOIDS_MAX = 217, 219, 40, 12
local TOKEN_MAX = 9007199254740991
local FOR_GOOD, NOBODY = '999999', '00000000000000000000000000000000'
local LINE, CORRUPT, FORMAT_TOO_NEW = 80, 90, 91
-- Where SETRANGE overwrites: the column before.
local STATE_AT, LINE_AT, LEASE_END_AT, ATTEMPT_AT = '2', '6', '32', '144'

-- Sixteen digits of a point in time or a token.
local function digits(n) return n == now and now_digits or format('%016d', n) end

local function number_at(text, first, last) return sub(text, first, last) + 0 end

-- The columns. A bad record raises an error where its number is used.
local function state_of(record) return sub(record, 3, 3) end
local function previous_of(record) return sub(record, 5, 5) end
local function token_of(record) return sub(record, 16, 31) + 0 end
local function lease_end_of(record) return sub(record, 33, 48) + 0 end
local function closed_until_of(record) return sub(record, 50, 65) + 0 end
local function max_hold_of(record) return sub(record, 203, 210) + 0 end
local function max_hold_end_of(record) return sub(record, 84, 99) + 0 end
local function lease_id_of(record) return sub(record, 112, 143) end
local function attempt_of(record) return sub(record, 145, 150) + 0 end
local function keeper_of(record) return sub(record, 152, 183) end
local function ttl_of(record) return sub(record, 185, 192) + 0 end
local function lock_delay_of(record) return sub(record, 194, 201) + 0 end
local function text_bytes_of(record) return sub(record, 212, 215) + 0 end
local function claim_of(record) return sub(record, 217, 217) end
local function has_lock_delay(record) return sub(record, 194, 201) ~= '00000000' end
local function has_max_hold(record) return sub(record, 84, 99) ~= '0000000000000000' end
local function has_line(record) return sub(record, 7, 7) == 'L' end

-- Whether a text that Redis has is a record that can be read, and what to answer if it is not.
local function is_readable(text) return sub(text, 1, 2) == '1 ' and sub(text, 218, 218) == '\n' end
local function is_newer(text) return sub(text, 1, 2) ~= '1 ' and find(text, '^[1-9]%d* ') end
local function fault_of(text) return is_newer(text) and FORMAT_TOO_NEW or CORRUPT end

-- Record at `key`; false and a fault if there is none or it cannot be read.
local function read(key)
  local record = redis.call('GET', key)
  if not record or record == '' then return false end
  if not is_readable(record) then return false, fault_of(record) end
  return record
end

-- Only the header of the record and as much of the text as `principal_is` looks at; '' if there is
-- none.
local function end_of_header(principal) return principal == '' and '218' or 218 + #principal end
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
local function end_of(r) return max(token_of(r), lease_end_of(r), closed_until_of(r)) end

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

-- What the next grant has to know of the lease `ended` in `record`: whether it ended without a release,
-- the void list, which begins at `at`, and its entry there. An offer was no lease: it leaves both as they
-- were.
local function retire(record, ended, at, next_lease_id)
  local state, previous = state_of(record), '-'
  if state == 'H' then
    state, previous = 'X', 'X'
  elseif state == 'F' then
    previous = 'X'
  elseif state ~= 'R' then
    previous = previous_of(record)
  end
  if state == 'N' or state == 'O' or ended == next_lease_id then
    return previous, sub(record, at), ''
  end
  if #record - at + 1 >= VOIDS_MAX * VOID_LENGTH then at = at + VOID_LENGTH end
  local attempt = state == 'W' and format('%06d', attempt_of(record)) or FOR_GOOD
  return previous, sub(record, at), void(ended, state, attempt)
end

-- Beyond TOKEN_MAX two tokens could be the same number: better none than one twice.
local function next_token(last_token)
  local token = max(last_token + 1, now, token_floor)
  if token > TOKEN_MAX then error('no token is left') end
  return token
end
