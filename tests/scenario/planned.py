"""Looking things up in a plan."""

from __future__ import annotations

from leakrange.scenario.plan import Plan, PlannedTrial
from leakrange.wire.names import PublicNames

__all__ = ["NAMES", "asked", "probed", "trial"]

NAMES = PublicNames("the operator's key of these tests")


def trial(plan: Plan, name: str) -> PlannedTrial:
    """The trial of that id."""
    [found] = [each for each in plan.trials if each.result.id == name]
    return found


def asked(found: PlannedTrial) -> int:
    """How many auxiliary records it asks about."""
    asked = found.needs.asked
    return int(asked.get("span", asked.get("auxiliary"))["stop"])


def probed(found: PlannedTrial) -> list[str]:
    """The probes that it asks about them in."""
    return found.needs.probes.get("auxiliary", [])
