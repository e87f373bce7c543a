"""Checks of attacks: which providers each can be tried on, what it knows, what its budget buys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from leakrange.attacks.people.membership import PeopleAttack
from leakrange.attacks.people.pairs import pair_count
from leakrange.jobs.job import Knowledge
from leakrange.registry import unknown
from leakrange.scenario import registered
from leakrange.scenario.crowds import Questions
from leakrange.scenario.document import AttackSpec
from leakrange.scenario.draft import Draft
from leakrange.scenario.mistakes import Mistakes, Path
from leakrange.scenario.provider import Provider

__all__ = ["KNOWLEDGE", "MEMBERSHIP", "Target", "check_attacks", "records", "target_of"]

MEMBERSHIP = "membership"
"""What an attack is after that asks who is in the training set, where others are after an attribute."""
KNOWLEDGE: tuple[Knowledge, ...] = ("unaware", "aware", "averaging")


@dataclass(frozen=True)
class Target:
    """An attack on one provider: the attribute that it is after (`MEMBERSHIP`, where it is that), and its
    parameters."""

    sensitive: str
    parameters: BaseModel
    pool: int | None = None
    """How many records' membership is asked after; None where it is not that."""
    crowd: Questions | None = None
    """What can be asked about people whose membership is asked after; None where it is not that."""

    def answers(self, knowledge: Knowledge) -> int:
        """How often each record is asked: an averaging attacker repeats its queries."""
        return int(getattr(self.parameters, "repeats", 1)) if knowledge == "averaging" else 1


def records(target: Target, knowledge: Knowledge, budget: int, available: int | None = None) -> int | None:
    """How many auxiliary records an outside attacker, or a user who distils, uses with that budget; None
    where they are too few.

    As many as it has and ``available`` (if known), but no more than its budget answers. The attack's own
    bounds on ``auxiliary`` say how few will do. Of an attack on membership it is the records of its
    population, which may be none; the budget must answer for these and for the whole pool. Of an attack on
    people it is the questions about them.
    """
    if target.crowd is not None:
        return target.crowd.within(budget // target.answers(knowledge))
    if target.pool is not None:
        count = int(getattr(target.parameters, "population", 0))
        if available is not None:
            count = min(count, available)
        return count if (target.pool + count) * target.answers(knowledge) <= budget else None
    count = min(budget // target.answers(knowledge), int(getattr(target.parameters, "auxiliary", budget)))
    if available is not None:
        count = min(count, available)
    parameters = target.parameters.model_dump()
    if "auxiliary" in parameters:
        try:
            type(target.parameters).model_validate({**parameters, "auxiliary": count})
        except ValidationError:
            return None
    return count or None


def target_of(attack: Any, spec: AttackSpec, provider: Provider) -> Target | str:
    """What the attack is after at that provider, or why it cannot be tried there.

    Raises `ValidationError` for parameters that the attack does not take.
    """
    if provider.release not in attack.consumes:
        return f"it releases {provider.release}, the attack reads {', '.join(attack.consumes)}"
    model: type[BaseModel] = attack.Parameters
    given = dict(spec.model_extra or {})
    if attack.where in ("provider", "user"):
        if not provider.decodes or provider.sensitive is None:
            return "it decodes nothing"
        return Target(provider.sensitive, model.model_validate(given))
    if attack.hides == MEMBERSHIP and issubclass(attack, PeopleAttack):
        return _of_people(attack, model.model_validate(given), provider)
    if provider.service is not None:
        return f"it is a {provider.service.kind} service, to which nobody uploads anything"
    if attack.hides == MEMBERSHIP:
        if provider.data.subset is None:
            return "its data has no 'subset', so it trains on all and nobody is no member"
        return Target(MEMBERSHIP, model.model_validate(given), provider.data.subset.pool)
    sensitive = given.get("sensitive", provider.sensitive)
    if sensitive is None:
        return "neither the attack nor the provider names a 'sensitive' attribute"
    if "sensitive" in model.model_fields:
        given["sensitive"] = sensitive
    parameters = model.model_validate(given)
    if sensitive not in provider.attributes:
        return f"its data has no attribute {sensitive!r}"
    if sensitive == provider.target:
        return f"{sensitive!r} is what it is asked for"
    return Target(str(sensitive), parameters)


def _of_people(attack: type[PeopleAttack], parameters: Any, provider: Provider) -> Target | str:
    crowd = provider.data.crowd
    if provider.service is None or crowd is None:
        return "it is no service that is asked about people: it has no 'service'"
    if parameters.known > crowd.people - 2:
        return f"knowing {parameters.known} of {crowd.people} members leaves nobody to ask after"
    most = crowd.images
    if provider.service.kind == "verification":
        most = min(parameters.pairs, pair_count(crowd.images))
    fewest = attack.fewest(provider.release)
    if most < fewest:
        return f"{crowd.images} images of a person are too few for it"
    return Target(MEMBERSHIP, parameters, crowd=Questions(crowd.asked, fewest, most))


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
        if entry.where == "provider" or not budgets:
            return True
        if any(
            records(target, each, budget) is not None
            for target in targets.values()
            for each in knowledge
            for budget in budgets
        ):
            return True
        said = f"no budget of {', '.join(map(str, budgets))} samples buys this attack enough records"
        self.mistakes.add(self.path, said, key=True)
        return False
