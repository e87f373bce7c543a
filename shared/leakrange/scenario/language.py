"""The scenario language: YAML (or JSON) in, a checked `Scenario` out.

The form is checked first, then the meaning; all mistakes are reported together.
"""

from __future__ import annotations

from typing import Any

from leakrange.defences.chain import DefenceChain
from leakrange.defences.stages import InvalidChain, name_of
from leakrange.scenario.asked_by import check_load
from leakrange.scenario.attacks import check_attacks
from leakrange.scenario.bounds import check_bounds
from leakrange.scenario.document import Scenario
from leakrange.scenario.draft import Draft, read_draft
from leakrange.scenario.fitting import count_obfuscators, misfits
from leakrange.scenario.missing import note_missing_data
from leakrange.scenario.mistakes import Mistakes, Path
from leakrange.scenario.provider import SoundProvider
from leakrange.scenario.providers import check_providers
from leakrange.scenario.yaml_source import read

__all__ = ["parse"]


def parse(text: str | bytes | dict[str, Any], *, here: bool = False) -> Scenario:
    """The scenario that ``text`` describes, with every default filled in.

    Raises `InvalidScenario` with all mistakes at once, each ``{line, column, path, message, allowed,
    suggestion}`` (line and column counted from 1, None for a dict). That a data set cannot be loaded on this
    machine is a mistake only of a scenario that is to run ``here``.
    """
    mistakes = Mistakes()
    source = read(text, mistakes)
    mistakes.locate = source.locate
    draft = read_draft(source.value, mistakes)
    if here:
        note_missing_data(draft, mistakes)
    providers = check_providers(draft, mistakes)
    defences = _check_defences(draft, providers, mistakes)
    clients = _check_clients(draft, providers, mistakes)
    attacks = check_attacks(draft, providers, mistakes)
    if draft.head is not None and draft.head.replay:
        _check_replay(draft, providers, mistakes)
    if draft.load is not None:
        check_load(draft.load, providers, {name: each for name, (each, _) in attacks.items()}, mistakes)
    if draft.head is not None:
        chains = [
            DefenceChain.parse(spec)
            for spec in (*defences.values(), *(each.defence for each in clients.values()))
        ]
        trained = count_obfuscators(chains, providers.values())
        check_bounds(draft.head, len(providers), len(draft.defences), trained, attacks, mistakes)
    mistakes.raise_if_any()
    assert draft.head is not None
    return Scenario(
        **{key: getattr(draft.head, key) for key in type(draft.head).model_fields},
        data={label: spec for label, spec in draft.data.items() if spec is not None},
        providers={name: provider.spec() for name, provider in providers.items()},
        clients=clients,
        defences=defences,
        attacks={name: attack for name, (attack, _) in attacks.items()},
        load=draft.load,
    )


def _check_replay(draft: Draft, providers: dict[str, SoundProvider], mistakes: Mistakes) -> None:
    if draft.load is not None:
        mistakes.add(("replay",), "load users ask, and a replay asks nobody: leave one of the two out")
    if providers and all(each.remote is None for each in providers.values()):
        mistakes.add(
            ("replay",), "answers are replayed of providers of behaviour 'remote', and there is none"
        )


def _chain(spec: Any, path: Path, mistakes: Mistakes) -> DefenceChain | None:
    try:
        return DefenceChain.parse(spec)
    except InvalidChain as error:
        for mistake in error.mistakes:
            where = (*path, *mistake["path"])
            message, named, key = mistake["message"], _stage_name(spec, mistake["path"]), False
            if mistake["allowed"] and len(mistake["path"]) > 2:
                named, key = mistake["path"][-1], True
                message = f"unknown parameter {named!r}"
            given = named if mistake["allowed"] else None
            mistakes.add(where, message, allowed=mistake["allowed"], given=given, key=key)
        return None


def _note_misfits(reasons: list[dict[str, Any]], spec: Any, path: Path, mistakes: Mistakes) -> None:
    """Note the misfits of a chain that stands at ``path``; if a parameter keeps its default, at the
    defence."""
    for each in reasons:
        given: Any = spec
        for part in each["path"]:
            there = isinstance(given, dict) and part in given
            there = there or (isinstance(given, list) and isinstance(part, int) and part < len(given))
            given = given[part] if there else None
        at = (*path, *each["path"]) if given is not None else (*path, each["path"][0])
        near = given[0] if isinstance(given, list) and len(given) == 1 else given
        mistakes.add((*path, *each["path"]), each["message"], allowed=each["allowed"], given=near, at=at)


def _stage_name(spec: Any, path: list[str | int]) -> str | None:
    """Return the defence at ``path`` of a chain, if it is known."""
    if not path or not isinstance(path[0], int):
        return None
    return name_of(spec[path[0]])


def _check_defences(draft: Draft, providers: dict[str, SoundProvider], mistakes: Mistakes) -> dict[str, Any]:
    chains: dict[str, Any] = {}
    digests: dict[str, str] = {}
    for name, spec in draft.defences.items():
        path: Path = ("defences", name)
        chain = _chain(spec, path, mistakes)
        if chain is None:
            continue
        if name == "none" and chain:
            mistakes.add(path, "'none' is the name of releasing everything as it is: []")
        same = digests.setdefault(chain.digest(), name)
        if same != name:
            mistakes.add(path, f"the same chain as {same!r}", key=True)
        refusals = {each.release: chain.refuse(each.release) for each in providers.values()}
        if refusals and all(refusals.values()):
            mistakes.add(path, next(reason for reason in refusals.values() if reason), key=True)
        unfit = [misfits(chain, each) for each in providers.values()]
        if unfit and all(unfit):
            _note_misfits(unfit[0], spec, path, mistakes)
        chains[name] = chain.spec()
    return chains


def _check_clients(draft: Draft, providers: dict[str, SoundProvider], mistakes: Mistakes) -> dict[str, Any]:
    clients = {}
    for name, spec in draft.clients.items():
        if spec is None:
            continue
        path: Path = ("clients", name, "defence")
        chain = _chain(spec.defence, path, mistakes)
        if chain is None:
            continue
        if chain.representation:
            extractor = chain.representation[0][0]
            message = f"the provider's model stands on what {extractor} makes: write it under 'defences'"
            mistakes.add(path, message)
        for provider in providers.values():
            if reason := chain.refuse(provider.release):
                mistakes.add(path, f"{reason} (provider {provider.name!r})")
            _note_misfits(misfits(chain, provider), spec.defence, path, mistakes)
        clients[name] = spec.model_copy(update={"defence": chain.spec()})
    return clients
