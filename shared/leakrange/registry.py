"""Registries by decorator, filled from the files of a package and from plugins.

A registry belongs to a package and finds its entries by importing every module of that package the first time
it is asked. So a new attack, defence, behaviour, metric or data set is one new file with one registered class
or function, and no list anywhere has to be edited. Registered modules must import without a deep learning
framework (they import it inside the functions that use it): the controller lists and validates entries in an
image that has none.

Such a file may also lie in a package of the user's own, which names the module as an entry point. The group
of the entry point is the package that the registry belongs to::

    [project.entry-points."leakrange.attacks"]
    my-attack = "my_package.my_attack"

A plugin that cannot be loaded stops nothing: the log names it, and so does whoever is asked for a name that
is not there. Names of built-in entries are taken.

Entries may also come and go while a process runs, such as data sets that a user imports. A registered module
names a function that lists them, under ``@registry.source``; it is asked anew at each look-up that no other
entry answers.
"""

from __future__ import annotations

import difflib
import importlib
import logging
import pkgutil
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

__all__ = ["Registry", "Supply", "UnknownName", "registry_at", "unknown"]

T = TypeVar("T")

log = logging.getLogger("leakrange.plugins")


class UnknownName(LookupError):
    """A name that a registry does not hold; carries what was asked, what there is, and the nearest match."""

    def __init__(self, kind: str, name: str, allowed: tuple[str, ...], broken: tuple[str, ...] = ()) -> None:
        self.kind, self.name, self.allowed = kind, name, allowed
        near = difflib.get_close_matches(name, allowed, n=1)
        self.suggestion = near[0] if near else None
        hint = f" (did you mean {self.suggestion!r}?)" if self.suggestion else ""
        there = f"there are: {', '.join(allowed) or 'none'}"
        super().__init__(f"unknown {kind} {name!r}{hint}; {there}{_of_broken(broken)}")


@dataclass(frozen=True)
class Supply(Generic[T]):
    """What a source has at present: entries by name, and a sentence for each that cannot be used."""

    entries: Mapping[str, T]
    broken: tuple[str, ...] = ()


class Registry(Mapping[str, T]):
    """Entries of one kind by name, e.g. ``attacks = Registry[type[Attack]]("attack", "leakrange.attacks")``.

    Reading it imports every module below ``package`` and every plugin of that group once; a look-up of a
    built-in name leaves plugins alone, so that built-in modules can look names up while they are imported.
    ``get`` with an unknown name gives the default as any mapping does; ``registry[name]`` raises
    `UnknownName`, a `LookupError` that lists what there is.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._entries: dict[str, T] = {}
        self._broken: list[str] = []
        self._sources: list[Callable[[], Supply[T]]] = []
        self._built_in = self._complete = self._importing = False
        self._lock = threading.RLock()

    def register(self, name: str, *, module: str | None = None) -> Callable[[T], T]:
        """Decorate a class or function to add it under ``name``; a name that is taken raises `ValueError`.

        ``module`` is where it was written, for entries that do not say so themselves.
        """

        def add(entry: T) -> T:
            if not f"{module or getattr(entry, '__module__', '')}.".startswith(f"{self.package}."):
                self._discover(plugins=False)  # built-in entries come first, whenever a plugin is imported
            if name in self._entries:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            self._entries[name] = entry
            return entry

        return add

    def source(self, supply: Callable[[], Supply[T]]) -> Callable[[], Supply[T]]:
        """Decorate a function that lists entries which come and go. It is called often, so it should be
        cheap. Names of registered entries are taken: whatever has one is broken."""
        self._sources.append(supply)
        return supply

    def _supplied(self) -> Supply[T]:
        supplies = [source() for source in self._sources]
        entries = {name: entry for each in supplies for name, entry in each.entries.items()}
        taken = [f"{self.kind} {name!r}: its name is taken" for name in entries if name in self._entries]
        free = {name: entry for name, entry in entries.items() if name not in self._entries}
        return Supply(free, (*(why for each in supplies for why in each.broken), *taken))

    def _find(self, name: object) -> T | None:
        self._discover(plugins=False)
        if name not in self._entries:
            self._discover()
        if name in self._entries:
            return self._entries[str(name)]
        return self._supplied().entries.get(str(name))

    def _discover(self, plugins: bool = True) -> None:
        if self._complete or (self._built_in and not plugins):
            return
        # Other threads wait for the whole list; a module that reads it while it is imported does not.
        with self._lock:
            if self._importing:
                return
            self._importing = True
            try:
                if not self._built_in:
                    package = importlib.import_module(self.package)
                    for module in pkgutil.walk_packages(package.__path__, prefix=f"{self.package}."):
                        importlib.import_module(module.name)
                    self._built_in = True
                if plugins and not self._complete:
                    for plugin in entry_points(group=self.package):
                        self._load(plugin)
                    self._complete = True
            finally:
                self._importing = False

    def _load(self, plugin: EntryPoint) -> None:
        before = dict(self._entries)
        try:
            plugin.load()
        except (Exception, SystemExit) as error:  # whatever the code of others raises, the range stands
            self._entries = before
            package = plugin.dist and f" of {plugin.dist.name} {plugin.dist.version}"
            why = f"{type(error).__name__}: {error}"
            self._broken.append(f"plugin {plugin.name!r} ({plugin.value}){package or ''}: {why}")
            log.warning("%s; mend or uninstall that package", self._broken[-1])

    @property
    def broken(self) -> tuple[str, ...]:
        """What of this registry cannot be used, and why: plugins, and entries of sources."""
        self._discover()
        return (*self._broken, *self._supplied().broken)

    def __getitem__(self, name: str) -> T:
        entry = self._find(name)
        if entry is None:
            raise UnknownName(self.kind, name, tuple(self), self.broken)
        return entry

    def get(self, name: str, default: T | None = None) -> T | None:  # type: ignore[override]
        """The entry, or ``default`` where there is none."""
        entry = self._find(name)
        return default if entry is None else entry

    def __contains__(self, name: object) -> bool:
        return self._find(name) is not None

    def __iter__(self) -> Iterator[str]:
        self._discover()
        return iter(sorted({*self._entries, *self._supplied().entries}))

    def __len__(self) -> int:
        return len(list(iter(self)))


def registry_at(module: str, name: str) -> Registry[Any]:
    """The registry ``name`` of ``module``, both by name: for rooms that may not depend on those where the
    entries live. Raises `TypeError` where that is no registry."""
    found = getattr(importlib.import_module(module), name)
    if not isinstance(found, Registry):
        raise TypeError(f"{module}.{name} is no registry")
    return found


def unknown(what: str, name: object, *registries: Registry[Any]) -> str:
    """Say that none of ``registries`` has ``name``, and which of their plugins could not be loaded."""
    broken = tuple(each for registry in registries for each in registry.broken)
    return f"unknown {what} {name!r}{_of_broken(broken)}"


def _of_broken(broken: tuple[str, ...]) -> str:
    return f"; what could not be loaded: {'; '.join(broken)}" if broken else ""
