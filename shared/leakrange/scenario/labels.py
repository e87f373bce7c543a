"""Plain words for what a run is made of: what is hidden, what a provider does, a provider in one role, a
trial. Pages, reports and the command take their labels from here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from leakrange.data import Names, names
from leakrange.metrics import described
from leakrange.metrics.numbers import joined
from leakrange.scenario.results import TrialResult

__all__ = ["NO_DEFENCE", "attribute", "in_role", "role", "trial"]

NO_DEFENCE = "no defence"
"""The label of a defence whose chain is empty."""


def attribute(hidden: Names | None) -> str:
    """One or several attributes as people call them: "facial-hair" → "“facial hair”", "race-2" → "“race” in
    2 groups"; "something" for none."""
    return joined([_words(name) for name in names(hidden or None)]) or "something"


def _words(name: str) -> str:
    stem, _, groups = name.rpartition("-")
    if stem and re.fullmatch(r"[0-9]+", groups):
        return f"“{stem.replace('-', ' ')}” in {groups} groups"
    return f"“{name.replace('-', ' ').replace('_', ' ')}”"


def role(behaviour: str, hidden: Names | None) -> str:
    """What a provider of that ``behaviour`` does, where ``hidden`` is what it or an attacker is after:
    "curious: hides “beard”"."""
    plays = behaviour.partition("/")[0]
    does = {
        "honest": "hides nothing",
        "curious": f"hides {attribute(hidden)}",
        "vicious": "hides the whole input",
        "remote": "somebody else’s model",
    }
    return f"{plays}: {does[plays]}" if plays in does else plays


def in_role(provider: str, fields: Mapping[str, str]) -> str:
    """A provider, and the ``fields`` by which it differs from itself in another role (``data``, ``release``,
    ``target``, ``sensitive``, and ``leakage``, the name of a metric): "honest: “slant”, by AUC"."""
    in_words: dict[str, Callable[[str], str]] = {
        "data": lambda value: f"on {value}",
        "release": lambda value: f"from {value}",
        "target": lambda value: f"asked for {attribute(value)}",
        "sensitive": attribute,
        "leakage": lambda value: f"by {described(value).title}",
    }
    parts = [in_words[name](value) for name, value in fields.items() if value]
    return ": ".join([provider, ", ".join(parts)]) if parts else provider


def trial(result: TrialResult) -> str:
    """A trial in words: "outside (aware) at honest under rounded, budget 400, seed 1"."""
    return (
        f"{result.attack} ({result.knowledge}) at {result.provider} under {result.defence}, "
        f"budget {result.budget:,}, seed {result.seed}"
    )
