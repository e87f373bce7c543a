"""Checks of attacks: which providers each can be tried on, what it knows, what its budget buys."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from leakrange.attacks.kinds import kind_of, kinds
from leakrange.attacks.kinds.target import Target
from leakrange.jobs.job import Knowledge
from leakrange.registry import unknown
from leakrange.scenario import registered
from leakrange.scenario.document import AttackSpec
from leakrange.scenario.draft import Draft
from leakrange.scenario.mistakes import Mistakes, Path
from leakrange.scenario.provider import Provider

__all__ = ["KNOWLEDGE", "check_attacks", "target_of"]

KNOWLEDGE: tuple[Knowledge, ...] = ("unaware", "aware", "averaging")


def target_of(attack: Any, spec: AttackSpec, provider: Provider) -> Target | str:
    """The target of the attack at that provider, or the reason why it cannot be tried there.

    Raises `ValidationError` for parameters that the attack does not take.
    """
    if provider.release not in attack.consumes:
        return f"it releases {provider.release}, the attack reads {', '.join(attack.consumes)}"
    return kind_of(attack).target(attack, dict(spec.model_extra or {}), provider)


def check_attacks(draft: Draft, providers: dict[str, Provider], mistakes: Mistakes) -> dict[str, AttackSpec]:
    """The attacks that are sound, every default filled in."""
    found = {}
    for name, spec in draft.attacks.items():
        checked = _Check(draft, providers, name, spec, mistakes).attack() if spec is not None else None
        if checked is not None:
            found[name] = checked
    return found


class _Check:
    """One attack."""

    def __init__(
        self, draft: Draft, providers: dict[str, Provider], name: str, spec: AttackSpec, mistakes: Mistakes
    ) -> None:
        self.draft, self.providers, self.name, self.spec = draft, providers, name, spec
        self.mistakes = mistakes
        self.path: Path = ("attacks", name)

    def attack(self) -> AttackSpec | None:
        known = registered.attacks()
        entry = known.get(self.spec.kind)
        if entry is None:
            said = unknown("attack", self.spec.kind, known)
            self.mistakes.add((*self.path, "kind"), said, allowed=list(known), given=self.spec.kind)
            self._named()
            return None
        if entry.kind not in kinds:
            said = f"attack {self.spec.kind!r} is of an {unknown('kind', entry.kind, kinds)}"
            self.mistakes.add((*self.path, "kind"), said)
            return None
        knowledge = self._knowledge(entry)
        named = self._named()
        if not self._parameters(entry) or named is None or knowledge is None:
            return None
        targets = self._targets(entry, named)
        if not targets or not self._affordable(entry, targets, knowledge):
            return None
        parameters = next(iter(targets.values())).parameters.model_dump(mode="json")
        if "sensitive" not in (self.spec.model_extra or {}):
            parameters.pop("sensitive", None)  # it differs from provider to provider
        full = {**parameters, "kind": self.spec.kind, "providers": list(targets), "knowledge": knowledge}
        return AttackSpec.model_validate(full)

    def _knowledge(self, entry: Any) -> list[Knowledge] | None:
        if self.spec.knowledge is None:
            return list(entry.knowledge)
        good = True
        for index, knowledge in enumerate(self.spec.knowledge):
            if knowledge not in entry.knowledge:
                said = f"attack {self.spec.kind!r} cannot be {knowledge}"
                self.mistakes.add((*self.path, "knowledge", index), said, allowed=entry.knowledge)
                good = False
        # In the usual order, each once: the same cell never twice.
        return [each for each in KNOWLEDGE if each in self.spec.knowledge] if good else None

    def _named(self) -> list[str] | None:
        """The providers that the attack names, else all; None where it names one that is not there."""
        if self.spec.providers is None:
            return list(self.draft.providers)
        good = True
        for index, provider in enumerate(self.spec.providers):
            if provider not in self.draft.providers:
                self.mistakes.add(
                    (*self.path, "providers", index),
                    f"there is no provider {provider!r}",
                    allowed=list(self.draft.providers),
                    given=provider,
                )
                good = False
        return list(dict.fromkeys(self.spec.providers)) if good else None

    def _parameters(self, entry: Any) -> bool:
        given = dict(self.spec.model_extra or {})
        if "sensitive" in entry.Parameters.model_fields:
            given.setdefault("sensitive", "any")
        try:
            entry.Parameters.model_validate(given)
        except ValidationError as error:
            self.mistakes.add_pydantic(self.path, error, entry.Parameters, AttackSpec.model_fields)
            return False
        return True

    def _targets(self, entry: Any, named: list[str]) -> dict[str, Target]:
        targets: dict[str, Target] = {}
        reasons: dict[str, str] = {}
        for provider in named:
            if provider not in self.providers:
                continue  # broken, and told so
            outcome = target_of(entry, self.spec, self.providers[provider])
            if isinstance(outcome, Target):
                targets[provider] = outcome
            else:
                reasons[provider] = outcome
        if self.spec.providers is not None:
            for index, provider in enumerate(self.spec.providers):
                if provider in reasons:
                    said = f"the attack cannot be tried on {provider!r}: {reasons[provider]}"
                    self.mistakes.add((*self.path, "providers", index), said, allowed=sorted(targets))
            return {} if reasons else targets
        if reasons and len(reasons) == len(named):
            self._nowhere(reasons)
        return targets

    def _nowhere(self, reasons: dict[str, str]) -> None:
        sensitive = (self.spec.model_extra or {}).get("sensitive")
        attributes = {name for provider in self.providers.values() for name in provider.attributes}
        if sensitive is not None and sensitive not in attributes:
            said = f"no provider's data has an attribute {sensitive!r}"
            self.mistakes.add((*self.path, "sensitive"), said, allowed=sorted(attributes), given=sensitive)
            return
        why = "; ".join(f"{provider}: {reason}" for provider, reason in reasons.items())
        self.mistakes.add(self.path, f"the attack can be tried on no provider ({why})", key=True)

    def _affordable(self, entry: Any, targets: dict[str, Target], knowledge: list[Knowledge]) -> bool:
        budgets = self.draft.head.budgets if self.draft.head else []
        kind = kind_of(entry)
        if not budgets or any(
            kind.buys(target, self.providers[name], each, budget) is not None
            for name, target in targets.items()
            for each in knowledge
            for budget in budgets
        ):
            return True
        said = f"no budget of {', '.join(map(str, budgets))} samples buys this attack enough records"
        self.mistakes.add(self.path, said, key=True)
        return False
