-- SPDX-License-Identifier: Apache-2.0
--
-- lua5.1 link_lua.lua KEYS SCRIPT PART...: prints the script as Redis gets it when each lock has KEYS
-- keys (1 or 2), with the parts that it stands on before it.
--
-- Redis makes every function of a script anew in each call, which costs more than what the functions
-- do for one lock. So this program writes short things out where they are used and leaves out the rest:
--
--   comments            go
--   `... -- two keys`   such lines go if a lock has one key
--   constants           names in capitals that stand for a number or a text are replaced by it
--   one-line functions  `local function f(a, b) return EXPRESSION end` is written into its callers. It
--                       has one value, unless it only calls another function. What is given for a
--                       parameter that stands there twice has to be a name, a number or a text
--   other functions     go if nothing names them

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
    local two_keys = line:match('^(.-)%s*%-%- two keys$')
    line = two_keys or line
    if line:find('%S') and not line:find('^%s*%-%-') and not line:find('^#!') and
      not (two_keys and keys_per_lock == 1) then
      if open then
        open.text = open.text .. '\n' .. line
      else
        open = {name = line:match('^local function ([%w_]+)%('), text = line}
        pieces[#pieces + 1] = open
      end
      if not open.name or line == 'end' or line:find('^local function .* end$') then open = nil end
    end
  end
  return pieces
end

local pieces = {}
for i = 3, #arg + 1 do
  for _, piece in ipairs(pieces_of(arg[i] or script_path)) do pieces[#pieces + 1] = piece end
end

-- Constants.
local constants = {}
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

-- What is named, beginning with what is no function.
local function name_all(piece)
  piece.needed = true
  replace_names(piece.text, function(word)
    for _, other in ipairs(pieces) do
      if other.name == word and not other.needed and not other.gone then name_all(other) end
    end
  end)
end
for _, piece in ipairs(pieces) do
  if not piece.name and not piece.gone then name_all(piece) end
end

for line in io.lines(script_path) do
  print(line)
  break
end
for _, piece in ipairs(pieces) do
  if piece.needed then print(piece.text) end
end
