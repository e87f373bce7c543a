"""Checks of attacks: which providers each can be tried on, what it knows, what its budget buys."""

from __future__ import annotations

import re
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from leakrange.attacks.kinds import kind_of, kinds
from leakrange.attacks.kinds.target import Target
from leakrange.data import Names, names
from leakrange.jobs.steps.fit import Knowledge
from leakrange.registry import unknown
from leakrange.scenario import registered
from leakrange.scenario.document import NAME, AttackSpec, distinct
from leakrange.scenario.draft import Draft
from leakrange.scenario.mistakes import Mistakes, Path
from leakrange.scenario.provider import SoundProvider

__all__ = ["check_attacks", "targets_of"]

ROUND_BUDGETS = tuple(25 << doublings for doublings in range(16))
"""Tried in this order where a scenario's budgets are too small, to name one that is not."""
_NAMES: TypeAdapter[Any] = TypeAdapter(Names)


def targets_of(attack: Any, spec: AttackSpec, provider: SoundProvider) -> list[Target]:
    """The targets of the attack at that provider: one for each attribute that the attack names, else for each
    that the provider names."""
    targets: dict[str, Target] = {}
    for given in _by_attribute(spec):
        outcome = _targets(attack, given, provider)
        if not isinstance(outcome, str):
            targets |= outcome
    return list(targets.values())


def _by_attribute(spec: AttackSpec) -> list[dict[str, Any]]:
    """The parameters that the scenario gives the attack: one set, or one for each attribute that it names."""
    given = dict(spec.model_extra or {})
    named = given.get("sensitive")
    return [{**given, "sensitive": name} for name in named] if isinstance(named, list | tuple) else [given]


def _targets(attack: Any, given: dict[str, Any], provider: SoundProvider) -> dict[str, Target] | str:
    """The targets by what they infer, or the reason why the attack cannot be tried there.

    Raises `ValidationError` for parameters that the attack does not take.
    """
    if provider.release not in attack.consumes:
        return f"it releases {provider.release}, the attack reads {', '.join(attack.consumes)}"
    outcomes = [kind_of(attack).target(attack, given, offer) for offer in provider.by_attribute()]
    targets = {outcome.hidden: outcome for outcome in outcomes if isinstance(outcome, Target)}
    return targets or next(outcome for outcome in outcomes if isinstance(outcome, str))


def check_attacks(
    draft: Draft, providers: dict[str, SoundProvider], mistakes: Mistakes
) -> dict[str, tuple[AttackSpec, int]]:
    """Return the valid attacks with every default filled in, and the number of targets of each."""
    valid = {}
    for name, spec in draft.attacks.items():
        for label, each in _by_queries(draft, name, spec, mistakes).items():
            checked = _Check(draft, providers, name, each, mistakes).attack()
            if checked is None:
                break  # the others share its mistakes
            valid[label] = checked
    return valid


def _by_queries(
    draft: Draft, name: str, spec: AttackSpec | None, mistakes: Mistakes
) -> dict[str, AttackSpec]:
    """The attacks of an entry by their names: one, or one for each number of ``queries`` that it lists."""
    if spec is None:
        return {}
    given = (spec.model_extra or {}).get("queries")
    entry = registered.attacks().get(spec.kind)
    field = None if entry is None else entry.Parameters.model_fields.get("queries")
    if entry is None or field is None or not isinstance(given, list):
        return {name: spec}
    path: Path = ("attacks", name, "queries")
    each: Any = field.rebuild_annotation()
    listed: TypeAdapter[list[int]] = TypeAdapter(
        Annotated[list[each], Field(min_length=1), AfterValidator(distinct)]
    )
    try:
        labels = {f"{name}-{number}": number for number in listed.validate_python(given)}
    except ValidationError as error:
        mistakes.add_pydantic(path, error, entry.Parameters)
        return {}
    for label in labels:
        if label in draft.attacks or re.fullmatch(NAME, label) is None:
            reason = "another attack has that name" if label in draft.attacks else "that is too long a name"
            mistakes.add(path, f"one of these attacks would be {label!r}: {reason}", key=True)
            return {}
    return {label: spec.model_copy(update={"queries": number}) for label, number in labels.items()}


class _Check:
    """The checks of one attack."""

    def __init__(
        self,
        draft: Draft,
        providers: dict[str, SoundProvider],
        name: str,
        spec: AttackSpec,
        mistakes: Mistakes,
    ) -> None:
        self.draft, self.providers, self.name, self.spec = draft, providers, name, spec
        self.mistakes = mistakes
        self.path: Path = ("attacks", name)

    def attack(self) -> tuple[AttackSpec, int] | None:
        known = registered.attacks()
        entry = known.get(self.spec.kind)
        if entry is None:
            message = unknown("attack", self.spec.kind, known)
            self.mistakes.add((*self.path, "kind"), message, allowed=list(known), given=self.spec.kind)
            self._named()
            return None
        if entry.kind not in kinds:
            message = f"attack {self.spec.kind!r} is of an {unknown('kind', entry.kind, kinds)}"
            self.mistakes.add((*self.path, "kind"), message)
            return None
        knowledge = self._knowledge(entry)
        named = self._named()
        if not self._parameters(entry) or named is None or knowledge is None:
            return None
        targets = [
            target for given in _by_attribute(self.spec) for target in self._targets(entry, named, given)
        ]
        if not targets or not self._affordable(entry, targets, knowledge):
            return None
        parameters = targets[0][1].parameters.model_dump(mode="json")
        parameters.pop("sensitive", None)  # it differs from provider to provider
        if "sensitive" in (given := self.spec.model_extra or {}):
            parameters["sensitive"] = given["sensitive"]
        on = list(dict.fromkeys(provider for provider, _ in targets))
        full = {**parameters, "kind": self.spec.kind, "providers": on, "knowledge": knowledge}
        return AttackSpec.model_validate(full), len(targets)

    def _knowledge(self, entry: Any) -> list[Knowledge] | None:
        if self.spec.knowledge is None:
            return list(entry.knowledge)
        good = True
        for index, knowledge in enumerate(self.spec.knowledge):
            if knowledge not in entry.knowledge:
                message = f"attack {self.spec.kind!r} cannot be {knowledge}"
                self.mistakes.add((*self.path, "knowledge", index), message, allowed=entry.knowledge)
                good = False
        # In the usual order, each once: the same cell never twice.
        return [each for each in get_args(Knowledge) if each in self.spec.knowledge] if good else None

    def _named(self) -> list[str] | None:
        """Return the providers that the attack names, else all; None if it names one that does not exist."""
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
        several = isinstance(given.get("sensitive"), list)
        if "sensitive" in entry.Parameters.model_fields and several:
            try:
                given["sensitive"] = names(_NAMES.validate_python(given["sensitive"]))[0]
            except ValidationError as error:
                self.mistakes.add_pydantic((*self.path, "sensitive"), error, entry.Parameters)
                return False
        if "sensitive" in entry.Parameters.model_fields:
            given.setdefault("sensitive", "any")
        try:
            entry.Parameters.model_validate(given)
        except ValidationError as error:
            self.mistakes.add_pydantic(self.path, error, entry.Parameters, AttackSpec.model_fields)
            return False
        return True

    def _targets(self, entry: Any, named: list[str], given: dict[str, Any]) -> list[tuple[str, Target]]:
        targets: dict[str, dict[str, Target]] = {}
        reasons: dict[str, str] = {}
        for provider in named:
            if provider not in self.providers:
                continue  # broken, and told so
            outcome = _targets(entry, given, self.providers[provider])
            if isinstance(outcome, str):
                reasons[provider] = outcome
            else:
                targets[provider] = outcome
        if self.spec.providers is not None:
            for index, provider in enumerate(self.spec.providers):
                if provider in reasons:
                    message = f"the attack cannot be tried on {provider!r}: {reasons[provider]}"
                    self.mistakes.add((*self.path, "providers", index), message, allowed=sorted(targets))
            if reasons:
                return []
        elif reasons and len(reasons) == len(named):
            self._nowhere(reasons, given.get("sensitive"))
        return [
            (provider, target) for provider, by_hidden in targets.items() for target in by_hidden.values()
        ]

    def _nowhere(self, reasons: dict[str, str], sensitive: str | None) -> None:
        attributes = {name for provider in self.providers.values() for name in provider.attributes}
        if sensitive is not None and sensitive not in attributes:
            message = f"no provider's data has an attribute {sensitive!r}"
            self.mistakes.add((*self.path, "sensitive"), message, allowed=sorted(attributes), given=sensitive)
            return
        why = "; ".join(f"{provider}: {reason}" for provider, reason in reasons.items())
        self.mistakes.add(self.path, f"the attack can be tried on no provider ({why})", key=True)

    def _affordable(self, entry: Any, targets: list[tuple[str, Target]], knowledge: list[Knowledge]) -> bool:
        budgets = self.draft.head.budgets if self.draft.head else []
        kind = kind_of(entry)

        def buys(budget: int) -> bool:
            return any(
                kind.buys(target, self.providers[name], each, budget) is not None
                for name, target in targets
                for each in knowledge
            )

        if not budgets or any(map(buys, budgets)):
            return True
        message = f"no budget of {', '.join(map(str, budgets))} samples buys this attack enough records"
        if (enough := next(filter(buys, ROUND_BUDGETS), None)) is not None:
            message += f"; one of {enough} does"
        self.mistakes.add(self.path, message, key=True)
        return False
