-- SPDX-License-Identifier: Apache-2.0
--
-- lua5.1 link_lua.lua KEYS SCRIPT PART...: prints the script as Redis gets it when each lock has KEYS
-- keys (1 or 2), with the parts that it stands on before it.
--
-- Redis makes every function of a script anew in each call, which costs more than what the functions
-- do for one lock. So this program writes out where they are used what is small or used once, and
-- leaves out what is not used:
--
--   comments            are left out
--   `... -- two keys`   such lines are left out if a lock has one key
--   `... -- one key`    such lines are left out if a lock has two
--   constants           names in capitals that stand for a number or a text are replaced by it
--   one-line functions  `local function f(a, b) return EXPRESSION end` is written into its callers. It
--                       has one value, unless it only calls another function. What is given for a
--                       parameter that stands there twice has to be a name, a number or a text
--   the operation       `return each(LENGTHS, RESULTS, function(...) ... end)` becomes the function
--                       `operate`, which the frame calls for each lock. The frame is the part that has
--                       a line `-- parts`
--   longer functions    that one other function uses once: in `return f(...)` the body takes the place
--                       of the call, since its returns return from the caller then; before
--                       `local a, b = f(...)` the function itself is made, in that branch only. What
--                       nobody else uses goes with it
--   other functions     are left out if nobody uses them. Else they stand at the line `-- parts`

local keys_per_lock, script_path = tonumber(arg[1]), arg[2]

local function fail(message) error(script_path .. ': ' .. message, 0) end

-- `text` with each name replaced by what `replacement(name)` says, unless that is nil. Texts in quotes
-- and fields of tables are no names.
local function replace_names(text, replacement)
  local out, at = {}, 1
  while at <= #text do
    local quoted = text:match("^'[^']*'", at)
    local name = not quoted and text:match('^[%.:]?[%a_][%w_]*', at)
    local piece = quoted or name or text:sub(at, at)
    out[#out + 1] = name and replacement(name) or piece
    at = at + #piece
  end
  return table.concat(out)
end

-- Splits at the commas that stand in no quotes and no brackets.
local function split(list)
  local items, depth, from, quoted = {}, 0, 1, false
  for at = 1, #list do
    local char = list:sub(at, at)
    if char == "'" then
      quoted = not quoted
    elseif not quoted and char:find('[%(%[{]') then
      depth = depth + 1
    elseif not quoted and char:find('[%)%]}]') then
      depth = depth - 1
    elseif not quoted and char == ',' and depth == 0 then
      items[#items + 1] = list:sub(from, at - 1)
      from = at + 1
    end
  end
  if list:find('%S') then items[#items + 1] = list:sub(from) end
  for i, item in ipairs(items) do items[i] = item:match('^%s*(.-)%s*$') end
  return items
end

-- The file without comments, as {name = of a function or nil, text = }.
local function pieces_of(path)
  local pieces, open = {}, nil
  for line in io.lines(path) do
    line = line:gsub('^%s*%-%- parts$', '@parts')
    local kept, keys = line:match('^(.-)%s*%-%- (%l+) keys?$')
    line = kept or line
    if line:find('%S') and not line:find('^%s*%-%-') and not line:find('^#!') and
      not (kept and ({one = 1, two = 2})[keys] ~= keys_per_lock) then
      if open then
        open.text = open.text .. '\n' .. line
      else
        open = {name = line:match('^local function ([%w_]+)%('), text = line}
        open.long = (open.name or line:find('^return each%(')) and not line:find(' end%)?$')
        pieces[#pieces + 1] = open
      end
      if not open.long or line:find('^end%)?$') then open = nil end
    end
  end
  return pieces
end

-- The frame's pieces stand apart: `@parts` is its place for the others.
local pieces, frame = {}, nil
for i = 3, #arg + 1 do
  local more, is_frame = pieces_of(arg[i] or script_path), false
  for _, piece in ipairs(more) do is_frame = is_frame or piece.text:find('@parts') end
  for _, piece in ipairs(more) do
    piece.frame = is_frame
    pieces[#pieces + 1] = piece
  end
  frame = frame or is_frame
end

-- Constants, and what the frame calls `operate`.
local constants = {}
local has_operation = false
for _, piece in ipairs(pieces) do
  local lengths, results, parameters, body =
    piece.text:match('^return each%((%b{}), (%d+), function(%b())(\n.*\nend)%)$')
  if frame and lengths then
    if ('(key, at, line)'):sub(1, #parameters - 1) ~= parameters:sub(1, -2) then
      fail('the operation has to be a function(key, at, line)')
    end
    has_operation = true
    lengths = split(lengths:sub(2, -2))
    local wrong = {}
    for i, length in ipairs(lengths) do
      local differs = {}
      for one in length:gmatch('%d+') do
        differs[#differs + 1] = '#arguments[at' .. (i > 1 and ' + ' .. i - 1 or '') .. '] ~= ' .. one
      end
      if length ~= '0' then wrong[#wrong + 1] = table.concat(differs, ' and ') end
    end
    constants.ARGUMENTS, constants.RESULTS = tostring(#lengths), results
    constants.STRIDE = tostring(math.max(#lengths, 1))
    constants.WRONG_LENGTH = #wrong > 0 and table.concat(wrong, ' or ') or 'false'
    constants.KEYS_PER_LOCK = tostring(keys_per_lock)
    constants.KEYS_WANTED = "'" .. keys_per_lock .. "'"
    piece.name, piece.text = 'operate', 'local function operate' .. parameters .. body
  end
end
if frame and not has_operation then fail('there is no operation') end

for _, piece in ipairs(pieces) do
  local names, values = piece.text:match('^local ([%u%d_, ]+) = ([^\n]*)$')
  values = values and split((values:gsub('%s+%-%-.*$', '')))
  for i, name in ipairs(names and split(names) or {}) do
    if not (values[i] or ''):find("^'[^']*'$") and not tonumber(values[i]) then values = nil break end
    constants[name] = values[i]
  end
  piece.gone = names and values
end

-- One-line functions.
local inlined = {}
for _, piece in ipairs(pieces) do
  local name, parameters, expression =
    piece.text:match('^local function ([%w_]+)(%b()) return (.*) end$')
  if name and not piece.text:find('\n') then
    inlined[name] = {parameters = split(parameters:sub(2, -2)), expression = expression}
    piece.gone = true
  end
end

local function call_of(name, arguments)
  local callee, given, uses = inlined[name], {}, {}
  if #arguments ~= #callee.parameters then fail(name .. ' gets a wrong number of arguments') end
  for i, parameter in ipairs(callee.parameters) do
    local simple = arguments[i]:find("^[%w_%.']+$")
    given[parameter] = {text = simple and arguments[i] or '(' .. arguments[i] .. ')', simple = simple}
  end
  local expression = replace_names(callee.expression, function(word)
    uses[word] = (uses[word] or 0) + 1
    if given[word] and not given[word].simple and uses[word] > 1 then
      fail(name .. ' needs a name for its ' .. word .. ', which it uses twice')
    end
    return given[word] and given[word].text
  end)
  return expression:find('^[%w_%.]+%b()$') and expression or '(' .. expression .. ')'
end

local function written_out(text)
  local changed
  repeat
    changed = false
    local at = 1
    while true do
      local from, last, before, name, arguments = text:find('([%.:]?)%f[%w_]([%w_]+)(%b())', at)
      if not from then break end
      at = from + #before + #name
      if before == '' and inlined[name] then
        text = text:sub(1, from - 1) .. call_of(name, split(arguments:sub(2, -2))) .. text:sub(last + 1)
        at, changed = from, true
      end
    end
  until not changed
  return replace_names(text, function(name) return constants[name] end)
end

for _, piece in ipairs(pieces) do piece.text = written_out(piece.text) end

-- The pieces that are reached from what is no function, and from the frame, without passing `without`.
local function reached_without(without)
  local reached = {}
  local function reach(piece)
    reached[piece] = true
    replace_names(piece.text, function(word)
      for _, other in ipairs(pieces) do
        if other.name == word and other ~= without and not reached[other] and not other.gone then reach(other) end
      end
    end)
  end
  for _, piece in ipairs(pieces) do
    if (not piece.name or piece.frame) and not piece.gone then reach(piece) end
  end
  return reached
end

for piece in pairs(reached_without(nil)) do piece.needed = true end
for _, piece in ipairs(pieces) do piece.gone = not piece.needed end

-- The names that `text` declares, parameters too.
local function declared_in(text)
  local names = {}
  for _, form in ipairs({'%f[%w_]local ([%w_, ]+)', '%f[%w_]for ([%w_, ]+) ', 'function [%w_]*%(([%w_, ]*)%)'}) do
    for list in text:gmatch(form) do
      for name in list:gmatch('[%w_]+') do names[name] = true end
    end
  end
  return names
end

-- `text`, for a place inside `host`, where it has to see the same variables as where it was written.
local function moved(piece, text, host)
  local outer = declared_in(host.text)
  for name in pairs(declared_in(piece.text)) do outer[name] = nil end
  replace_names(text, function(word)
    if outer[word] then fail(piece.name .. ' would see a ' .. word .. ' of its caller') end
  end)
  return text
end

-- The functions that only `callee` needs, in front of its `text`.
local function with_helpers(callee, text, host)
  local reached, out = reached_without(callee), {}
  for _, piece in ipairs(pieces) do
    if piece.name and not piece.gone and piece ~= callee and not reached[piece] then
      out[#out + 1] = moved(piece, piece.text, host)
      piece.gone = true
    end
  end
  out[#out + 1] = text
  return table.concat(out, '\n')
end

-- Puts `callee` where `host` calls it, if that is its only use.
local function put_into(callee, host)
  local from, last, given = host.text:find('%f[%w_]return ' .. callee.name .. '(%b())')
  if from and host.text:find('^%s*%l+%f[^%w_]', last + 1) and
    ({['end'] = 1, ['else'] = 1, ['elseif'] = 1, ['until'] = 1})[host.text:match('^%s*(%l+)', last + 1)] then
    local parameters, body = callee.text:match('^local function [%w_]+(%b())\n(.*)\nend$')
    parameters = parameters:sub(2, -2)
    local head = parameters == '' and '' or 'local ' .. parameters .. ' = ' .. (given == '()' and 'nil' or given:sub(2, -2)) .. '\n'
    local text = with_helpers(callee, 'do\n' .. moved(callee, body, host) .. '\nend', host)
    host.text = host.text:sub(1, from - 1) .. 'do\n' .. head .. text .. '\nreturn end' .. host.text:sub(last + 1)
    return true
  end
  from, last = host.text:find('%f[%w_]local [%w_, ]+ = ' .. callee.name .. '%b()%f[\n]')
  if from then
    local text = with_helpers(callee, moved(callee, callee.text, host), host)
    host.text = host.text:sub(1, from - 1) .. text .. '\n' .. host.text:sub(from)
    return true
  end
end

if frame then
  for i = #pieces, 1, -1 do
    local callee, uses, host = pieces[i], 0, nil
    if callee.name and callee.name ~= 'operate' and not callee.frame and not callee.gone and callee.text:find('\n') then
      for _, piece in ipairs(pieces) do
        if not piece.gone and piece ~= callee then
          replace_names(piece.text, function(word)
            if word == callee.name then uses, host = uses + 1, piece end
          end)
        end
      end
      if uses == 1 and host.name and not host.frame and put_into(callee, host) then callee.gone = true end
    end
  end
end

for line in io.lines(script_path) do
  print(line)
  break
end
local parts = {}
for _, piece in ipairs(pieces) do
  if not piece.gone and not piece.frame and frame then
    parts[#parts + 1] = piece.text
  elseif not piece.gone and not frame then
    print(piece.text)
  end
end
for _, piece in ipairs(pieces) do
  if not piece.gone and piece.frame then
    local text = piece.text:gsub('@parts\n', function() return table.concat(parts, '\n') .. '\n' end)
    print((text:gsub('\n[%s\n]*\n', '\n')))
  end
end
