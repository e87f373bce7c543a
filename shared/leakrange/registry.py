"""Registries by decorator, filled from the files of a package.

A registry belongs to a package and finds its entries by importing every module of that package the first time
it is asked. So a new attack, defence, behaviour, metric or data set is one new file with one registered class
or function, and no list anywhere has to be edited. Registered modules must import without a deep learning
framework (they import it inside the functions that use it): the controller lists and validates entries in an
image that has none.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

__all__ = ["Registry", "UnknownName", "registry_at"]

T = TypeVar("T")


class UnknownName(LookupError):
    """A name that a registry does not hold; carries what was asked, what there is, and the nearest match."""

    def __init__(self, kind: str, name: str, allowed: tuple[str, ...]) -> None:
        self.kind, self.name, self.allowed = kind, name, allowed
        near = difflib.get_close_matches(name, allowed, n=1)
        self.suggestion = near[0] if near else None
        hint = f" (did you mean {self.suggestion!r}?)" if self.suggestion else ""
        super().__init__(f"unknown {kind} {name!r}{hint}; there are: {', '.join(allowed) or 'none'}")


class Registry(Mapping[str, T]):
    """Entries of one kind by name, e.g. ``attacks = Registry[type[Attack]]("attack", "leakrange.attacks")``.

    Reading it (iteration, lookup) imports every module below ``package`` once. ``get`` with an unknown name
    gives the default as any mapping does; ``registry[name]`` raises `UnknownName`, a `LookupError` that lists
    what there is.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._entries: dict[str, T] = {}
        self._complete = self._importing = False
        self._lock = threading.RLock()

    def register(self, name: str) -> Callable[[T], T]:
        """Decorate a class or function to add it under ``name``; a name that is taken raises `ValueError`."""

        def add(entry: T) -> T:
            if name in self._entries:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            self._entries[name] = entry
            return entry

        return add

    def _discover(self) -> None:
        if self._complete:
            return
        # Other threads wait for the whole list; a module that reads it while it is imported does not.
        with self._lock:
            if self._complete or self._importing:
                return
            self._importing = True
            try:
                package = importlib.import_module(self.package)
                for module in pkgutil.walk_packages(package.__path__, prefix=f"{self.package}."):
                    importlib.import_module(module.name)
                self._complete = True
            finally:
                self._importing = False

    def __getitem__(self, name: str) -> T:
        self._discover()
        if name not in self._entries:
            raise UnknownName(self.kind, name, tuple(sorted(self._entries)))
        return self._entries[name]

    def get(self, name: str, default: T | None = None) -> T | None:  # type: ignore[override]
        """The entry, or ``default`` where there is none."""
        self._discover()
        return self._entries.get(name, default)

    def __contains__(self, name: object) -> bool:
        self._discover()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        self._discover()
        return iter(sorted(self._entries))

    def __len__(self) -> int:
        self._discover()
        return len(self._entries)


def registry_at(module: str, name: str) -> Registry[Any]:
    """The registry ``name`` of ``module``, both by name: for rooms that may not depend on those where the
    entries live. Raises `TypeError` where that is no registry."""
    found = getattr(importlib.import_module(module), name)
    if not isinstance(found, Registry):
        raise TypeError(f"{module}.{name} is no registry")
    return found
