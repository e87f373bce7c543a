"""Checks whether a chain fits a provider and its users, and what has to be trained for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from leakrange.data import datasets, names
from leakrange.defences.chain import DefenceChain
from leakrange.defences.stages import Defence, mistake
from leakrange.scenario.provider import SoundProvider

__all__ = ["count_obfuscators", "misfits"]


def misfits(chain: DefenceChain, provider: SoundProvider) -> list[dict[str, Any]]:
    """Return the reasons why the chain cannot be applied to what ``provider`` gets and answers, each as
    `leakrange.defences.stages.mistake` returns it, with its path from the root of the chain.

    Nothing can hide what the provider is asked for. Only an honest provider trains its model on features
    that devices have learned to make. Votes are counted of a provider that has as many voters.
    """
    reasons = []
    first = len(chain.inputs) + len(chain.model)
    links: list[tuple[str, Defence[Any]]] = [*chain.inputs, *chain.model, *chain.representation]
    sample = datasets[provider.data.name].sample(provider.data)
    for place, (name, link) in enumerate(links):
        for each in link.mistakes(sample, provider.attributes):
            reasons.append(each | {"path": [place, name, *each["path"]]})
        hidden = set(names(getattr(link.parameters, "private", None)))
        for asked in sorted(hidden.intersection(names(provider.target))):
            message = f"{asked!r} is what provider {provider.name!r} is asked for: it cannot be private"
            others = sorted(set(provider.attributes) - set(names(provider.target)))
            reasons.append(mistake([place, name, "private"], message, others))
    for place, (name, _) in enumerate(chain.model, len(chain.inputs)):
        if provider.remote is not None:
            message = (
                f"the model of provider {provider.name!r} is with whoever serves it: no device changes it"
            )
            reasons.append(mistake([place, name], message))
    for place, (name, _) in enumerate(chain.representation, first):
        if provider.key != "honest" or provider.service is not None:
            message = f"provider {provider.name!r} is not honest: only an honest one trains on features"
            reasons.append(mistake([place, name], message))
        if chain.extractor is not None:
            message = "a run trains the extractor, or finds it trained: leave 'artifact' out"
            reasons.append(mistake([place, name, "artifact"], message))
    for place, (name, stage) in enumerate(chain.outputs.stages, first + len(chain.representation)):
        voters = getattr(stage.parameters, "voters", None)
        if voters not in (None, getattr(provider.parameters, "voters", None)) and provider.remote is None:
            message = f"provider {provider.name!r} does not answer with the votes of {voters} models"
            reasons.append(mistake([place, name, "voters"], message))
    return reasons


def count_obfuscators(chains: Iterable[DefenceChain], providers: Collection[SoundProvider]) -> int:
    """Return how many obfuscators have to be trained for these chains under one seed: one for each recipe, on
    each provider's data that a chain can be applied to."""
    recipes = {
        recipe.digest()
        for chain in chains
        for provider in providers
        if not misfits(chain, provider)
        for recipe in chain.planned(provider.recipe(0).data.of_everyone(), 0)[1]
    }
    return len(recipes)
