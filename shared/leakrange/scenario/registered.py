"""The registries that scenarios name entries of.

Behaviours, nets and attacks are looked up by the name of their package: their code names a deep learning
framework inside its functions, and whoever validates scenarios must not depend on one.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from leakrange.registry import Registry

__all__ = ["attacks", "behaviours", "nets"]


@cache
def _registry(package: str, name: str) -> Registry[Any]:
    registry = getattr(import_module(package), name)
    if not isinstance(registry, Registry):
        raise TypeError(f"{package}.{name} is no registry")
    return registry


def behaviours() -> Registry[Any]:
    """Behaviours of providers: `leakrange.providers.behaviour.Behaviour` classes."""
    return _registry("leakrange.providers.behaviours", "behaviours")


def nets() -> Registry[Any]:
    """Architectures of classifiers."""
    return _registry("leakrange.nets", "nets")


def attacks() -> Registry[Any]:
    """`leakrange.attacks.Attack` classes."""
    return _registry("leakrange.attacks", "attacks")
