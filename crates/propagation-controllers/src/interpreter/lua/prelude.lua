-- Runs once in every machine, before any script. Gives what scripts see: Lua 5.1 without files, processes, loading of
-- code and metatables. What takes its time outside of the machine's instructions is taken from the budget (spend).
local native = ...
local spend, exhausted, words = native.spend, native.exhausted, native.words
local error, next, pairs, pcall, select, tonumber, type = error, next, pairs, pcall, select, tonumber, type
local abs, huge, min, without = math.abs, math.huge, math.min, string.gsub
local format, each = string.format, string.gmatch

local function copy(from)
  local to = {}
  for name, value in pairs(from) do
    to[name] = value
  end
  return to
end

local function want(wanted, value, number, name)
  if type(value) ~= wanted then
    error("bad argument #" .. number .. " to '" .. name .. "' (" .. wanted .. " expected, got " .. type(value) .. ")", 3)
  end
end

local seen = {
  _VERSION = _VERSION,
  assert = assert,
  error = error,
  ipairs = ipairs,
  next = next,
  pairs = pairs,
  select = select,
  type = type,
  unpack = unpack,
}

-- Output has no place to go to.
function seen.print() end

function seen.tonumber(value, base)
  if type(value) == "string" then
    spend(#value)
  end
  if base == nil then
    return tonumber(value)
  end
  return tonumber(value, base)
end

-- Whole numbers in full, as stock's machine has them, and others with all digits that tell them from their neighbours.
-- Lua's own has 1e+14 and fourteen digits.
local function shown(value)
  if type(value) ~= "number" then
    return tostring(value)
  end
  if value ~= value then
    return "NaN"
  end
  if abs(value) == huge then
    return value > 0 and "+Inf" or "-Inf"
  end
  if value % 1 == 0 and abs(value) < 2 ^ 63 then
    return format("%d", value)
  end
  for digits = 14, 16 do
    local written = format("%." .. digits .. "g", value)
    if tonumber(written) == value then
      return written
    end
  end
  return format("%.17g", value)
end
seen.tostring = shown

local function packed(...)
  return { n = select("#", ...), ... }
end

-- All results in one: Lua's own pcall has no room for more than a few.
local function gathered(called, ...)
  return packed(called(...))
end

-- A script that has spent its budget ends: no pcall catches that.
local function judged(ok, result)
  if ok then
    return true, unpack(result, 1, result.n)
  end
  if exhausted() then
    error(result, 0)
  end
  result = words(result)
  if type(result) == "string" then
    result = without(result, "^library:%d+: ", "")
  end
  return false, result
end

function seen.pcall(...)
  return judged(pcall(gathered, ...))
end

-- The handler runs behind the error, not on top of it: on top of it nothing counts its instructions.
local function handled(handler, ok, ...)
  if ok then
    return ok, ...
  end
  return ok, handler(...)
end

function seen.xpcall(called, handler)
  return handled(handler, judged(pcall(gathered, called)))
end

for name, refused in pairs(native.stubs) do
  seen[name] = refused
end
seen.require = native.require

local text = copy(string)
text.dump = nil
text.find, text.match, text.gsub = native.find, native.match, native.gsub

function text.gmatch(subject, pattern)
  want("string", subject, 1, "gmatch")
  want("string", pattern, 2, "gmatch")
  local at = 1
  local function went_on(behind, ...)
    at = behind
    return ...
  end
  return function()
    if at then
      return went_on(native.gmatch_step(subject, pattern, at))
    end
  end
end
text.gfind = text.gmatch

for _, name in ipairs({ "upper", "lower", "reverse" }) do
  local call = string[name]
  text[name] = function(subject)
    spend(#tostring(subject))
    return call(subject)
  end
end

local repeated = string.rep
function text.rep(subject, times)
  subject = tostring(subject)
  want("number", times, 2, "rep")
  if subject == "" or times < 1 then
    return ""
  end
  spend(#subject * times / 8)
  return repeated(subject, times)
end

-- %s takes any value, as in stock's machine.
function text.format(pattern, ...)
  pattern = tostring(pattern)
  spend(#pattern)
  local given, at = packed(...), 0
  for _, conversion in each(pattern, "%%([-+ #0-9.]*)(.)") do
    if conversion ~= "%" then
      at = at + 1
    end
    if conversion == "s" and at <= given.n then
      given[at] = shown(given[at])
    end
  end
  local ok, formatted = pcall(format, pattern, unpack(given, 1, given.n))
  if not ok then
    error((without(words(formatted), "'%?'", "'format'")), 2)
  end
  spend(#formatted / 8)
  return formatted
end

-- Methods of texts go to the same functions.
for name in pairs(string) do
  string[name] = text[name]
end
string.gfind = text.gfind

local list = {}

function list.insert(items, ...)
  want("table", items, 1, "insert")
  local length, given = #items, select("#", ...)
  if given == 1 then
    items[length + 1] = (...)
  elseif given == 2 then
    local position, value = ...
    want("number", position, 2, "insert")
    for place = length, position, -1 do
      items[place + 1] = items[place]
    end
    items[position] = value
  else
    error("wrong number of arguments to 'insert'", 2)
  end
end

function list.remove(items, position)
  want("table", items, 1, "remove")
  local length = #items
  position = position or length
  if position < 1 or position > length then
    return nil
  end
  local value = items[position]
  for place = position, length do
    items[place] = items[place + 1]
  end
  return value
end

local concat = table.concat
function list.concat(items, separator, first, last)
  want("table", items, 1, "concat")
  separator, first, last = separator or "", first or 1, last or #items
  spend(last - first)
  local written
  for place = first, last do
    local value = items[place]
    if type(value) == "number" then
      written = written or copy(items)
      written[place] = shown(value)
    end
  end
  local joined = concat(written or items, separator, first, last)
  spend(#joined / 8)
  return joined
end

-- In Lua, so that its instructions count; and stable.
function list.sort(items, less)
  want("table", items, 1, "sort")
  less = less or function(a, b)
    return a < b
  end
  local length, width, from, to = #items, 1, items, {}
  while width < length do
    for left = 1, length, 2 * width do
      local middle, behind = min(left + width, length + 1), min(left + 2 * width, length + 1)
      local a, b = left, middle
      for place = left, behind - 1 do
        if a < middle and (b >= behind or not less(from[b], from[a])) then
          to[place], a = from[a], a + 1
        else
          to[place], b = from[b], b + 1
        end
      end
    end
    from, to, width = to, from, 2 * width
  end
  if from ~= items then
    for place = 1, length do
      items[place] = from[place]
    end
  end
end

function list.maxn(items)
  want("table", items, 1, "maxn")
  local largest = 0
  for key in pairs(items) do
    if type(key) == "number" and key > largest then
      largest = key
    end
  end
  return largest
end

function list.getn(items)
  want("table", items, 1, "getn")
  return #items
end

-- The same numbers each time: what a script says of an object must not depend on chance.
local numbers, state = copy(math), 1
function numbers.randomseed() end
function numbers.random(low, high)
  state = (state * 16807) % 2147483647
  local part = state / 2147483647
  if low == nil then
    return part
  end
  if high == nil then
    low, high = 1, low
  end
  if low > high then
    error("bad argument to 'random' (interval is empty)", 2)
  end
  return low + math.floor(part * (high - low + 1))
end

local function begin()
  state = 1
end

return seen, { string = text, table = list, math = numbers, os = native.os }, begin
