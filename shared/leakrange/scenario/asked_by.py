"""The kind of load user that asks each question of an attack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from leakrange.attacks.kinds import kind_of
from leakrange.scenario import registered
from leakrange.scenario.document import AttackSpec
from leakrange.scenario.load import LoadSpec, Role
from leakrange.scenario.mistakes import Mistakes
from leakrange.scenario.plan import Plan
from leakrange.scenario.provider import SoundProvider

__all__ = ["check_load", "roles"]


def roles(plan: Plan) -> dict[str, Role]:
    """Return the purpose of each probe of a plan by its id. A probe that several attacks share has that of
    the first."""
    models = {model.id: model for model in plan.models}
    asked_by = {probe.id: probe.by for probe in plan.probes}
    role_of: dict[str, Role] = {}
    for trial in plan.trials:
        role = _role(trial.attack, models[trial.model].release)
        for names in trial.needs.probes.values():
            for name in names:
                if role is not None:
                    role_of.setdefault(name, "users" if asked_by[name] == "users" else role)
    return role_of


def check_load(
    load: LoadSpec,
    providers: Mapping[str, SoundProvider],
    attacks: Mapping[str, AttackSpec],
    mistakes: Mistakes,
) -> None:
    """Note a mistake if nobody asks the questions of an attack, if users have nothing to do, or if keys and
    botnet, or limits and counting, do not go together."""
    needed = {role: attack for attack, role in _needed(providers, attacks)}
    for role, attack in needed.items():
        if not load.takers(role):
            message = f"nobody asks for the attack {attack!r}: add users of kind {role!r}, or a botnet"
            mistakes.add(("load", "users"), message, key=True)
    for kind in load.users:
        if kind not in ("honest", "botnet", *needed):
            message = f"no attack of this scenario is for users of kind {kind!r} to ask"
            mistakes.add(("load", "users", kind), message, allowed=[*needed, "honest"], key=True)
    if any(load.limits.values()) and load.counting == "leased":
        mistakes.add(("load", "counting"), "keys with limits are counted exactly: leave 'counting' out")
    if sum(not limits for limits in load.limits.values()) > 1:
        mistakes.add(("load", "limits"), "two of these are without limits, and so the same", key=True)
    if max(load.keys) > 1 and "botnet" not in load.users:
        mistakes.add(("load", "keys"), "who shares keys is a botnet: add users of that kind")
    if max(load.keys) == 1 and "botnet" in load.users:
        message = "a botnet splits its questions over several keys: give 'keys'"
        mistakes.add(("load", "users", "botnet"), message, key=True)


def _needed(
    providers: Mapping[str, SoundProvider], attacks: Mapping[str, AttackSpec]
) -> Iterator[tuple[str, Role]]:
    for name, spec in attacks.items():
        for provider in spec.providers or ():
            if provider in providers:
                role = _role(spec.kind, providers[provider].release)
                if role is not None:
                    yield name, role


def _role(attack: str, release: str) -> Role | None:
    """Return the role that asks an attack's questions; None for an attack that asks nothing."""
    asks = kind_of(registered.attacks()[attack]).asks
    return "verification" if asks is not None and release == "score" else asks
