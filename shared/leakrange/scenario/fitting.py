"""Whether what a chain does on devices fits a provider's users, and what is trained for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from leakrange.data import datasets, names
from leakrange.defences.chain import DefenceChain
from leakrange.defences.stages import Defence, mistake
from leakrange.scenario.provider import Provider
from leakrange.wire.samples import SampleSpec

__all__ = ["count_obfuscators", "misfits"]


def misfits(chain: DefenceChain, provider: Provider) -> list[dict[str, Any]]:
    """Why what the chain does to samples cannot be done to those of ``provider``, each as
    `leakrange.defences.stages.mistake` tells it, from the chain's own root; none where it can.

    Nothing can hide what the provider is asked for. Only an honest provider trains its model on features
    that devices have learned to make.
    """
    found = []
    first = len(chain.inputs) + len(chain.model)
    links: list[tuple[str, Defence[Any]]] = [*chain.inputs, *chain.model, *chain.representation]
    for place, (name, link) in enumerate(links):
        for each in link.mistakes(_sample(provider), provider.attributes):
            found.append(each | {"path": [place, name, *each["path"]]})
        hidden = set(names(getattr(link.parameters, "private", None)))
        for asked in sorted(hidden.intersection(names(provider.target))):
            said = f"{asked!r} is what provider {provider.name!r} is asked for: it cannot be private"
            others = sorted(set(provider.attributes) - set(names(provider.target)))
            found.append(mistake([place, name, "private"], said, others))
    for place, (name, _) in enumerate(chain.representation, first):
        if provider.key != "honest" or provider.service is not None:
            said = f"provider {provider.name!r} is not honest: only an honest one trains on features"
            found.append(mistake([place, name], said))
        if chain.extractor is not None:
            said = "a run trains the extractor, or finds it trained: leave 'artifact' out"
            found.append(mistake([place, name, "artifact"], said))
    return found


def count_obfuscators(chains: Iterable[DefenceChain], providers: Collection[Provider]) -> int:
    """How many obfuscators have to be trained for these chains under one seed: one for each recipe, on each
    provider's data that a chain can be applied to."""
    recipes = {
        recipe.digest()
        for chain in chains
        for provider in providers
        if not misfits(chain, provider)
        for recipe in chain.planned(provider.recipe(0).data.of_everyone(), 0)[1]
    }
    return len(recipes)


def _sample(provider: Provider) -> SampleSpec:
    data = datasets[provider.data.name]
    return data.sized(provider.data.size) if data.spec.encoding == "picture" else data.spec
