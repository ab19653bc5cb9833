#!lua flags=allow-oom
-- SPDX-License-Identifier: Apache-2.0
-- with frame.lua, record.lua
-- Reads records for an administrator, as they are. Writes nothing.
-- KEYS       for each lock: record (string)
-- ARGV[1]    token floor (integer), not used
-- ARGV[2]    retention (ms), not used
-- ARGV[3]    epoch (10 digits), not used
-- ARGV[4]    keys per lock (1)
-- ARGV[5]    beginning of the channels of daemons, not used
-- ARGV[6]    stamp and beats that the marker of the store has to have; '': there must be no marker. Its
--            key is the last one
-- ARGV[7]    time from which on new grants are allowed (16 digits, us)
-- ARGV[8..9] earliest and latest time that this node's clock may read (16 digits, us)
-- Returns    {now (us), then for each lock: record, doubt}
--            record: an empty text if there is none; 90 record corrupt; 91 record of a newer format
--            doubt: 0 none; 1 MAY_BE_PROVED; 2 NOT_PROVED_IN_TIME, which is its lease, of an earlier
--            epoch, in a quarantine and after it
--            Or {now, 81} or {now, 82}: marker or clock are not as expected, and nothing was done
-- Errors     LOCKKEEPER_ARGUMENTS
-- Why        One place reads the clock together with the records, so that what is left of a lease
--            is never guessed, and the marker, so that a lease that the store may have forgotten is not shown as
--            held.

return each({}, 2, function(key)
  local record, fault = read(key)
  if not record then return fault or '' end
  if is_short(record) then return record end
  local doubted = is_restored(record) and in_quarantine()
  if is_current(record) and not doubted then return record end
  return record, in_quarantine() and 1 or 2
end)
