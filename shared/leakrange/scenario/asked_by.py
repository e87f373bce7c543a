"""Which load users ask what: every question of an attack is somebody's to ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from leakrange.attacks.kinds import kind_of
from leakrange.scenario import registered
from leakrange.scenario.document import AttackSpec
from leakrange.scenario.load import LoadSpec, Role
from leakrange.scenario.mistakes import Mistakes
from leakrange.scenario.plan import Plan
from leakrange.scenario.provider import Provider

__all__ = ["check_load", "roles"]


def roles(plan: Plan) -> dict[str, Role]:
    """What each probe of a plan is for, by its id. Where several attacks share one, it is the first one's."""
    models = {model.id: model for model in plan.models}
    asked_by = {probe.id: probe.by for probe in plan.probes}
    found: dict[str, Role] = {}
    for trial in plan.trials:
        role = _role(trial.attack, models[trial.model].release)
        for names in trial.needs.probes.values():
            for name in names:
                if role is not None:
                    found.setdefault(name, "users" if asked_by[name] == "users" else role)
    return found


def check_load(
    load: LoadSpec, providers: Mapping[str, Provider], attacks: Mapping[str, AttackSpec], mistakes: Mistakes
) -> None:
    """Note a mistake where nobody would ask what an attack asks, where users have nothing to do, and where
    keys and botnet, or limits and counting, do not go together."""
    needed = {role: attack for attack, role in _needed(providers, attacks)}
    for role, attack in needed.items():
        if not load.takers(role):
            said = f"nobody asks for the attack {attack!r}: add users of kind {role!r}, or a botnet"
            mistakes.add(("load", "users"), said, key=True)
    for kind in load.users:
        if kind not in ("honest", "botnet", *needed):
            said = f"no attack of this scenario is for users of kind {kind!r} to ask"
            mistakes.add(("load", "users", kind), said, allowed=[*needed, "honest"], key=True)
    if any(load.limits.values()) and load.counting == "leased":
        mistakes.add(("load", "counting"), "keys with limits are counted exactly: leave 'counting' out")
    if sum(not limits for limits in load.limits.values()) > 1:
        mistakes.add(("load", "limits"), "two of these are without limits, and so the same", key=True)
    if max(load.keys) > 1 and "botnet" not in load.users:
        mistakes.add(("load", "keys"), "who shares keys is a botnet: add users of that kind")
    if max(load.keys) == 1 and "botnet" in load.users:
        said = "a botnet splits its questions over several keys: give 'keys'"
        mistakes.add(("load", "users", "botnet"), said, key=True)


def _needed(
    providers: Mapping[str, Provider], attacks: Mapping[str, AttackSpec]
) -> Iterator[tuple[str, Role]]:
    for name, spec in attacks.items():
        for provider in spec.providers or ():
            if provider in providers:
                role = _role(spec.kind, providers[provider].release)
                if role is not None:
                    yield name, role


def _role(attack: str, release: str) -> Role | None:
    """Whose questions an attack's are, None for one that asks nothing."""
    asks = kind_of(registered.attacks()[attack]).asks
    return "verification" if asks is not None and release == "score" else asks
