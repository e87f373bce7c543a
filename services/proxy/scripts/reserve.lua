-- ARGV: prefix, key's SHA-256, configuration version, samples, reservation, hold in ms,
--       idempotency key's digest or '', request's digest
local id = redis.call('GET', prefix .. 'auth:' .. ARGV[2])
if not id then return {'unknown'} end
if (redis.call('GET', prefix .. 'version') or '0') ~= ARGV[3] then return {'stale'} end

local samples, hold = tonumber(ARGV[4]), tonumber(ARGV[6])
local now = milliseconds()
give_back_expired(id, now)
local budget, free, unspent = balance(id)

local kept = ARGV[7] ~= '' and kept_of(id, ARGV[7])
if kept then
  local record = redis.call('HMGET', kept, 'digest', 'state', 'status', 'headers', 'body')
  if record[1] then
    if record[1] ~= ARGV[8] then return {'mismatch'} end
    if record[2] == 'open' then return {'in-flight', redis.call('PTTL', kept)} end
    if record[2] == 'large' then return {'large'} end
    redis.call('HINCRBY', account_of(id), 'replays', 1)
    return {'replay', id, budget, free, record[3], record[4], record[5]}
  end
end

if budget and free < samples then
  redis.call('HINCRBY', account_of(id), 'refused', 1)
  return {'exhausted', id, budget, free, unspent}
end
redis.call('ZADD', open_of(id), now + hold, ARGV[5] .. ':' .. samples)
redis.call('HINCRBY', account_of(id), 'reserved', samples)
if kept then
  redis.call('HSET', kept, 'digest', ARGV[8], 'state', 'open', 'reservation', ARGV[5])
  redis.call('PEXPIRE', kept, hold) -- it lives as long as its reservation
end
return {'reserved', id, budget, free - samples}
