"""The version of the code that trains, a part of every recipe: a change to what decides a model renames it.

What decides it are the loop, the loading of data, the registered entries that the recipe names, and whatever
of `leakrange.data`, `leakrange.nets` and `leakrange.providers` these import. So who adds a data set, an
architecture or a behaviour, or changes how models are stored and served, need not train again what is there.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

__all__ = ["package_sources", "training_code"]

PACKAGES = ("data", "nets", "providers")
UNREGISTERED = {"student": "leakrange.providers.transfer"}
"""Where a model is made that no registered behaviour trains."""
ROOTS = ("leakrange.providers.training", "leakrange.data.loading")
REGISTERS = re.compile(r'^@\w+\.register\("([^"]+)"\)', re.MULTILINE)
IMPORTS = re.compile(r"^\s*(?:from|import)\s+(leakrange\.[\w.]+)", re.MULTILINE)


@lru_cache(maxsize=256)
def training_code(*names: str) -> str:
    """Digest (16 hexadecimal characters) of the source behind the registered ``names``: a recipe's data
    set, net and behaviour. Names that nothing registers add nothing.
    """
    sources = _sources()
    roots = {*ROOTS, *(UNREGISTERED[name] for name in names if name in UNREGISTERED)}
    counted = {module for module, source in sources.items() if module in roots or _named(source, names)}
    waiting = list(counted)
    while waiting:
        for imported in IMPORTS.findall(sources[waiting.pop()]):
            if imported in sources and imported not in counted:
                counted.add(imported)
                waiting.append(imported)
    sums = hashlib.sha256()
    for module in sorted(counted):
        sums.update(module.encode() + b"\0" + sources[module].encode() + b"\0")
    return sums.hexdigest()[:16]


def _named(source: str, names: tuple[str, ...]) -> bool:
    return any(name in names for name in REGISTERS.findall(source))


@lru_cache(maxsize=1)
def _sources() -> dict[str, str]:
    found: dict[str, str] = {}
    for package in PACKAGES:
        found |= package_sources(files("leakrange") / package, f"leakrange.{package}")
    return found


def package_sources(folder: Traversable, module: str) -> dict[str, str]:
    """The source of every module of the package ``module``, which lies in ``folder``, by its dotted name."""
    found: dict[str, str] = {}
    for child in folder.iterdir():
        if child.is_dir():
            found |= package_sources(child, f"{module}.{child.name}")
        elif child.name.endswith(".py"):
            found[f"{module}.{child.name.removesuffix('.py')}"] = child.read_text(encoding="utf-8")
    return found
