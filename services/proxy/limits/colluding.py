"""One budget for keys that ask about the same samples: a single attack may use many keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field
from typing_extensions import override

from leakrange.services.proxy.limits.base import Ask, Limit, Samples, limit_kinds

__all__ = ["Colluding"]


@limit_kinds.register("colluding")
class Colluding(Limit):
    """``samples`` for each key that names the limit. Keys that have asked about ``matches`` similar samples
    are one group from then on, and share them.

    Samples are similar where their sketches (`leakrange.services.proxy.sketches`) differ in at most
    ``distance`` of 64 bits; up to 3 are always found. A sample of a key counts again as a match only after
    the other key has asked for it again. Queries are remembered by quarters of their sketches, each with the
    last key that asked: at most 4 times 65,536 entries of about a hundred bytes. At most 100,000 pairs of
    keys are under suspicion; beyond, suspicion begins anew. Groups stay until the limit is deleted.
    """

    kind: ClassVar[str] = "colluding"
    summary: ClassVar[str] = "so many samples for all keys together that ask about similar samples"
    sketched: ClassVar[bool] = True
    # A limit is {kind, name, key, samples, matches, distance, sketch, ...}.
    script: ClassVar[str] = """
    local function part(limit, name) return limit_of(limit[2]) .. ':' .. name end
    local function account(limit)
      local at = limit[3]
      while true do
        local above = redis.call('HGET', part(limit, 'groups'), at)
        if not above then break end
        at = above
      end
      if at ~= limit[3] then redis.call('HSET', part(limit, 'groups'), limit[3], at) end
      return at
    end
    local function ones(a, b)
      local differ, count = bit.bxor(tonumber(a, 16), tonumber(b, 16)), 0
      while differ ~= 0 do
        differ, count = bit.band(differ, differ - 1), count + 1
      end
      return count
    end
    local function apart(a, b)
      return ones(string.sub(a, 1, 8), string.sub(b, 1, 8)) + ones(string.sub(a, 9), string.sub(b, 9))
    end
    local function quarters(sketch)
      local found = {}
      for number = 1, 4 do found[number] = number .. string.sub(sketch, 4 * number - 3, 4 * number) end
      return found
    end
    local function pair(a, b) return a < b and a .. ' ' .. b or b .. ' ' .. a end
    -- How many of the request's samples other groups have asked for, by group.
    local function matches(limit, mine)
      local counts, roots = {}, {}
      for at = 7, #limit do
        local met = {}
        local stored = redis.call('HMGET', part(limit, 'seen'), unpack(quarters(limit[at])))
        for _, one in ipairs(stored) do
          local key = one and string.sub(one, 17)
          if key and key ~= limit[3] and apart(limit[at], string.sub(one, 1, 16)) <= tonumber(limit[6]) then
            roots[key] = roots[key] or account({limit[1], limit[2], key})
            if roots[key] ~= mine then met[roots[key]] = true end
          end
        end
        for other in pairs(met) do counts[other] = (counts[other] or 0) + 1 end
      end
      return counts
    end
    return {
      check = function(limit, ask)
        local here, mine = limit_of(limit[2]), account(limit)
        limit.counts = matches(limit, mine)
        for other, count in pairs(limit.counts) do
          local before = tonumber(redis.call('HGET', part(limit, 'pairs'), pair(mine, other)) or 0)
          if before + count >= tonumber(limit[5]) then
            local samples = redis.call('HGET', here, other) or 0
            redis.call('HSET', part(limit, 'groups'), other, mine)
            redis.call('HINCRBY', here, mine, samples)
            redis.call('HDEL', here, other)
            redis.call('HDEL', part(limit, 'pairs'), pair(mine, other))
            limit.counts[other] = nil
          end
        end
        local total = tonumber(limit[4])
        return total, total - tonumber(redis.call('HGET', here, mine) or 0)
      end,
      take = function(limit, ask)
        local mine = account(limit)
        for other, count in pairs(limit.counts) do
          local suspects = part(limit, 'pairs')
          if redis.call('HLEN', suspects) >= 100000 then redis.call('DEL', suspects) end
          redis.call('HINCRBY', suspects, pair(mine, other), count)
        end
        limit.counts = nil
        for at = 7, #limit do
          for _, quarter in ipairs(quarters(limit[at])) do
            redis.call('HSET', part(limit, 'seen'), quarter, limit[at] .. limit[3])
          end
        end
        redis.call('HINCRBY', limit_of(limit[2]), mine, ask.samples)
      end,
      give = function(limit, ask)
        redis.call('HINCRBY', limit_of(limit[2]), account(limit), -ask.samples)
      end,
    }
    """

    samples: Samples
    matches: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] = 10
    distance: Annotated[int, Field(ge=0, le=16, strict=True)] = 4

    @classmethod
    @override
    def further(cls, counted: Sequence[str]) -> Sequence[str]:
        return "groups", "pairs", "seen"

    @override
    def fields(self, ask: Ask) -> Sequence[str | int]:
        return ask.key, self.samples, self.matches, self.distance, *ask.sketches
