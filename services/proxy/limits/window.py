"""A sliding window: an exact count of the samples in the last so many seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field
from typing_extensions import override

from leakrange.services.proxy.limits.base import Ask, Limit, limit_kinds

__all__ = ["Window"]


@limit_kinds.register("window")
class Window(Limit):
    """``samples`` for each key that names the limit within any ``seconds``.

    Every request that was answered stays in a log until it leaves the window: at most ``samples`` entries for
    a key, each of about a hundred bytes.
    """

    kind: ClassVar[str] = "window"
    summary: ClassVar[str] = "so many samples for each key within any so many seconds"
    # A limit is {kind, name, key, samples, milliseconds}. The log holds each charge by its time; the hash
    # holds their sum.
    script: ClassVar[str] = """
    local function log_of(limit) return limit_of(limit[2]) .. ':' .. limit[3] end
    local function add(limit, samples) return redis.call('HINCRBY', limit_of(limit[2]), limit[3], samples) end
    local function samples_of(member) return tonumber(string.match(member, ':(%d+)$')) end
    return {
      check = function(limit, ask)
        local log, sum = log_of(limit), tonumber(redis.call('HGET', limit_of(limit[2]), limit[3]) or 0)
        if sum > 0 then
          local before, samples = ask.now - tonumber(limit[5]), 0
          for _, member in ipairs(redis.call('ZRANGEBYSCORE', log, '-inf', before)) do
            samples = samples + samples_of(member)
          end
          if samples > 0 then
            redis.call('ZREMRANGEBYSCORE', log, '-inf', before)
          elseif redis.call('EXISTS', log) == 0 then
            samples = sum -- nothing was asked for a whole window
          end
          if samples > 0 then sum = add(limit, -samples) end
        end
        local total, wait = tonumber(limit[4]), nil
        if ask.samples <= total and total - sum < ask.samples then
          local missing, from = ask.samples - (total - sum), 0
          while missing > 0 do
            local oldest = redis.call('ZRANGE', log, from, from + 99, 'WITHSCORES')
            if #oldest == 0 then break end
            for at = 1, #oldest, 2 do
              missing = missing - samples_of(oldest[at])
              if missing <= 0 then
                wait = math.max(1, tonumber(oldest[at + 1]) + tonumber(limit[5]) - ask.now)
                break
              end
            end
            from = from + 100
          end
        end
        return total, total - sum, wait
      end,
      take = function(limit, ask)
        redis.call('ZADD', log_of(limit), ask.now, ask.name .. ':' .. ask.samples)
        redis.call('PEXPIRE', log_of(limit), limit[5])
        add(limit, ask.samples)
      end,
      give = function(limit, ask)
        if redis.call('ZREM', log_of(limit), ask.name .. ':' .. ask.samples) == 1 then
          add(limit, -ask.samples)
        end
      end,
    }
    """

    samples: Annotated[int, Field(ge=0, le=1_000_000, strict=True)]
    seconds: Annotated[float, Field(ge=0.1, le=10_000_000)]

    @classmethod
    @override
    def further(cls, counted: Sequence[str]) -> Sequence[str]:
        return counted

    @override
    def fields(self, ask: Ask) -> Sequence[str | int]:
        return ask.key, self.samples, round(self.seconds * 1000)
