-- SPDX-License-Identifier: Apache-2.0
--
-- Runs one command on a key of Redis, if the fencing token is not stale.
-- KEYS: the mark, the data. In a Cluster both need the same slot: {report}:mark and report have it.
-- ARGV: the token, a command for the data, the arguments of the command after its key.
-- Returns what the command returns, or the error STALE; then nothing was changed.
local token = tonumber(ARGV[1])
if not string.match(ARGV[1], '^[1-9]%d*$') or token > 9007199254740991 then
  return redis.error_reply('ERR token must be an integer from 1 to 9007199254740991')
end
local mark = redis.call('GET', KEYS[1])
if mark and token < tonumber(mark) then
  return redis.error_reply('STALE a newer holder has used ' .. KEYS[2])
end
if mark ~= ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[1])
end
return redis.call(ARGV[2], KEYS[2], unpack(ARGV, 3))
