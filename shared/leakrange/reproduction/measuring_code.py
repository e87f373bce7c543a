"""The version of the code that measures: beside that of the training code it names the file of a cell."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

__all__ = ["measuring_code"]


@lru_cache(maxsize=64)
def measuring_code(*modules: str) -> str:
    """Digest (16 hexadecimal characters) of the source of ``modules`` of leakrange, written
    ``attacks.attribute_inference``; of a package, of all that is in it. Raises `FileNotFoundError` for a name
    that is neither."""
    sums = hashlib.sha256()
    for module in sorted(set(modules)):
        for name, source in _sources(module):
            sums.update(name.encode() + b"\0" + source + b"\0")
    return sums.hexdigest()[:16]


def _sources(module: str) -> Iterator[tuple[str, bytes]]:
    place = files("leakrange").joinpath(*module.split("."))
    if place.is_dir():
        yield from _package(place, module)
    else:
        *folders, name = module.split(".")
        yield module, files("leakrange").joinpath(*folders, f"{name}.py").read_bytes()


def _package(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    for child in sorted(folder.iterdir(), key=lambda each: each.name):
        if child.is_dir():
            yield from _package(child, f"{name}.{child.name}")
        elif child.name.endswith(".py"):
            yield f"{name}.{child.name.removesuffix('.py')}", child.read_bytes()
