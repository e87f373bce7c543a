"""Providers whose answers tell less than their release has room for: labels alone, a few of the values, or
none below a bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from leakrange.attacks import attacks
from leakrange.attacks.kinds import kinds
from leakrange.defences.output import output_defences
from leakrange.defences.stages import name_of, read_stage
from leakrange.metrics.numbers import joined
from leakrange.scenario.results import Varied

__all__ = ["answers_in", "attack_names", "hides_confidence", "partial_answers", "reads_values"]

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


def attack_names(scenario: Mapping[str, Any]) -> dict[str, str]:
    """The registered name of each attack of an expanded scenario."""
    given = scenario.get("attacks")
    named = given.items() if isinstance(given, Mapping) else ()
    return {
        str(label): str(spec["kind"]) for label, spec in named if isinstance(spec, Mapping) and "kind" in spec
    }


def hides_confidence(chain: Any) -> bool:
    """Whether a chain of defences, as an expanded scenario writes it, hides how sure a model is, and keeps
    its labels: see `leakrange.defences.output.OutputDefence.hides_confidence`."""
    links = [link for link in chain if name_of(link) in output_defences] if isinstance(chain, list) else []
    stages = [read_stage(link, 0, output_defences, []) for link in links]
    return any(stage is not None and stage[1].hides_confidence for stage in stages)


def reads_values(kind: str, attack: str | None) -> bool:
    """Whether an attack of that kind reads how sure a model is, which labels alone do not tell. ``attack`` is
    its registered name, where that is known."""
    entry, registered = kinds.get(kind), attacks.get(attack or "")
    if entry is None or not entry.wants_values:
        return False
    return registered is None or not registered.labels_suffice


def partial_answers(
    answers: Mapping[str, str], trials: Iterable[Varied], names: Mapping[str, str]
) -> list[str]:
    """A sentence for each provider that answers in part, and one more for the attacks of these, or of these
    planned, trials that find too little in labels, where no other looks for members there. ``answers`` and
    ``names`` are as `answers_in` and `attack_names` give them."""
    in_vain: dict[str, dict[str, bool]] = {name: {} for name in answers}
    for trial in trials:
        kind = kinds.get(trial.kind)
        if answers.get(trial.provider) == "labels" and kind is not None and kind.wants_values:
            in_vain[trial.provider][trial.attack] = reads_values(trial.kind, names.get(trial.attack))
    sentences = []
    for name, told in answers.items():
        sentences.append(f"“{name}” {TOLD[told]}. What it does not tell is not measured.")
        if in_vain[name] and all(in_vain[name].values()):
            read, them = ("read", "those") if len(in_vain[name]) > 1 else ("reads", "that")
            sentences.append(
                f"{joined([*in_vain[name]])} {read} how sure a model is, and “{name}” does not tell it."
                f" Attacks that find members by labels, with many questions around each record, were not run:"
                f" no all-clear follows from {them}."
            )
    return sentences
