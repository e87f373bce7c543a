-- ARGV: prefix, key's id, samples, charge, what to do ('take' or 'give'), limits
-- Charges limits that lie elsewhere than the account, or undoes that.
local limits, ask = limits_from(6), {id = ARGV[2], samples = tonumber(ARGV[3]), name = ARGV[4], now = milliseconds()}
if ARGV[5] == 'give' then
  give(limits, ask)
  return {'given'}
end
local name, total, left, wait = look(limits, ask, false, 0)
if name then return {'exhausted', ask.id, total, left, left, name, wait or -1} end
local notes = take(limits, ask)
return {'taken', ask.id, total, left - ask.samples, notes}
