-- ARGV: prefix, key's SHA-256, idempotency key's digest or ''
-- Whether it is worth looking at what the key asks: it has samples left, or repeats a request.
local id = redis.call('GET', prefix .. 'auth:' .. ARGV[2])
if not id then return {'unknown'} end
local budget, free, unspent = balance(id)
local repeated = ARGV[3] ~= '' and redis.call('EXISTS', kept_of(id, ARGV[3])) == 1
if budget and free < 1 and not repeated then
  redis.call('HINCRBY', account_of(id), 'refused', 1)
  return {'exhausted', id, budget, free, unspent, '', -1}
end
return {'admitted'}
