-- Before each script. All state of a key is read and changed in one step, so the count is exact
-- under any concurrency. Only commands that Redis 6.2 has.
local prefix = ARGV[1]

local function account_of(id) return prefix .. 'key:' .. id end
local function open_of(id) return prefix .. 'open:' .. id end
local function kept_of(id, idempotency) return prefix .. 'kept:' .. id .. ':' .. idempotency end

local function milliseconds()
  local now = redis.call('TIME')
  return now[1] * 1000 + math.floor(now[2] / 1000)
end

-- Reservations past their deadline belong to a proxy that died: give their samples back.
local function give_back_expired(id, now)
  local late = redis.call('ZRANGEBYSCORE', open_of(id), '-inf', now)
  if #late == 0 then return end
  local samples = 0
  for _, member in ipairs(late) do samples = samples + tonumber(string.match(member, ':(%d+)$')) end
  redis.call('ZREMRANGEBYSCORE', open_of(id), '-inf', now)
  redis.call('HINCRBY', account_of(id), 'reserved', -samples)
  redis.call('HINCRBY', account_of(id), 'refunded', samples)
end

-- Budget (false: unlimited), samples neither spent nor reserved, samples not spent.
local function balance(id)
  local account = redis.call('HMGET', account_of(id), 'budget', 'spent', 'reserved')
  local budget = tonumber(account[1] or '')
  if not budget then return false, 0, 0 end
  local unspent = budget - tonumber(account[2] or 0)
  return budget, unspent - tonumber(account[3] or 0), unspent
end
