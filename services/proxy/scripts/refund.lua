-- ARGV: prefix, key's id, samples, reservation, idempotency key's digest or ''
local id, samples = ARGV[2], tonumber(ARGV[3])
if redis.call('ZREM', open_of(id), ARGV[4] .. ':' .. samples) == 1 then
  redis.call('HINCRBY', account_of(id), 'reserved', -samples)
  redis.call('HINCRBY', account_of(id), 'refunded', samples)
end
if ARGV[5] ~= '' then
  local kept = kept_of(id, ARGV[5])
  if redis.call('HGET', kept, 'reservation') == ARGV[4] then redis.call('DEL', kept) end
end
return {'refunded'}
