"""What a plan has for student services: whom attackers ask after, and what users ask."""

from __future__ import annotations

from dataclasses import dataclass

from leakrange.attacks.people.questions import public_pair_count
from leakrange.data.crowd import part_sizes
from leakrange.jobs.job import Span, Split
from leakrange.jobs.recipe import Crowd, DataSpec
from leakrange.scenario.document import ServiceSpec

__all__ = ["Questions", "pool_of", "users_ask"]


@dataclass(frozen=True)
class Questions:
    """What can be asked about a crowd: rounds of one question about each of ``people``, at least ``fewest``
    of them, and ``most`` in all."""

    people: int
    fewest: int
    most: int

    def within(self, budget: int) -> int | None:
        """How many questions such a budget answers; None where they are too few. Only whole rounds are
        asked, so that nobody is known better than others."""
        rounds = min(budget // self.people, self.most)
        return rounds * self.people if rounds >= self.fewest else None


def pool_of(data: DataSpec) -> Span:
    """All images of the people asked after."""
    return Span(data=data, split="pool", start=0, stop=part_sizes(_crowd(data))["pool"])


def users_ask(data: DataSpec, service: ServiceSpec) -> Span:
    """What a service's users ask: whom it knows, or who of the public is the same person. Of a verification
    it numbers pairs."""
    crowd = _crowd(data)
    split: Split = "held" if service.kind == "recognition" else "public"
    total = part_sizes(crowd)[split]
    if service.kind == "verification":
        total = public_pair_count(crowd)
    return Span(data=data, split=split, start=0, stop=total)


def _crowd(data: DataSpec) -> Crowd:
    if data.crowd is None:
        raise ValueError(f"the data {data.name!r} has no crowd: check the scenario first")
    return data.crowd
