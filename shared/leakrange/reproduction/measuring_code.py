"""The version of the code that measures: beside that of the training code it names the file of a cell."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.resources import files

from leakrange.jobs.training_code import package_sources

__all__ = ["measuring_code"]


@lru_cache(maxsize=64)
def measuring_code(*modules: str) -> str:
    """Digest (16 hexadecimal characters) of the source of ``modules`` of leakrange, written
    ``attacks.attribute_inference``; of a package, of all that is in it. Raises `FileNotFoundError` for a name
    that is neither."""
    sums = hashlib.sha256()
    for module in sorted(set(modules)):
        for name, source in sorted(_sources(module).items()):
            sums.update(name.encode() + b"\0" + source.encode() + b"\0")
    return sums.hexdigest()[:16]


def _sources(module: str) -> dict[str, str]:
    *folders, name = module.split(".")
    place = files("leakrange").joinpath(*folders)
    if (place / name).is_dir():
        return package_sources(place / name, module)
    return {module: (place / f"{name}.py").read_text(encoding="utf-8")}
