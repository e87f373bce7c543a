-- ARGV: prefix, key's id, configuration version, samples, charge, limits
-- Spends the samples at once. The version guards the id: a key that is revoked changes it.
local id, samples = ARGV[2], tonumber(ARGV[4])
local unfit = unready(id, ARGV[3])
if unfit then return unfit end
local limits = limits_from(6)
local ask = {id = id, samples = samples, name = ARGV[5], now = #limits > 0 and milliseconds()}
local budget, free, unspent, spent, requests = balance(id)
local refused, total, left = refusal(limits, ask, budget, free, unspent)
if refused then return refused end
local notes = take(limits, ask)
redis.call('HSET', account_of(id), 'spent', spent + samples, 'requests', requests + 1)
return {'charged', id, total, left - samples, notes}
