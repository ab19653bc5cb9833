#!lua flags=allow-oom
-- SPDX-License-Identifier: Apache-2.0
-- Looks at the marker of the store, and replaces it if it is the expected one.
-- KEYS[1]    marker (string)
-- KEYS[2]    roll of the daemons (string); none: there is no roll, and no arguments from 6 on
-- ARGV[1]    the marker that is expected, without its beat; an empty text if none is
-- ARGV[2]    the marker to be written, without its beat; an empty text to look only
-- ARGV[3]    the beats that the marker has to have, or nothing is written
-- ARGV[4]    earliest and
-- ARGV[5]    latest time that the node's clock has to read, or nothing is written (us)
-- ARGV[6]    id of the daemon that calls (16 digits)
-- ARGV[7]    version of the roll that it has read (10 digits), in this epoch
-- ARGV[8]    epoch in which it has restored what it had told (10 digits)
-- ARGV[9]    epoch of the marker to be written (10 digits)
-- ARGV[10]   E: the quarantine that begins with that epoch may end early; else -
-- ARGV[11]   ids of daemons that have to be on the roll, one behind the other
-- ARGV[12]   entries whose beat was earlier are dropped (16 digits, us)
-- ARGV[13]   J: the daemon joins, and has not begun; A: it is active; L: it leaves
-- Returns    {now (us), marker with its beat}: what is there now; an empty text if there is none. And the
--            roll, if there is one
-- Errors     that of a user who may not read it
-- Why        Daemons agree by this: of several that want to replace one marker, one does. Writing
--            what is there already is a beat: its count tells an older marker from a newer one. An
--            older one must not catch up by the beats of those who know that it is older, nor by one
--            that comes late.

-- The beat, at the end of the text: ' <count, 16 digits> <time, 16 digits>'. Its columns are those of the
-- list in frame.lua, here counted from the end, since anything may stand in front.
local BEAT_LENGTH = 34
local COUNT_FIRST, COUNT_LAST = -33, -18

-- The roll with this beat. A new epoch freezes who was on it: a quarantine ends early only if two were, since
-- a single daemon may have been replaced without its knowledge.
local function roll_with_beat(roll, now)
  local own, own_seen, restored, ids, own_state = ARGV[6], ARGV[7], ARGV[8], ARGV[11], ARGV[13]
  local version, epoch, early = string.match(roll, '^1 (%d+) (%d+) ([E-])\n')
  local begins, entries, on_roll, active = ARGV[9] ~= epoch, {}, {}, 0
  version = tonumber(version) or 0
  local function enter(id, beat, seen, joined, restored, state)
    on_roll[id] = true
    entries[#entries + 1] = table.concat({id, beat, seen, joined, restored, state}, ' ')
  end
  local function join(id, restored, state)
    version = version + 1
    enter(id, now, '0000000000', string.format('%010d', version), restored, state)
  end
  local entry = '(%x+) (%d+) (%d+) (%d+) (%d+) ([JAL])\n'
  for id, beat, seen, joined, has_restored, state in string.gmatch(roll, entry) do
    if state == 'A' then active = active + 1 end
    if id == own then
      enter(id, now, begins and '0000000000' or own_seen, joined, restored, own_state)
    elseif begins then
      enter(id, now, '0000000000', joined, has_restored, state)
    elseif beat >= ARGV[12] then
      enter(id, beat, seen, joined, has_restored, state)
    end
  end
  if begins then early = active >= 2 and ARGV[10] or '-' end
  if not on_roll[own] then join(own, restored, own_state) end
  for id in string.gmatch(ids, string.rep('%x', 16)) do
    if not on_roll[id] then join(id, '0000000000', 'A') end
  end
  return string.format('1 %010d %s %s\n', version, ARGV[9], early) .. table.concat(entries, '\n') .. '\n'
end

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
local roll = KEYS[2] and redis.pcall('GET', KEYS[2]) or nil
if KEYS[2] and type(roll) ~= 'string' then roll = '' end
local is_expected = string.sub(text, 1, -BEAT_LENGTH - 1) == ARGV[1] and count >= tonumber(ARGV[3])
local is_in_time = now >= tonumber(ARGV[4]) and now <= tonumber(ARGV[5])
if ARGV[2] ~= '' and is_expected and is_in_time then
  text = ARGV[2] .. string.format(' %016d %016d', count + 1, now)
  redis.call('SET', KEYS[1], text)
  if KEYS[2] then
    roll = roll_with_beat(roll, string.format('%016d', now))
    redis.call('SET', KEYS[2], roll)
  end
end
return {now, text, roll}
