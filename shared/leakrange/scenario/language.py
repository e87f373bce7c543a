"""The scenario language: YAML (or JSON) in, a checked `Scenario` out."""

from __future__ import annotations

from typing import Any

from leakrange.scenario.document import AttackSpec, ClientSpec, ProviderSpec, Scenario
from leakrange.scenario.validate import check

__all__ = ["AttackSpec", "ClientSpec", "ProviderSpec", "Scenario", "parse"]


def parse(text: str | bytes | dict[str, Any]) -> Scenario:
    """The scenario that ``text`` describes, with every default filled in.

    Raises `InvalidScenario` with all mistakes at once, each ``{line, column, path, message, allowed,
    suggestion}`` (line and column counted from 1, None for a dict). That a data set cannot be loaded on this
    machine is no mistake.
    """
    return check(text)
