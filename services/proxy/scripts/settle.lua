-- ARGV: prefix, key's id, samples, reservation, idempotency key's digest, request's digest,
--       how long to keep the answer in ms, state ('done' or 'large'), status, headers, body, limits
local id, samples = ARGV[2], tonumber(ARGV[3])
local kept, limits = kept_of(id, ARGV[5]), limits_from(12)
local ask = {id = id, samples = samples, name = ARGV[4], now = milliseconds()}
-- Redis lost its data while the provider was asked: nobody can pay, and the answer may not go out.
if redis.call('HEXISTS', account_of(id), 'hash') == 0 then return {'late'} end
if redis.call('ZREM', open_of(id), ARGV[4] .. ':' .. samples) == 1 then
  redis.call('HINCRBY', account_of(id), 'reserved', -samples)
  if #limits > 0 then redis.call('DEL', taken_of(id, ARGV[4])) end
else
  -- The reservation expired and was given back. The answer may go out only if its samples are still
  -- there, and nobody else has taken over its idempotency key meanwhile.
  local owner = redis.call('HGET', kept, 'reservation')
  local budget, free = balance(id, ask.now)
  if (owner and owner ~= ARGV[4]) or (budget and free < samples) then return {'late'} end
  if look(limits, ask, budget, free) then return {'late'} end
  take(limits, ask)
end
redis.call('HINCRBY', account_of(id), 'spent', samples)
redis.call('HINCRBY', account_of(id), 'requests', 1)
redis.call('HSET', kept, 'digest', ARGV[6], 'state', ARGV[8], 'reservation', ARGV[4],
  'status', ARGV[9], 'headers', ARGV[10], 'body', ARGV[11])
redis.call('PEXPIRE', kept, ARGV[7])
return {'settled'}
