-- SPDX-License-Identifier: Apache-2.0
-- The frame of every script. cmake/link_lua.lua puts into it what `return each(LENGTHS, RESULTS,
-- function(key, at, line) ... end)` of a script says: the operation, which is done for each lock and
-- answers `RESULTS` numbers (or texts). `key` is its record's key, `ARGV[at]` the first of its
-- arguments, `line` the key of its line if there are two keys for each lock. LENGTHS says what each
-- argument of an operation measures, 0 if it may be of any length.
--
-- Nothing is written before all arguments have been checked. A record that makes an operation raise
-- an error is CORRUPT and concerns nobody else: operations write last.

-- What every script takes before the arguments of its operations.
local COMMON_ARGUMENTS = 5

-- The key that is worked on.
local doing = 0

-- Does the operations from the one with key number `from` on. One function for all of them, and one
-- pcall: each costs as much as reading a record.
local function run(reply, from, now, token_floor, retention, keys_per_lock)
  local string, keys, redis = string, KEYS, redis
  local sub, find, format, max = string.sub, string.find, string.format, math.max
  local epoch, channel, now_digits = ARGV[3], ARGV[5], format('%016d', now)
  -- parts
  local operation = (from - 1) / keys_per_lock
  local at, filled = COMMON_ARGUMENTS + 1 + operation * ARGUMENTS, 1 + operation * RESULTS
  for i = from, #keys, keys_per_lock do
    doing = i
    local key, line = keys[i], keys_per_lock == 2 and keys[i + 1] or nil
    local result, second, third, fourth
    repeat
      -- operation
    until true
    if not result then result, second, third, fourth = CORRUPT, 0, 0, 0 end
    reply[filled + 1] = result
    if RESULTS > 1 then reply[filled + 2] = second or 0 end
    if RESULTS > 2 then reply[filled + 3], reply[filled + 4] = third or 0, fourth or 0 end
    at, filled = at + ARGUMENTS, filled + RESULTS
  end
  reply[filled + 1] = nil
end

-- With two keys for each lock the second is the key of its line; with one an operation that has to see
-- the line answers LINE.
local keys, arguments, lengths = #KEYS, ARGV, LENGTHS
local token_floor, retention = tonumber(arguments[1]), tonumber(arguments[2])
local keys_per_lock = tonumber(arguments[4])
if not token_floor or not retention or #(arguments[3] or '') ~= 10 or not arguments[5] or
  (keys_per_lock ~= 1 and keys_per_lock ~= 2) or keys % keys_per_lock ~= 0 or
  #arguments ~= COMMON_ARGUMENTS + keys / keys_per_lock * ARGUMENTS then
  return redis.error_reply('LOCKKEEPER_ARGUMENTS wrong number or form of arguments')
end
for i = 1, ARGUMENTS do
  local length = lengths[i]
  for at = COMMON_ARGUMENTS + i, length > 0 and #arguments or 0, ARGUMENTS do
    if #arguments[at] ~= length then
      return redis.error_reply('LOCKKEEPER_ARGUMENTS argument ' .. at .. ' has a wrong length')
    end
  end
end

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
-- The arguments give it its size, since growing costs more than filling. `run` ends it where it ends.
local reply, from = {now, unpack(arguments)}, 1
while true do
  local done, fault = pcall(run, reply, from, now, token_floor, retention, keys_per_lock)
  if done then return reply end
  if doing < from then return redis.error_reply(fault) end
  local filled = 1 + (doing - 1) / keys_per_lock * RESULTS
  for i = 1, RESULTS do reply[filled + i] = i == 1 and CORRUPT or 0 end
  from = doing + keys_per_lock
end
