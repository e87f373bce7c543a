-- ARGV: prefix, target, requests' interval in microseconds, samples to send, most samples in all or -1
-- One request of many proxies: now, then its samples count as sent, or after so many milliseconds. No turn is
-- kept for later, since who waits for it may have gone by then.
local counts = prefix .. 'target:' .. ARGV[2]
local samples, most = tonumber(ARGV[4]), tonumber(ARGV[5])
local sent = tonumber(redis.call('HGET', counts, 'sent') or 0)
if most >= 0 and sent + samples > most then return {'spent', sent} end
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local turn = tonumber(redis.call('HGET', counts, 'turn') or time)
if turn > time then return {'wait', math.ceil((turn - time) / 1000)} end
redis.call('HINCRBY', counts, 'sent', samples)
redis.call('HINCRBY', counts, 'requests', 1)
-- A turn that comes late by less than an interval is made up for: waiting is not exact.
local due = math.max(turn, time - tonumber(ARGV[3])) + tonumber(ARGV[3])
redis.call('HSET', counts, 'turn', string.format('%.0f', due))
return {'send', 0}
