-- SPDX-License-Identifier: Apache-2.0
-- The frame of every script. `return each(LENGTHS, RESULTS, function(key, at, line) ... end)` of a
-- script says what the frame calls as `operate` for each lock (cmake/link_lua.lua), and that it
-- answers `RESULTS` numbers (or texts). `key` is its record's key, `ARGV[at]` the first of its
-- arguments, `line` the key of its line if there are two keys for each lock. LENGTHS has the length of
-- each argument of an operation: 0 for any length, {a, b} for one of two.
--
-- The last key of a call is the marker of the store. Nothing is done, and {now, GUARD} is answered,
-- unless the marker begins as the caller says and the node's clock reads what it expects.
-- {now, OLDER} if the marker has fewer beats than the caller has seen: the store has older data.
--
-- Nothing is written before all arguments have been checked. A record that makes an operation raise
-- an error is CORRUPT and concerns nobody else: operations write last. A command that Redis denies its
-- user says nothing of the record, and leaves the operation half done: the call answers an error,
-- LOCKKEEPER_DENIED, which tells of none of its operations what became of it.
--
-- The marker has these columns; docs/reference/marker.md explains them. The first up to the durability are
-- the stamp. A call brings the stamp that it expects, a space, and how many beats the marker must have at
-- least. The build makes the columns of C++ of this list (`marker_column::kEpoch`), counted from 1.
--
--     1 format          3- 18 service     20- 29 epoch             31- 70 run id
--    72- 79 ttl ceiling      81- 96 quarantine end    98 durability
--   100-115 home           117-148 reassertion key   150-165 token floor
--   167-183 clock offset   185-200 beat              202-217 beat time

-- What every script takes before the arguments of its operations.
local COMMON_ARGUMENTS = 9

-- Columns of the marker, and of the stamp. MARKER_END: the offset of the last one that scripts need.
local MARKER_END = '199'
local function stamp_of(marker) return sub(marker, 1, 98) end
local function beat_of(marker) return sub(marker, 185, 200) end
local function clock_offset_of(marker) return sub(marker, 167, 183) end

-- The same of what a call brings.
local function beats_wanted(stamp) return sub(stamp, 100) end
local function expected_ttl_ceiling() return sub(ARGV[6], 72, 79) end
local function expected_quarantine_end() return sub(ARGV[6], 81, 96) end

-- The key that is worked on.
local doing = 0

-- Whether the error says that Redis denied its user a command: in the words of 7.0, of 7.2 and later, and by
-- the code that a denial has outside of scripts.
local function is_denied(fault)
  return string.find(fault, '^ERR The user executing') or string.find(fault, '^ERR ACL failure') or
    string.find(fault, '^NOPERM')
end

-- Carries out the operations from key number `from` on. One function and one pcall for all of them:
-- each call of either costs as much as reading a record.
local function run(reply, from, now, now_digits, token_floor, retention, marker)
  local string, keys, redis = string, KEYS, redis
  local sub, find, format, max = string.sub, string.find, string.format, math.max
  local epoch, channel, grants_from = ARGV[3], ARGV[5], ARGV[7]
  -- parts
  local operation = (from - 1) / KEYS_PER_LOCK
  local at, filled = COMMON_ARGUMENTS + 1 + operation * ARGUMENTS, 1 + operation * RESULTS
  for i = from, #keys, KEYS_PER_LOCK do
    doing = i
    local key, line = keys[i] -- one key
    local key, line = keys[i], keys[i + 1] -- two keys
    local result, second, third, fourth = operate(key, at, line)
    -- Always four values, even if RESULTS is less: the next lock overwrites what is too much.
    reply[filled + 1], reply[filled + 2] = result or CORRUPT, second or 0
    reply[filled + 3], reply[filled + 4] = third or 0, fourth or 0
    at, filled = at + ARGUMENTS, filled + RESULTS
  end
  reply[filled + 1] = nil
end

-- With two keys for each lock the second is the key of its line; with one an operation that has to see
-- the line answers LINE. The build makes ARGUMENTS, how many an operation has, and WRONG_LENGTH, a
-- comparison for each that has a length, of LENGTHS. STRIDE is ARGUMENTS, or 1 if there are none.
local arguments, stamp = ARGV, ARGV[6]
local marker_key = table.remove(KEYS)
local count, operations = #arguments, #KEYS / KEYS_PER_LOCK
local token_floor, retention = tonumber(arguments[1]), tonumber(arguments[2])
if not marker_key or not token_floor or not retention or #(arguments[3] or '') ~= 10 or
  arguments[4] ~= KEYS_WANTED or operations % 1 ~= 0 or
  count ~= COMMON_ARGUMENTS + operations * ARGUMENTS then
  return redis.error_reply('LOCKKEEPER_ARGUMENTS wrong number or form of arguments')
end
for at = COMMON_ARGUMENTS + 1, count, STRIDE do
  if WRONG_LENGTH then
    return redis.error_reply('LOCKKEEPER_ARGUMENTS an argument has a wrong length')
  end
end

local clock = redis.call('TIME')
local seconds, micros = clock[1], clock[2]
local now, now_digits = seconds * 1000000 + micros, seconds .. string.sub('000000', #micros + 1) .. micros
local sub = string.sub
local marker = redis.pcall('GETRANGE', marker_key, '0', MARKER_END)
if now < arguments[8] + 0 or now > arguments[9] + 0 or type(marker) ~= 'string' or
  stamp_of(marker) ~= stamp_of(stamp) then
  return {now, GUARD}
end
if beat_of(marker) < beats_wanted(stamp) then return {now, OLDER} end
-- The arguments give it its size, since growing costs more than filling. `run` ends it where it ends.
local reply, from = {now, unpack(arguments)}, 1
while true do
  local done, fault = pcall(run, reply, from, now, now_digits, token_floor, retention, marker)
  if done then return reply end
  if is_denied(fault) then return redis.error_reply('LOCKKEEPER_DENIED ' .. fault) end
  if doing < from then return redis.error_reply(fault) end
  local filled = 1 + (doing - 1) / KEYS_PER_LOCK * RESULTS
  reply[filled + 1] = CORRUPT
  for i = 2, RESULTS do reply[filled + i] = 0 end
  from = doing + KEYS_PER_LOCK
end
