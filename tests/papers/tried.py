"""What the scenario of a batch tries."""

from __future__ import annotations

from itertools import product

from leakrange.scenario.document import Scenario

__all__ = ["tried_by"]


def tried_by(scenario: Scenario) -> set[tuple[str, str, str]]:
    """Every provider, defence and attack that meet."""
    return {
        (provider, defence, name)
        for name, attack in scenario.attacks.items()
        for provider, defence in product(attack.providers or (), scenario.defences)
    }
