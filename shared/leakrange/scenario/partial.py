"""Providers whose answers tell less than their release has room for: labels alone, a few of the values, or
none below a bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from leakrange.attacks.kinds import kinds
from leakrange.metrics.numbers import joined
from leakrange.scenario.results import Varied

__all__ = ["answers_in", "made_for_values", "partial_answers"]

TOLD = {
    "labels": "answers with labels alone: its release is 1 for the class that it decided on, and 0 for all"
    " others",
    "top": "tells the greatest of its values alone: in its release all others are one fixed number",
    "censored": "tells no value below a bound: in its release all of these are one fixed number",
}
"""By what a card says of the answers."""


def answers_in(providers: Any) -> dict[str, str]:
    """What the cards of remote providers say of their answers, where that is less than all, by provider.
    ``providers``: those of an expanded scenario."""
    partial = {}
    for name, spec in providers.items() if isinstance(providers, Mapping) else ():
        endpoint = spec.get("endpoint") if isinstance(spec, Mapping) else None
        card = endpoint.get("card") if isinstance(endpoint, Mapping) else None
        answers = card.get("answers") if isinstance(card, Mapping) else None
        if answers in TOLD:
            partial[str(name)] = str(answers)
    return partial


def made_for_values(kind: str) -> bool:
    """Whether attacks of that kind read how sure a model is, which labels alone do not tell."""
    entry = kinds.get(kind)
    return entry is not None and entry.wants_values


def partial_answers(answers: Mapping[str, str], trials: Iterable[Varied]) -> list[str]:
    """A sentence for each provider that answers in part, and one more for the attacks of these, or of these
    planned, trials that find too little in labels. ``answers``: as `answers_in` gives them."""
    attacks: dict[str, dict[str, None]] = {name: {} for name in answers}
    for trial in trials:
        if answers.get(trial.provider) == "labels" and made_for_values(trial.kind):
            attacks[trial.provider][trial.attack] = None
    sentences = []
    for name, part in answers.items():
        sentences.append(f"“{name}” {TOLD[part]}. What it does not tell is not measured.")
        if attacks[name]:
            read, them = ("read", "those") if len(attacks[name]) > 1 else ("reads", "that")
            sentences.append(
                f"{joined([*attacks[name]])} {read} how sure a model is, and “{name}” does not tell it."
                f" Attacks that find members by labels, with many questions around each record, were not run:"
                f" no all-clear follows from {them}."
            )
    return sentences
