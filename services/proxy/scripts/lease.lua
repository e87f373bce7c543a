-- ARGV: prefix, key's id, configuration version, proxy, message's number, samples used, requests answered,
--       samples refunded, samples given back, samples that it keeps, samples needed at least, samples wanted,
--       hold in ms
-- Settles what a proxy used of its lease on the key's samples, and lends it more. A message that comes twice
-- is done once. The lease's record: samples held, last message, samples that it was lent, deadline.
local id, proxy = ARGV[2], ARGV[4]
local used, back, keeps = tonumber(ARGV[6]), tonumber(ARGV[9]), tonumber(ARGV[10])
local need, want = tonumber(ARGV[11]), tonumber(ARGV[12])
if redis.call('EXISTS', account_of(id)) == 0 then return {'unknown'} end
local now = milliseconds()
local budget, free, unspent, spent, requests = balance(id, now)
local record = redis.call('HGET', leases_of(id), proxy)
local held, last, lent = 0, 0, 0
if record then
  held, last, lent = string.match(record, '^(%d+) (%d+) (%d+)')
  held, last, lent = tonumber(held), tonumber(last), tonumber(lent)
elseif used + back + keeps > 0 then
  return {'gone'} -- it came too late: all that was held is spent
end

local outcome = 'lent'
if last ~= tonumber(ARGV[5]) then
  -- A replica that was promoted may lack what this proxy was lent last: it is lent now.
  local unheard = math.max(0, used + back + keeps - held)
  held = held + unheard - used - back
  free, unspent = free - unheard + back, unspent - used
  lent = 0
  if outdated(ARGV[3]) then
    outcome = 'stale'
  elseif budget and free < need then
    outcome = 'exhausted'
    if need > 0 then redis.call('HINCRBY', account_of(id), 'refused', 1) end
  else
    -- Few remain: several proxies share them, so nobody takes many.
    lent = math.max(need, budget and math.min(want, math.floor(free / 8)) or want)
  end
  held, free = held + lent, free - lent
  redis.call('HINCRBY', account_of(id), 'leased', lent + unheard - used - back)
  redis.call('HSET', account_of(id), 'spent', spent + used, 'requests', requests + ARGV[7])
  if ARGV[8] ~= '0' then redis.call('HINCRBY', account_of(id), 'refunded', ARGV[8]) end
end
if held == 0 then
  redis.call('HDEL', leases_of(id), proxy)
else
  local lease = string.format('%.0f %s %.0f %.0f', held, ARGV[5], lent, now + ARGV[13])
  redis.call('HSET', leases_of(id), proxy, lease)
end
-- The last: what is neither spent nor this proxy's own, so that it may become free.
return {outcome, lent, budget, free, unspent - held}
