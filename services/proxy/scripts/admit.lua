-- ARGV: prefix, key's id, configuration version, idempotency key's digest or ''
-- Whether it is worth looking at what the key asks: it has samples left, or repeats a request.
local id = ARGV[2]
local unfit = unready(id, ARGV[3])
if unfit then return unfit end
local budget, free, unspent = balance(id)
local repeated = ARGV[4] ~= '' and redis.call('EXISTS', kept_of(id, ARGV[4])) == 1
if budget and free < 1 and not repeated then
  redis.call('HINCRBY', account_of(id), 'refused', 1)
  return {'exhausted', id, budget, free, unspent, '', -1}
end
return {'admitted'}
