"""A run as if only some of its providers, defences and attacks had been tried."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from leakrange.metrics.numbers import count, joined
from leakrange.report.findings import Findings, find
from leakrange.scenario.results import RunResults
from leakrange.wire.views import Choices

__all__ = ["ALL", "Narrowing", "choices", "narrowed", "part_sentence"]

NAMED = 3
"""So many names are told; more are counted."""


@dataclass(frozen=True)
class Narrowing:
    """The names to keep; empty for all. The undefended case always stays: all else is compared with it."""

    providers: frozenset[str] = frozenset()
    defences: frozenset[str] = frozenset()
    attacks: frozenset[str] = frozenset()

    @classmethod
    def to(cls, providers: Sequence[str], defences: Sequence[str], attacks: Sequence[str]) -> Narrowing:
        """The narrowing to these names."""
        return cls(frozenset(providers), frozenset(defences), frozenset(attacks))

    @property
    def keeps_all(self) -> bool:
        """Whether nothing is left out."""
        return not (self.providers or self.defences or self.attacks)

    def names(self, undefended: Collection[str]) -> dict[str, Collection[str]]:
        """The names of what is kept, by what they name."""
        defences = {*self.defences, *undefended} if self.defences else ()
        return {"provider": self.providers, "defence": defences, "attack": self.attacks}


ALL = Narrowing()


def choices(results: RunResults) -> Choices:
    """Every provider, defence and attack of the trials."""
    return Choices(
        providers=list(dict.fromkeys(trial.provider for trial in results.trials)),
        defences=list(dict.fromkeys(trial.defence for trial in results.trials)),
        attacks=list(dict.fromkeys(trial.attack for trial in results.trials)),
    )


def part_sentence(to: Narrowing, shown: int, trials: int) -> str:
    """The sentence that says of how many of a run's ``trials`` a page is, and of which; "" where all are
    ``shown``. A narrowing to all keeps the largest budgets of a large run."""
    if shown == trials:
        return ""
    if to.keeps_all:
        return (
            f"This is about {shown:,} of the run’s {trials:,} trials: those at the largest budget at which "
            "each attack was measured."
        )
    named = {"provider": to.providers, "defence": to.defences, "attack": to.attacks}
    of_kinds = [
        count(len(names), kind)
        if len(names) > NAMED
        else f"{kind}{'s' if len(names) > 1 else ''} {joined([f'“{name}”' for name in sorted(names)])}"
        for kind, names in named.items()
        if names
    ]
    undefended = ", and the undefended case" if to.defences else ""
    return f"This is about {shown:,} of the run’s {trials:,} trials: {'; '.join(of_kinds)}{undefended}."


def narrowed(results: RunResults, to: Narrowing) -> Findings:
    """The findings of those trials and models. Defences keep their colours."""
    everything = find(results)
    if to.keeps_all:
        return everything
    trials = [
        trial
        for trial in results.trials
        if (not to.providers or trial.provider in to.providers)
        and (not to.defences or trial.defence in to.defences or trial.defence == everything.undefended)
        and (not to.attacks or trial.attack in to.attacks)
    ]
    models = [model for model in results.models if not to.providers or model.provider in to.providers]
    subset = results.model_copy(update={"trials": trials, "models": models, "summaries": []})
    return replace(find(subset), palette=everything.defences)
