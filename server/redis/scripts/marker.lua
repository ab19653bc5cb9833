#!lua flags=allow-oom
-- SPDX-License-Identifier: Apache-2.0
-- Looks at the marker of the store, and replaces it if it is the expected one.
-- KEYS[1]    marker (string)
-- ARGV[1]    the marker that is expected, without its beat; an empty text if none is
-- ARGV[2]    the marker to be written, without its beat; an empty text to look only
-- ARGV[3]    the beats that the marker has to have, or nothing is written
-- ARGV[4]    earliest and
-- ARGV[5]    latest time that the node's clock has to read, or nothing is written (us)
-- Returns    {now (us), marker with its beat}: what is there now; an empty text if there is none
-- Errors     that of a user who may not read it
-- Why        Daemons agree by this: of several that want to replace one marker, one does. Writing
--            what is there already is a beat: its count tells an older marker from a newer one. An
--            older one must not catch up by the beats of those who know that it is older, nor by one
--            that comes late.

-- The beat, at the end of the text: ' <count, 16 digits> <time, 16 digits>'. Its columns are those of the
-- list in frame.lua, here counted from the end, since anything may stand in front.
local BEAT_LENGTH = 34
local COUNT_FIRST, COUNT_LAST = -33, -18

local text = redis.pcall('GET', KEYS[1])
if type(text) == 'table' then
  if string.sub(text.err, 1, 9) ~= 'WRONGTYPE' then return text end
  text = 'another type'
elseif not text then
  text = ''
end
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local count = tonumber(string.sub(text, COUNT_FIRST, COUNT_LAST)) or 0
local is_expected = string.sub(text, 1, -BEAT_LENGTH - 1) == ARGV[1] and count >= tonumber(ARGV[3])
local is_in_time = now >= tonumber(ARGV[4]) and now <= tonumber(ARGV[5])
if ARGV[2] ~= '' and is_expected and is_in_time then
  text = ARGV[2] .. string.format(' %016d %016d', count + 1, now)
  redis.call('SET', KEYS[1], text)
end
return {now, text}
