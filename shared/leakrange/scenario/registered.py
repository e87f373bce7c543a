"""The registries whose entries scenarios name.

Behaviours, nets and attacks are looked up by the name of their package: their code names a deep learning
framework inside its functions, and validating scenarios must not depend on one.
"""

from __future__ import annotations

from typing import Any

from leakrange.registry import Registry, registry_at

__all__ = ["attacks", "behaviours", "nets"]


def behaviours() -> Registry[Any]:
    """Behaviours of providers: `leakrange.providers.behaviour.Behaviour` classes."""
    return registry_at("leakrange.providers.behaviours", "behaviours")


def nets() -> Registry[Any]:
    """Architectures of classifiers."""
    return registry_at("leakrange.nets", "nets")


def attacks() -> Registry[Any]:
    """`leakrange.attacks.Attack` classes."""
    return registry_at("leakrange.attacks", "attacks")
