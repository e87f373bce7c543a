-- Before each script. All state of a key is read and changed in one step, so the count is exact
-- under any concurrency. Only commands that Redis 6.2 has.
local prefix = ARGV[1]

local function account_of(id) return prefix .. 'key:' .. id end
local function open_of(id) return prefix .. 'open:' .. id end
local function leases_of(id) return prefix .. 'leases:' .. id end
local function taken_of(id, name) return prefix .. 'taken:' .. id .. ':' .. name end
local function kept_of(id, idempotency) return prefix .. 'kept:' .. id .. ':' .. idempotency end
local function limit_of(name) return prefix .. 'limit:' .. name end

-- In a cluster a script knows its keys beforehand. The configuration and the limits lie elsewhere then, and
-- who calls sees to them.
local function clustered() return #KEYS > 0 end

-- Whether the configuration is not of that version any more.
local function outdated(version)
  return not clustered() and (redis.call('GET', prefix .. 'version') or '0') ~= version
end

-- Why nothing can be charged; nil where it can. An account that is not there would have no bound.
local function unready(id, version)
  if outdated(version) then return {'stale'} end
  if clustered() and redis.call('EXISTS', account_of(id)) == 0 then return {'unknown'} end
end

local function milliseconds()
  local now = redis.call('TIME')
  return now[1] * 1000 + math.floor(now[2] / 1000)
end

-- A kind of limit that counts units in one field of the limit's hash. A limit is {kind, name, field, total,
-- units a sample}. Every kind has these three functions; `ask` is {id, samples, name, now}.
local function counter()
  return {
    -- What it allows in all and what is free of that, both in samples of this kind of request; and after how
    -- many milliseconds there will be enough, where time helps. Nothing where it never refuses.
    check = function(limit)
      local used = tonumber(redis.call('HGET', limit_of(limit[2]), limit[3]) or 0)
      local total, cost = tonumber(limit[4]), tonumber(limit[5])
      return math.floor(total / cost), math.floor((total - used) / cost)
    end,
    -- Charge the samples. What it returns reaches the proxy.
    take = function(limit, ask)
      redis.call('HINCRBY', limit_of(limit[2]), limit[3], ask.samples * tonumber(limit[5]))
    end,
    -- Undo the charge.
    give = function(limit, ask)
      redis.call('HINCRBY', limit_of(limit[2]), limit[3], -ask.samples * tonumber(limit[5]))
    end,
  }
end

local function kind_of(name)
--KINDS
  error('no kind of limit is called ' .. name)
end

-- The limits that stand in ARGV from `first`: how many; for each the number of its fields, then its fields.
local function limits_from(first)
  local limits, at = {}, first + 1
  for number = 1, tonumber(ARGV[first]) do
    local fields = tonumber(ARGV[at])
    limits[number] = {unpack(ARGV, at + 1, at + fields)}
    at = at + fields + 1
  end
  return limits
end

-- Look at all limits: the first that has too little left, with what its check says. Else nil, and the total and
-- the free samples of the tightest (false where nothing bounds the key), `budget` and `free` considered.
local function look(limits, ask, budget, free)
  for _, limit in ipairs(limits) do
    limit.kind = kind_of(limit[1])
    local total, left, wait = limit.kind.check(limit, ask)
    if total then
      if left < ask.samples then return limit[2], total, left, wait end
      if not budget or left < free then budget, free = total, left end
    end
  end
  return nil, budget, free
end

-- Charge all limits; returns what each of them tells.
local function take(limits, ask)
  local notes = {}
  for number, limit in ipairs(limits) do notes[number] = limit.kind.take(limit, ask) or false end
  return notes
end

local function give(limits, ask)
  for _, limit in ipairs(limits) do kind_of(limit[1]).give(limit, ask) end
end

-- Reservations past their deadline belong to a proxy that died: give their samples back.
local function give_back_expired(id, now)
  local late = redis.call('ZRANGEBYSCORE', open_of(id), '-inf', now)
  if #late == 0 then return end
  local samples = 0
  for _, member in ipairs(late) do
    local name, count = string.match(member, '^(.*):(%d+)$')
    samples = samples + tonumber(count)
    local taken = not clustered() and redis.call('GET', taken_of(id, name))
    if taken then
      give(cmsgpack.unpack(taken), {id = id, samples = tonumber(count), name = name, now = now})
      redis.call('DEL', taken_of(id, name))
    end
  end
  redis.call('ZREMRANGEBYSCORE', open_of(id), '-inf', now)
  redis.call('HINCRBY', account_of(id), 'reserved', -samples)
  redis.call('HINCRBY', account_of(id), 'refunded', samples)
end

-- Leases past their deadline belong to a proxy that died. What it held may have been answered: it is spent.
local function spend_expired(id, now)
  local leases = redis.call('HGETALL', leases_of(id))
  for at = 1, #leases, 2 do
    local held, deadline = string.match(leases[at + 1], '^(%d+) .- (%d+)$')
    if tonumber(deadline) <= now then
      redis.call('HDEL', leases_of(id), leases[at])
      redis.call('HINCRBY', account_of(id), 'leased', -tonumber(held))
      redis.call('HINCRBY', account_of(id), 'spent', held)
    end
  end
end

-- Budget (false: unlimited), samples that are free, samples not spent, samples spent, requests answered. What is
-- not spent and not free is reserved for requests, or held by proxies.
local function balance(id, now)
  local function read()
    return redis.call('HMGET', account_of(id), 'budget', 'spent', 'reserved', 'leased', 'requests')
  end
  local account = read()
  local reserved, leased = tonumber(account[3] or 0), tonumber(account[4] or 0)
  if reserved > 0 or leased > 0 then
    now = now or milliseconds()
    if reserved > 0 then give_back_expired(id, now) end
    if leased > 0 then spend_expired(id, now) end
    account = read()
  end
  local budget, spent = tonumber(account[1] or ''), tonumber(account[2] or 0)
  local requests = tonumber(account[5] or 0)
  if not budget then return false, 0, 0, spent, requests end
  local unspent = budget - spent
  return budget, unspent - tonumber(account[3] or 0) - tonumber(account[4] or 0), unspent, spent, requests
end

-- Why `ask` cannot be met, as the scripts answer it; nil where it can, and the tightest total and its free
-- samples.
local function refusal(limits, ask, budget, free, unspent)
  if budget and free < ask.samples then
    redis.call('HINCRBY', account_of(ask.id), 'refused', 1)
    return {'exhausted', ask.id, budget, free, unspent, '', -1}
  end
  local name, total, left, wait = look(limits, ask, budget, free)
  if name then
    redis.call('HINCRBY', account_of(ask.id), 'refused', 1)
    return {'exhausted', ask.id, total, left, left, name, wait or -1}
  end
  return nil, total, left
end
