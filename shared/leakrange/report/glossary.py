"""The words of reports, pages and documentation, each with one plain sentence."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import yaml

__all__ = ["glossary", "meaning"]


@cache
def glossary() -> Mapping[str, str]:
    """Every term with its sentence, in the order of the alphabet."""
    text = files("leakrange.report").joinpath("glossary.yaml").read_text(encoding="utf-8")
    return MappingProxyType(yaml.safe_load(text))


@cache
def _by_small_letters() -> dict[str, str]:
    return {term.casefold(): sentence for term, sentence in glossary().items()}


def meaning(term: str) -> str:
    """The sentence that explains ``term``, in capital or small letters.

    Raises KeyError where the glossary does not have it."""
    return _by_small_letters()[term.casefold()]
