-- ARGV: prefix, key's id, configuration version, samples, reservation, hold in ms,
--       idempotency key's digest, request's digest, limits
local id, samples, hold = ARGV[2], tonumber(ARGV[4]), tonumber(ARGV[6])
local unfit = unready(id, ARGV[3])
if unfit then return unfit end
local now = milliseconds()
local budget, free, unspent = balance(id, now)

local kept = kept_of(id, ARGV[7])
local record = redis.call('HMGET', kept, 'digest', 'state', 'status', 'headers', 'body')
if record[1] then
  if record[1] ~= ARGV[8] then return {'mismatch'} end
  if record[2] == 'open' then return {'in-flight', redis.call('PTTL', kept)} end
  if record[2] == 'large' then return {'large'} end
  redis.call('HINCRBY', account_of(id), 'replays', 1)
  return {'replay', id, budget, free, record[3], record[4], record[5]}
end

local limits, ask = limits_from(9), {id = id, samples = samples, name = ARGV[5], now = now}
local refused, total, left = refusal(limits, ask, budget, free, unspent)
if refused then return refused end
local notes = take(limits, ask)
if #limits > 0 then -- what gives them back if this proxy dies
  for _, limit in ipairs(limits) do limit.kind = nil end
  redis.call('SET', taken_of(id, ARGV[5]), cmsgpack.pack(limits))
end
redis.call('ZADD', open_of(id), now + hold, ARGV[5] .. ':' .. samples)
redis.call('HINCRBY', account_of(id), 'reserved', samples)
redis.call('HSET', kept, 'digest', ARGV[8], 'state', 'open', 'reservation', ARGV[5])
redis.call('PEXPIRE', kept, hold) -- it lives as long as its reservation
return {'reserved', id, total, left - samples, notes}
