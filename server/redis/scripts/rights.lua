#!lua flags=no-writes
-- SPDX-License-Identifier: Apache-2.0
-- Tells what the user that asks may not do, of what the other scripts do.
-- ARGV[1]    any key of the store; no key of the call, which Redis would refuse itself
-- ARGV[2]    any channel on which daemons hear of each other
-- Returns    the ACL rules that are missing, such as {'+set'}; besides '~' if no command may use the
--            key, and '&' if nothing may be published on the channel
-- Errors     none of its own
-- Why        A right that is missing in the middle of an operation leaves it half done.

-- What each takes after the key.
local COMMANDS = {
  get = {}, mget = {}, getrange = {'0', '0'}, set = {''}, setrange = {'0', ''}, pexpireat = {'1'}, pttl = {}, del = {},
  zadd = {'0', ''}, zrem = {''}, zscore = {''}, zcount = {'0', '0'}, zrangebyscore = {'0', '0'},
}

-- A server that does not tell allows everything.
local function allows(...)
  local told, allowed = pcall(redis.acl_check_cmd, ...)
  return not told or allowed
end

local missing, allowed = {}, 0
for command, more in pairs(COMMANDS) do
  if allows(command, ARGV[1], unpack(more)) then
    allowed = allowed + 1
  else
    missing[#missing + 1] = '+' .. command
  end
end
if allowed == 0 then missing[#missing + 1] = '~' end
if not allows('time') then missing[#missing + 1] = '+time' end
if not allows('publish', ARGV[2], '') then
  missing[#missing + 1] = '+publish'
  missing[#missing + 1] = '&'
end
table.sort(missing)
return missing
