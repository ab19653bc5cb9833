-- SPDX-License-Identifier: Apache-2.0
--
-- lua5.1 link_lua.lua KEYS SCRIPT PART...: prints the script as Redis gets it when each lock has KEYS
-- keys (1 or 2), with the parts that it stands on before it.
--
-- Redis makes every function of a script anew in each call, which costs more than what the functions
-- do for one lock. So this program writes things out where they are used and leaves out the rest:
--
--   comments            go
--   `... -- two keys`   such lines go if a lock has one key
--   `... -- one key`    such lines go if a lock has two
--   constants           names in capitals that stand for a number or a text are replaced by it
--   one-line functions  `local function f(a, b) return EXPRESSION end` is written into its callers. It
--                       has one value, unless it only calls another function. What is given for a
--                       parameter that stands there twice has to be a name, a number or a text
--   the operation       what `return each(LENGTHS, RESULTS, function(...) ... end)` does for each lock
--                       is written into the loop of the frame, the part that has a line `-- operation`.
--                       There `return` ends a `repeat ... until true`, so it has no loops itself
--   longer functions    without loops, of which the operation says once `return f(...)` or
--                       `local a, b = f(...)`, are written out there too
--   other functions     go if nothing names them. Else they stand at the line `-- parts` of the frame

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
    line = line:gsub('^%s*%-%- (%l+)$', {parts = '@parts', operation = '@operation'})
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

-- The frame's pieces stand apart: `@parts` and `@operation` are its places for the others.
local pieces, frame = {}, nil
for i = 3, #arg + 1 do
  local more, is_frame = pieces_of(arg[i] or script_path), false
  for _, piece in ipairs(more) do is_frame = is_frame or piece.text:find('@operation') end
  for _, piece in ipairs(more) do
    piece.frame = is_frame
    pieces[#pieces + 1] = piece
  end
  frame = frame or is_frame
end

-- Constants.
local constants = {}
local operation = nil
for _, piece in ipairs(pieces) do
  local lengths, results, parameters, body =
    piece.text:match('^return each%((%b{}), (%d+), function(%b())\n(.*)\nend%)$')
  if frame and lengths then
    operation = {text = body}
    if ('(key, at, line)'):sub(1, #parameters - 1) ~= parameters:sub(1, -2) then
      fail('the operation has to be a function(key, at, line)')
    end
    lengths = split(lengths:sub(2, -2))
    local wrong = {}
    for i, length in ipairs(lengths) do
      if length ~= '0' then
        wrong[#wrong + 1] = '#arguments[at' .. (i > 1 and ' + ' .. i - 1 or '') .. '] ~= ' .. length
      end
    end
    constants.ARGUMENTS, constants.RESULTS = tostring(#lengths), results
    constants.STRIDE = tostring(math.max(#lengths, 1))
    constants.WRONG_LENGTH = #wrong > 0 and table.concat(wrong, ' or ') or 'false'
    constants.KEYS_PER_LOCK = tostring(keys_per_lock)
    constants.KEYS_WANTED = "'" .. keys_per_lock .. "'"
    piece.text, piece.gone = '', true
  end
end
if frame and not operation then fail('there is no operation') end

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
if operation then operation.text = written_out(operation.text) end

-- What is named, beginning with what is no function.
local function name_all(piece)
  piece.needed = true
  replace_names(piece.text, function(word)
    for _, other in ipairs(pieces) do
      if other.name == word and not other.needed and not other.gone then name_all(other) end
    end
  end)
end
local function find_needed()
  for _, piece in ipairs(pieces) do piece.needed = false end
  for _, piece in ipairs(pieces) do
    if (not piece.name or piece.frame) and not piece.gone then name_all(piece) end
  end
  if operation then
    name_all({text = operation.written or operation.text})
  end
end
find_needed()

-- How often the needed pieces name each function.
local uses = {}
local function count_uses(text)
  replace_names(text, function(word) uses[word] = (uses[word] or 0) + 1 end)
end
for _, piece in ipairs(pieces) do
  if piece.needed then count_uses(piece.text) end
end
if operation then count_uses(operation.text) end

local function has_word(text, words)
  local found = nil
  replace_names(text, function(word) found = found or words[word] and word end)
  return found
end
local LOOPS = {['for'] = true, ['while'] = true, ['repeat'] = true, ['function'] = true}

-- Functions that can be written out at the one place that names them.
local once = {}
for _, piece in ipairs(pieces) do
  if piece.name and piece.needed and not piece.frame and uses[piece.name] == 2 then
    local parameters, body = piece.text:match('^local function [%w_]+(%b())\n(.*)\nend$')
    if body then
      local whole = has_word(body, LOOPS) and piece.text
      once[piece.name] = {piece = piece, parameters = split(parameters:sub(2, -2)), body = body,
        whole = whole}
    end
  end
end

-- The names that `text` declares.
local function declared_in(text)
  local names = {}
  for _, form in ipairs({'%f[%w_]local ([%w_, ]+)', '%f[%w_]for ([%w_, ]+) '}) do
    for list in text:gmatch(form) do
      for name in list:gmatch('[%w_]+') do names[name] = true end
    end
  end
  return names
end

-- The functions that are not needed if nothing names `callee`.
local function needed_only_by(callee)
  local reached, only = {}, {}
  local function reach(piece)
    reached[piece] = true
    replace_names(piece.text, function(word)
      for _, other in ipairs(pieces) do
        if other.name == word and other ~= callee and not reached[other] then reach(other) end
      end
    end)
  end
  for _, piece in ipairs(pieces) do
    if not piece.name or piece.frame then reach(piece) end
  end
  reach(operation)
  for _, piece in ipairs(pieces) do
    if piece.name and piece.needed and not piece.gone and not reached[piece] then only[#only + 1] = piece end
  end
  return only
end

local returning

-- Fails if `text`, which has the names `own` for itself, would see other variables where `around` is
-- than where it was written.
local function check_names(name, text, own, around)
  local outer = declared_in(around)
  for word in pairs(own) do outer[word] = nil end
  local caught = has_word(text, outer)
  if caught then fail(name .. ' would see a ' .. caught .. ' of its caller') end
end

-- `piece`, a function, for a place inside `around`.
local function moved(piece, around)
  local own = declared_in(piece.text)
  for _, parameter in ipairs(split(piece.text:match('^local function [%w_]+(%b())'):sub(2, -2))) do
    own[parameter] = true
  end
  check_names(piece.name, piece.text, own, around)
  piece.gone = true
  return piece.text .. '\n'
end

-- The functions that only `callee` needs, for its place inside `around`.
local function helpers_of(callee, around)
  local helpers = {}
  for _, piece in ipairs(needed_only_by(callee)) do helpers[#helpers + 1] = moved(piece, around) end
  return table.concat(helpers)
end

-- The function `name`, which has loops, to stand before the statement inside `around` that calls it.
local function function_of(name, around)
  local callee = once[name]
  local text = moved(callee.piece, around)
  return helpers_of(callee.piece, around) .. text
end

-- The body of `name`, which is given `given`; it answers in `targets` and by `break`.
local function body_of(name, given, targets, around)
  local callee = once[name]
  callee.piece.gone = true
  local own = declared_in(callee.body)
  for _, parameter in ipairs(callee.parameters) do own[parameter] = true end
  check_names(name, callee.body, own, around)
  -- What has the same name is the parameter, unless it is changed.
  local changed, names, values = {}, {}, {}
  for list in callee.body:gmatch('([%w_, ]+) = ') do
    for word in list:gmatch('[%w_]+') do changed[word] = true end
  end
  for i, parameter in ipairs(callee.parameters) do
    if given[i] ~= parameter or changed[parameter] then
      names[#names + 1], values[#values + 1] = parameter, given[i] or 'nil'
    end
  end
  local head = ''
  if #names > 0 then
    head = 'local ' .. table.concat(names, ', ') .. ' = ' .. table.concat(values, ', ') .. '\n'
  end
  local inner = around .. '\n' .. head .. callee.body
  local body = returning(callee.body, targets, inner)
  return helpers_of(callee.piece, inner) .. head .. body
end

-- `text` with `targets = ... break` for its returns, and with the functions that it names once.
function returning(text, targets, around)
  local written = {}
  text = (text .. '\n'):gsub('(\n%s*)local ([%w_, ]+) = ([%w_]+)(%b())%f[\n]', function(space, names, name, given)
    if not once[name] or once[name].piece.gone then return nil end
    local answers = {}
    for i in ipairs(split(names)) do answers[i] = name .. '_' .. i end
    answers = table.concat(answers, ', ')
    written[#written + 1] = once[name].whole and
      space .. function_of(name, around) .. 'local ' .. names .. ' = ' .. name .. given or
      space .. 'local ' .. answers .. ' repeat\n' ..
      body_of(name, split(given:sub(2, -2)), answers, around) .. '\nuntil true\nlocal ' .. names ..
      ' = ' .. answers
    return '@' .. #written .. '@'
  end)
  local out, at = {}, 1
  while true do
    local from, after = text:find('%f[%w_]return%f[^%w_]', at)
    if not from then break end
    out[#out + 1] = text:sub(at, from - 1)
    -- What is returned ends where its block ends.
    local to, depth, quoted = after + 1, 0, false
    while to <= #text do
      local char = text:sub(to, to)
      if char == "'" then
        quoted = not quoted
      elseif not quoted and char:find('[%(%[{]') then
        depth = depth + 1
      elseif not quoted and char:find('[%)%]}]') then
        depth = depth - 1
      elseif not quoted and depth == 0 and text:sub(to - 1, to - 1):find('%s') then
        local word = text:match('^%a+%f[^%w_]', to)
        if word == 'end' or word == 'else' or word == 'elseif' or word == 'until' then break end
      end
      to = to + 1
    end
    local value, space = text:sub(after + 1, to - 1):match('^%s*(.-)(%s*)$')
    local name, given = value:match('^([%w_]+)(%b())$')
    if name and once[name] and not once[name].piece.gone then
      value = once[name].whole and
        function_of(name, around) .. targets .. ' = ' .. value .. ' break' or
        'do\n' .. body_of(name, split(given:sub(2, -2)), targets, around) .. '\nend break'
    else
      value = value == '' and 'break' or targets .. ' = ' .. value .. ' break'
    end
    out[#out + 1] = value .. space
    at = to
  end
  text = table.concat(out) .. text:sub(at)
  return (text:gsub('@(%d+)@', function(number) return written[number + 0] end))
end

if operation then
  local loop = has_word(operation.text, LOOPS)
  if loop then fail('an operation cannot have a ' .. loop) end
  local hidden = has_word(operation.text, {result = true, second = true, third = true, fourth = true})
  if hidden then fail('an operation cannot have a ' .. hidden) end
  -- The line break lets patterns find what stands first.
  operation.written = returning('\n' .. operation.text, 'result, second, third, fourth', operation.text):sub(2)
  find_needed()
end

for line in io.lines(script_path) do
  print(line)
  break
end
local parts = {}
for _, piece in ipairs(pieces) do
  if piece.needed and not piece.frame and frame then
    parts[#parts + 1] = piece.text
  elseif piece.needed and not frame then
    print(piece.text)
  end
end
for _, piece in ipairs(pieces) do
  if piece.needed and piece.frame then
    local text = piece.text:gsub('@(%l+)\n', function(place)
      return (place == 'parts' and table.concat(parts, '\n') or operation.written) .. '\n'
    end)
    print((text:gsub('\n[%s\n]*\n', '\n')))
  end
end
