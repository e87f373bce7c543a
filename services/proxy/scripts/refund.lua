-- ARGV: prefix, key's id, samples, reservation or charge, idempotency key's digest or '', whether it is spent,
--       what it counts as ('refunded', 'refused', or '': as if it had never been), limits
local id, samples = ARGV[2], tonumber(ARGV[3])
local undone, limits = false, limits_from(8)
if ARGV[6] == '1' then
  undone = redis.call('EXISTS', account_of(id)) == 1
  if undone then
    redis.call('HINCRBY', account_of(id), 'spent', -samples)
    redis.call('HINCRBY', account_of(id), 'requests', -1)
  end
elseif redis.call('ZREM', open_of(id), ARGV[4] .. ':' .. samples) == 1 then
  redis.call('HINCRBY', account_of(id), 'reserved', -samples)
  if #limits > 0 then redis.call('DEL', taken_of(id, ARGV[4])) end
  undone = true
end
if undone then
  if ARGV[7] ~= '' then
    redis.call('HINCRBY', account_of(id), ARGV[7], ARGV[7] == 'refused' and 1 or samples)
  end
  if #limits > 0 then give(limits, {id = id, samples = samples, name = ARGV[4], now = milliseconds()}) end
end
if ARGV[5] ~= '' then
  local kept = kept_of(id, ARGV[5])
  local record = redis.call('HMGET', kept, 'reservation', 'state')
  if record[1] == ARGV[4] and record[2] == 'open' then redis.call('DEL', kept) end -- an answer stays
end
return {'refunded', undone}
